"""The ledger of one response: every byte that arrived has been sent, is held, or is still to be processed.

This makes failing open possible: whatever happens between two entries, `drain()` returns what the client has not
received yet, as it arrived. So this file accounts for those bytes and does nothing else.

The lines marked `Entry.` are the smallest part that must be right: they only store values that are already computed,
or append to a list, and the same entry puts the bytes to be sent into `out`. Everything that can fail (joining,
searching, copying, a dialect) happens before them, so a failure leaves the ledger unchanged.
`tests/test_fail_open.py` raises at every other line of this file and of the stream, and checks the entries.
"""

from __future__ import annotations

from .events import Replace
from .framing import SSE, Framing

_SHORT = 8192
"""A rest of fewer bytes is joined to new bytes: cheaper than a bytearray that grows in place."""

_LONG = 1024
"""From this many bytes on, single line feeds are found faster than pairs."""

_LF, _CR = b"\n\r"

HeldPiece = tuple[int, bytes]
"""The position of held bytes in the order of arrival, and the bytes."""


class Ledger:
    __slots__ = (
        "_held",
        "_order",
        "block",
        "coming",
        "consumed",
        "framing",
        "held_bytes",
        "rest",
        "searched",
    )

    def __init__(self, framing: Framing = SSE) -> None:
        self.framing = framing
        """How the stream is cut into events."""
        self._held: dict[str, list[HeldPiece]] = {}
        self._order = 0
        self.block = b""
        """The bytes that are being processed; `consumed`: how many of them have been sent or held."""
        self.consumed = 0
        self.held_bytes = 0
        self.rest: bytes | bytearray = b""
        """Bytes that form no complete event yet."""
        self.coming = b""
        """A chunk that arrived and is not in the rest or the block yet."""
        self.searched = 0
        """How many bytes of the rest were already searched for the end of an event."""

    def push(self, data: bytes) -> bytes:
        """Append bytes to the rest; return its complete events, the block to be processed next."""
        rest = self.rest
        if self.framing is SSE and type(rest) is bytes:
            # The usual case: the last event ends with a blank line after another character, and no CR follows. Then
            # that end is known before anything is joined, and nothing is copied twice.
            events, end, behind = _cut(data)
            if events and events[-1] > _CR and _CR not in behind:
                block = b"".join((rest, events, end)) if rest or behind else data
                self.block, self.consumed, self.rest, self.searched, self.coming = block, 0, behind, 0, b""  # Entry.
                return block
        if len(rest) < _SHORT:
            longer: bytes | bytearray = rest + data
            self.rest, self.coming = longer, b""  # Entry.
        else:
            growing = rest if isinstance(rest, bytearray) else bytearray(rest)
            growing += data  # Entry.
            self.rest, self.coming = growing, b""  # Entry.
        rest = self.rest
        end_of_events = self.framing.end_of_last_event(rest, self.searched)
        if end_of_events < 0:
            # A blank line has at most four bytes, and three of them may have arrived.
            self.searched = max(0, len(rest) - 3)
            return b""
        block, behind = bytes(rest[:end_of_events]), bytes(rest[end_of_events:])
        self.block, self.consumed, self.rest, self.searched = block, 0, behind, 0  # Entry.
        return block

    def ended(self) -> bytes:
        """The stream has ended: the rest becomes the block to be processed."""
        block = bytes(self.rest)
        self.block, self.consumed, self.rest, self.searched = block, 0, b"", 0  # Entry.
        return block

    def begin(self, block: bytes) -> bytes:
        """Begin to process a block of bytes."""
        self.block, self.consumed, self.coming = block, 0, b""  # Entry.
        return block

    def passed(self, size: int, piece: bytes, out: list[bytes]) -> None:
        """Send the next `size` bytes of the block, as `piece`: the same bytes, or others that replace them."""
        consumed = self.consumed + size
        out.append(piece)  # Entry.
        self.consumed = consumed  # Entry.

    def held(self, key: str, size: int) -> None:
        """Hold the next `size` bytes of the block."""
        end = self.consumed + size
        entries, entry = self._held.setdefault(key, []), (self._order, self.block[self.consumed : end])
        order, size = self._order + 1, self.held_bytes + len(entry[1])
        entries.append(entry)  # Entry.
        self.consumed, self._order, self.held_bytes = end, order, size  # Entry.

    def replaced(self, size: int, reply: Replace, out: list[bytes]) -> None:
        """Send a reply instead of the next `size` bytes of the block and the held events that it releases."""
        held, held_bytes, consumed = self._held, self.held_bytes, self.consumed + size
        if reply.release:
            held = {key: entries for key, entries in held.items() if key not in reply.release}
            released = (entries for key, entries in self._held.items() if key in reply.release)
            # Usually everything is released, so that nothing has to be counted.
            held_bytes = held_bytes - sum(len(piece) for entries in released for _, piece in entries) if held else 0
        order = self._order
        more = [(held.setdefault(key, []), (order + at, piece)) for at, (key, piece) in enumerate(reply.hold)]
        order, held_bytes = order + len(more), held_bytes + sum(len(piece) for _, piece in reply.hold)
        for entries, entry in more:  # Entry.
            entries.append(entry)  # Entry.
        out.extend(reply.out)  # Entry.
        self._held, self.held_bytes, self._order, self.consumed = held, held_bytes, order, consumed  # Entry.

    def begin_held(self, key: str) -> bytes:
        """Make the bytes held under a key the block to be processed."""
        block = b"".join(piece for _, piece in self._held.get(key, ()))
        held = {other: entries for other, entries in self._held.items() if other != key}
        held_bytes = self.held_bytes - len(block)
        self._held, self.held_bytes, self.block, self.consumed = held, held_bytes, block, 0  # Entry.
        return block

    def put_back(self) -> bytes:
        """Turn the block, none of which is processed yet, back into a chunk that has just arrived."""
        block = self.block
        self.block, self.consumed, self.coming = b"", 0, block  # Entry.
        return block

    def drain(self) -> list[bytes]:
        """Empty the ledger: the held bytes in order of arrival, then the unprocessed ones, then the rest."""
        held = sorted(entry for entries in self._held.values() for entry in entries)
        unread = self.block[self.consumed :], bytes(self.rest), self.coming
        self._held = {}
        self.held_bytes = 0
        self.rest = b""
        self.begin(b"")
        return [*(piece for _, piece in held), *(piece for piece in unread if piece)]


def _cut(data: bytes) -> tuple[bytes, bytes, bytes]:
    """What is before, in and after the last blank line, if its line ends are those of most streams; else no split."""
    if _CR in data:
        before, blank_line, behind = data.rpartition(b"\r\n\r\n")
        return (before, blank_line, behind) if b"\n\n" not in behind else (b"", b"", data)
    at = len(data)
    if at < _LONG:
        return data.rpartition(b"\n\n")
    for _ in range(4):
        at = data.rfind(b"\n", 0, at)
        if at <= 0:
            return b"", b"", data
        if data[at - 1] == _LF:
            return data[: at - 1], b"\n\n", data[at + 1 :]
    return data.rpartition(b"\n\n")
