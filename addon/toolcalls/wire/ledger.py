"""The books of one response: every byte that came in is out, held, or still to be read.

This is what makes failing open possible: whatever happens between two entries, `drain()` is
what the client has not received yet, as it came. So this file does nothing but keep the books.
"""

from __future__ import annotations

from .events import Replace
from .framing import SSE, Framing

_SHORT = 8192
"""Below this many bytes of rest, joining makes new bytes: cheaper than an array that grows in place."""

_LONG = 1024
"""From so many bytes on single line feeds are found faster than two."""

_LF, _CR = b"\n\r"


class Ledger:
    __slots__ = (
        "_end_of_last_event",
        "_held",
        "_order",
        "block",
        "done",
        "held_bytes",
        "passed_last",
        "rest",
        "searched",
    )

    def __init__(self, framing: Framing = SSE) -> None:
        self._end_of_last_event = framing.end_of_last_event
        self._held: dict[str, list[tuple[int, bytes]]] = {}
        self._order = 0
        self.block = b""
        """The bytes that are being read, and how many of them are dealt with."""
        self.done = 0
        self.held_bytes = 0
        self.passed_last = False
        """Did the last event go out as it came?"""

        self.rest: bytes | bytearray = b""
        """Bytes that form no complete event yet."""
        self.searched = 0
        """How many of them were searched for the end of an event already."""

    def push_simple(self, data: bytes) -> bytes | None:
        """What `push` does, where the end of the last event is plain to see; else nothing, and None is given.

        It is where `data` has two line feeds behind something else, and no line end but single line feeds follows:
        then the end is known before anything is joined, and nothing is copied twice. And it is where a long piece
        of `data` has no line end at all.
        """
        rest = self.rest
        if type(rest) is not bytes:
            return None
        if len(data) < _LONG:
            events, end, behind = data.rpartition(b"\n\n")
        elif _LF in data:
            events, end, behind = _cut(data)
        elif _CR in data or len(rest) > _SHORT or rest[-1:] == b"\r":
            return None
        else:
            self.rest = rest + data
            self.searched = len(rest) + len(data) - 3
            return b""
        if not events or events[-1] <= _CR or _CR in behind:
            return None
        block = self.block = b"".join((rest, events, end))
        self.done = 0
        self.rest = behind
        self.searched = 0
        return block

    def push(self, data: bytes) -> bytes:
        """Bytes came in behind the rest. Gives the complete events among them: the block that is about to be read."""
        rest = self.rest
        # Without a line end no event can have ended, unless a CR waited for its LF: most of a long event is not
        # searched at all.
        ends = _LF in data or _CR in data or rest.endswith(b"\r")
        if len(rest) < _SHORT:
            rest = rest + data
        else:
            if not isinstance(rest, bytearray):
                rest = bytearray(rest)
            rest += data
        self.rest = rest
        end = self._end_of_last_event(rest, self.searched) if ends else -1
        if end < 0:
            # A blank line has at most four bytes, of which three may be here already.
            self.searched = max(0, len(rest) - 3)
            return b""
        if isinstance(rest, bytearray):
            rest = bytes(rest)
        block = self.block = rest[:end]
        self.done = 0
        self.rest = rest[end:]
        self.searched = 0
        return block

    def ended(self) -> bytes:
        """Nothing more comes: the rest is the block that is about to be read."""
        block = self.open(bytes(self.rest))
        self.rest = b""
        self.searched = 0
        return block

    def open(self, block: bytes) -> bytes:
        """A block of bytes is about to be read."""
        self.block = block
        self.done = 0
        return block

    def passed(self, size: int) -> None:
        """The next bytes of the block went out as they came."""
        self.passed_last = True
        self.done += size

    def held(self, key: str, size: int) -> None:
        """The next bytes of the block are held."""
        self.passed_last = False
        end = self.done + size
        self._hold(key, self.block[self.done : end])
        self.done = end

    def replied(self, size: int, reply: Replace) -> None:
        """The next bytes of the block, and the held events that the reply releases, are answered by it."""
        self.passed_last = False
        for key in reply.release:
            for _, piece in self._held.pop(key, ()):
                self.held_bytes -= len(piece)
        for key, piece in reply.hold:
            self._hold(key, piece)
        self.done += size

    def take(self, key: str) -> bytes:
        """The bytes held under a key, which are now the block to be read."""
        pieces = [piece for _, piece in self._held.pop(key, ())]
        self.open(b"".join(pieces))
        self.held_bytes -= len(self.block)
        return self.block

    def _hold(self, key: str, piece: bytes) -> None:
        self._held.setdefault(key, []).append((self._order, piece))
        self._order += 1
        self.held_bytes += len(piece)

    def drain(self) -> list[bytes]:
        """What is held, in the order in which it came, what is unread, and the rest. Empties the books."""
        held = sorted(entry for entries in self._held.values() for entry in entries)
        unread = self.block[self.done :], bytes(self.rest)
        self._held = {}
        self.held_bytes = 0
        self.rest = b""
        self.open(b"")
        return [*(piece for _, piece in held), *(piece for piece in unread if piece)]


def _cut(data: bytes) -> tuple[bytes, bytes, bytes]:
    """`data.rpartition(b"\\n\\n")`, faster where lines are long."""
    at = len(data)
    for _ in range(4):
        at = data.rfind(b"\n", 0, at)
        if at <= 0:
            return b"", b"", data
        if data[at - 1] == _LF:
            return data[: at - 1], b"\n\n", data[at + 1 :]
    return data.rpartition(b"\n\n")
