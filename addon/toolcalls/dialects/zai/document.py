"""The document that chat.z.ai patches, and what the client has seen of it.

Edits count UTF-16 code units (the web client does `content.substring(0, edit_index) + edit_content`), so
the document is kept in that encoding: a cut is a truncation at twice the index, a surrogate pair that came
in two deltas joins by itself, and no edit ever copies what stands before it. What is read out of it has one
character a unit ("units": an astral character is its two surrogates), so that offsets stay offsets.
"""

from __future__ import annotations

import re
from itertools import takewhile

_CODEC = "utf-16-le"
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def _pair(match: re.Match[str]) -> str:
    offset = ord(match[0]) - 0x10000
    return chr(0xD800 + (offset >> 10)) + chr(0xDC00 + (offset & 0x3FF))


def is_high_surrogate(unit: str) -> bool:
    return "\ud800" <= unit <= "\udbff"


def text_of_units(units: str) -> str:
    """Join the surrogate pairs; a lone surrogate stays one."""
    if not _SURROGATE.search(units):
        return units
    return units.encode(_CODEC, "surrogatepass").decode(_CODEC, "surrogatepass")


class Document:
    """A text in UTF-16 code units that grows at its end and is cut from its end."""

    __slots__ = ("_bytes",)

    def __init__(self) -> None:
        self._bytes = bytearray()

    def __len__(self) -> int:
        return len(self._bytes) // 2

    def append(self, text: str) -> None:
        self._bytes += text.encode(_CODEC, "surrogatepass")

    def truncate(self, units: int) -> None:
        del self._bytes[2 * units :]

    def cut(self, index: int) -> int:
        """Where an edit at this index cuts: inside the document, and never inside a surrogate pair."""
        cut = min(max(index, 0), len(self))
        if 0 < cut < len(self):
            around = self._bytes[2 * cut - 2 : 2 * cut + 2]
            if 0xD8 <= around[1] <= 0xDB and 0xDC <= around[3] <= 0xDF:
                return cut - 1
        return cut

    def units(self, start: int, end: int) -> str:
        """The stretch between two offsets, one character a unit."""
        joined = self._bytes[2 * start : 2 * end].decode(_CODEC, "surrogatepass")
        return joined if len(joined) == end - start else _ASTRAL.sub(_pair, joined)


class Channel:
    """One append-only text of the client (content, reasoning): what it would be now, and what was sent of it.

    What was sent cannot be taken back. While the new text repeats it nothing is sent; where it differs, only
    what follows the common prefix is.
    """

    __slots__ = ("_shown", "length", "rewritten")

    def __init__(self) -> None:
        self._shown = Document()
        self.length = 0
        """How long the text is now; less than what was shown after a cut."""
        self.rewritten = False

    @property
    def taken_back(self) -> bool:
        """Does the text no longer say all that the client has seen of it?"""
        return self.rewritten or self.length < len(self._shown)

    @property
    def text(self) -> str:
        """What the text is now, whatever was sent before it changed."""
        return text_of_units(self._shown.units(0, self.length))

    def write(self, units: str) -> str:
        """Continue the text at `length`; give what the client has not seen yet."""
        start = self.length
        self.length += len(units)
        known = self._shown.units(start, min(self.length, len(self._shown))) if start < len(self._shown) else ""
        if not units.startswith(known):
            common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(known, units, strict=False)))
            if common and is_high_surrogate(units[common - 1]):
                common -= 1
            self._shown.truncate(start + common)
            self.rewritten = True
            known = known[:common]
        fresh = units[len(known) :]
        self._shown.append(fresh)
        return fresh
