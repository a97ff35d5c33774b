"""The unchanging shape of a run of deltas: what stands before and behind the text in each of them.

Learnt from one delta that was read in full; the next ones are recognised by comparing bytes. All that
decides about a delta (its type, its index, its event name) stands in the shape, so nothing is guessed.
"""

from __future__ import annotations

import re

_VALUE_OF = {
    "text_delta": re.compile(rb'"text"\s*:\s*"'),
    "thinking_delta": re.compile(rb'"thinking"\s*:\s*"'),
}
_STRING_END = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


class TextShape:
    """The shape of text deltas that pass as they are."""

    __slots__ = ("_after", "_before", "_joint", "_lead", "_size", "_tail")

    def __init__(self, before: bytes, after: bytes) -> None:
        self._before = before
        self._after = after
        self._joint = after + before
        self._size = len(before)
        self._lead = after.index(b"\n")
        self._tail = len(after) - self._lead

    @classmethod
    def learn(cls, raw: bytes, kind: str) -> TextShape | None:
        pattern = _VALUE_OF.get(kind)
        value = pattern.search(raw) if pattern else None
        if value is None or not raw.endswith((b"\n\n", b"\r\n\r\n")):
            return None
        end = _STRING_END.match(raw, value.end())
        return cls(raw[: value.end()], raw[end.end() - 1 :]) if end else None

    def covers(self, block: bytes) -> bool:
        """Is every event of the block of this shape? A JSON text has no raw line feed, so the next one ends it."""
        if not block.startswith(self._before):
            return False
        # From here on `at` is where the text of an event begins.
        at = size = self._size
        lead, tail = self._lead, self._tail
        last = len(block) - tail
        while True:
            end = block.find(b"\n", at)
            if end - lead < at:
                return False
            if end == last:
                return block.endswith(self._after)
            if not block.startswith(self._joint, end - lead):
                return False
            at = end + tail + size
