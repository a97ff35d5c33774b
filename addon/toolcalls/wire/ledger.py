"""The ledger of one response: every byte that came in is out, held, or still to be read.

This is what makes failing open possible: whatever happens between two entries, `drain()` is
what the client has not received yet, as it came. So this file keeps the account of those bytes and does nothing else.

The smallest part that must be right are the lines marked `Entry.`: they store values that are known already, or put
one more into a list, and what goes out is put there by the same entry. Whatever else can fail (joining, searching,
copying, a dialect) comes before them, and then nothing has changed. `tests/test_fail_open.py` raises at every other
line of this file and of the stream, and looks at these.
"""

from __future__ import annotations

from .events import Replace
from .framing import SSE, Framing

_SHORT = 8192
"""Below this many bytes of rest, joining makes new bytes: cheaper than an array that grows in place."""

_LONG = 1024
"""From so many bytes on single line feeds are found faster than two."""

_LF, _CR = b"\n\r"


Entry = tuple[int, bytes]
"""Bytes that are held, and the place at which they came."""


class Ledger:
    __slots__ = (
        "_end_of_last_event",
        "_held",
        "_order",
        "block",
        "coming",
        "done",
        "held_bytes",
        "passed_last",
        "rest",
        "searched",
    )

    def __init__(self, framing: Framing = SSE) -> None:
        self._end_of_last_event = framing.end_of_last_event
        self._held: dict[str, list[Entry]] = {}
        self._order = 0
        self.block = b""
        """The bytes that are being read, and how many of them are dealt with."""
        self.done = 0
        self.held_bytes = 0
        self.passed_last = False
        """Did the last event go out as it came?"""

        self.rest: bytes | bytearray = b""
        """Bytes that form no complete event yet."""
        self.coming = b""
        """A chunk that came and is not in the rest or the block yet."""
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
            longer, searched = rest + data, len(rest) + len(data) - 3
            self.rest, self.searched, self.coming = longer, searched, b""  # Entry.
            return b""
        if not events or events[-1] <= _CR or _CR in behind:
            return None
        block = b"".join((rest, events, end))
        self.block, self.done, self.rest, self.searched, self.coming = block, 0, behind, 0, b""  # Entry.
        return block

    def push(self, data: bytes) -> bytes:
        """Bytes came in behind the rest. Gives the complete events among them: the block that is about to be read."""
        rest = self.rest
        # Without a line end no event can have ended, unless a CR waited for its LF: most of a long event is not
        # searched at all.
        ends = _LF in data or _CR in data or rest.endswith(b"\r")
        if len(rest) < _SHORT:
            longer: bytes | bytearray = rest + data
            self.rest, self.coming = longer, b""  # Entry.
        else:
            growing = rest if isinstance(rest, bytearray) else bytearray(rest)
            growing += data  # Entry.
            self.rest, self.coming = growing, b""  # Entry.
        rest = self.rest
        end = self._end_of_last_event(rest, self.searched) if ends else -1
        if end < 0:
            # A blank line has at most four bytes, of which three may be here already.
            self.searched = max(0, len(rest) - 3)
            return b""
        block, behind = bytes(rest[:end]), bytes(rest[end:])
        self.block, self.done, self.rest, self.searched = block, 0, behind, 0  # Entry.
        return block

    def ended(self) -> bytes:
        """Nothing more comes: the rest is the block that is about to be read."""
        block = bytes(self.rest)
        self.block, self.done, self.rest, self.searched = block, 0, b"", 0  # Entry.
        return block

    def open(self, block: bytes) -> bytes:
        """A block of bytes is about to be read."""
        self.block, self.done, self.coming = block, 0, b""  # Entry.
        return block

    def passed(self, size: int, piece: bytes, out: list[bytes]) -> None:
        """The next bytes of the block go out, as they came or as the piece that says the same."""
        done = self.done + size
        out.append(piece)  # Entry.
        self.passed_last, self.done = True, done  # Entry.

    def held(self, key: str, size: int) -> None:
        """The next bytes of the block are held."""
        end = self.done + size
        entries, entry = self._held.setdefault(key, []), (self._order, self.block[self.done : end])
        order, size = self._order + 1, self.held_bytes + len(entry[1])
        entries.append(entry)  # Entry.
        self.passed_last, self.done, self._order, self.held_bytes = False, end, order, size  # Entry.

    def replied(self, size: int, reply: Replace, out: list[bytes]) -> None:
        """The next bytes of the block, and the held events that the reply releases, are answered by it."""
        held, held_bytes, done = self._held, self.held_bytes, self.done + size
        if reply.release:
            held = {key: entries for key, entries in held.items() if key not in reply.release}
            released = (entries for key, entries in self._held.items() if key in reply.release)
            held_bytes -= sum(len(piece) for entries in released for _, piece in entries)
        order = self._order
        more = [(held.setdefault(key, []), (order + at, piece)) for at, (key, piece) in enumerate(reply.hold)]
        order, held_bytes = order + len(more), held_bytes + sum(len(piece) for _, piece in reply.hold)
        for entries, entry in more:  # Entry.
            entries.append(entry)  # Entry.
        out.extend(reply.out)  # Entry.
        self._held, self.held_bytes, self._order, self.done = held, held_bytes, order, done  # Entry.
        self.passed_last = False

    def take(self, key: str) -> bytes:
        """The bytes held under a key, which are now the block to be read."""
        block = b"".join(piece for _, piece in self._held.get(key, ()))
        held = {other: entries for other, entries in self._held.items() if other != key}
        held_bytes = self.held_bytes - len(block)
        self._held, self.held_bytes, self.block, self.done = held, held_bytes, block, 0  # Entry.
        return block

    def coming_again(self) -> bytes:
        """The block, which nobody has read yet, as a chunk that comes."""
        block = self.block
        self.block, self.done, self.coming = b"", 0, block  # Entry.
        return block

    def drain(self) -> list[bytes]:
        """What is held, in the order in which it came, what is unread, and the rest. The ledger is empty then."""
        held = sorted(entry for entries in self._held.values() for entry in entries)
        unread = self.block[self.done :], bytes(self.rest), self.coming
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
