"""The document that chat.z.ai patches, and the part of it that the client has seen.

Edits count UTF-16 code units (the web client does `content.substring(0, edit_index) + edit_content`), so
the document is kept in that encoding: a cut is a truncation at twice the index, a surrogate pair that arrived
in two deltas joins by itself, and no edit ever copies the text before it. Text that is read from the document
has one character per unit ("units": an astral character is its two surrogates), so that offsets stay valid.
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
    """Join the surrogate pairs; a lone surrogate stays as it is."""
    if not _SURROGATE.search(units):
        return units
    return units.encode(_CODEC, "surrogatepass").decode(_CODEC, "surrogatepass")


class Document:
    """A text in UTF-16 code units that grows and is cut only at its end."""

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
        """The offset at which an edit cuts: within the document, and never inside a surrogate pair."""
        cut = min(max(index, 0), len(self))
        if 0 < cut < len(self):
            around = self._bytes[2 * cut - 2 : 2 * cut + 2]
            if 0xD8 <= around[1] <= 0xDB and 0xDC <= around[3] <= 0xDF:
                return cut - 1
        return cut

    def units(self, start: int, end: int) -> str:
        """The text between two offsets, with one character per unit."""
        joined = self._bytes[2 * start : 2 * end].decode(_CODEC, "surrogatepass")
        return joined if len(joined) == end - start else _ASTRAL.sub(_pair, joined)


class Channel:
    """One append-only text of the client (content or reasoning): its current state, and what was sent of it.

    Text that was sent cannot be taken back. While a new text repeats it, nothing is sent; if the new text differs,
    only what follows the common prefix is sent.
    """

    __slots__ = ("_shown", "length", "rewritten")

    def __init__(self) -> None:
        self._shown = Document()
        self.length = 0
        """The current length of the text; after a cut it may be less than what was sent."""
        self.rewritten = False

    @property
    def taken_back(self) -> bool:
        """Whether the text no longer contains everything that the client has seen."""
        return self.rewritten or self.length < len(self._shown)

    @property
    def text(self) -> str:
        """The current text, whatever was sent before it changed."""
        return text_of_units(self._shown.units(0, self.length))

    def write(self, units: str) -> str:
        """Continue the text at `length`; return what the client has not seen yet."""
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
