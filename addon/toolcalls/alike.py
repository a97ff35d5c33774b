"""The one question before parsing: is this an event like the last one, and can a byte of its text matter?

Most events are a piece of text, or of the arguments of a call, and differ from the one before in that piece alone.
What stands around the piece is remembered. A chunk of nothing but such events with text passes unparsed if no byte of
the texts can begin a call; the search is given the texts when it needs them. Of an event with a piece of arguments,
only that string is read.
"""

from __future__ import annotations

import re
from json import dumps, loads
from typing import Final

_MATTERS: Final = re.compile(rb'["\\<\[\]{`>:|=]|\xe2\x97|\.(?:a|\Z)')
"""The bytes of which one is in everything that can begin a call (`.assistant` may), and those that end or escape a
string."""
_VARYING: Final = re.compile(
    rb'"(?:sequence_number|created_at|obfuscation|candidatesTokenCount|totalTokenCount)": ?(?:"[^"\\]*"|[0-9]+)'
)
"""What may differ between events that are alike."""


class Alike:
    """What the last event has around its piece of text or arguments."""

    __slots__ = ("_before", "_behind", "_varies")

    def __init__(self) -> None:
        self._before = self._behind = b""
        self._varies = False

    def learn(self, raw: bytes, piece: str) -> None:
        """An event says nothing but this piece."""
        literal = dumps(piece, ensure_ascii=False).encode("utf-8", "surrogatepass")
        before, found, behind = raw.partition(literal)
        if not found or literal in behind:
            self._behind = b""
            return
        bare_before, bare_behind = _VARYING.sub(b"", before), _VARYING.sub(b"", behind)
        self._varies = bare_before != before or bare_behind != behind
        self._before, self._behind = bare_before + b'"', b'"' + bare_behind

    def texts(self, chunk: bytes) -> list[bytes] | None:
        """The texts of a chunk of events that are alike, as their JSON strings have them; None if a byte matters."""
        if not self._behind:
            return None
        bare = _VARYING.sub(b"", chunk) if self._varies else chunk
        literals = bare.split(self._behind)
        if literals.pop():
            return None
        before, size = self._before, len(self._before)
        for at, event in enumerate(literals):
            if not event.startswith(before):
                return None
            literals[at] = literal = event[size:]
            if _MATTERS.search(literal):
                return None
        return literals

    def piece(self, event: bytes) -> str:
        """The piece of an event that is alike; empty if it has to be parsed."""
        behind = self._behind
        if not behind:
            return ""
        bare = _VARYING.sub(b"", event) if self._varies else event
        begin, end = len(self._before), len(bare) - len(behind)
        if begin > end or not (bare.startswith(self._before) and bare.endswith(behind)):
            return ""
        try:
            return str(loads(bare[begin - 1 : end + 1].decode()))
        except ValueError:
            return ""
