"""Whether a straight double quote is open: it opens and closes, so an odd number of them leaves one open."""

from __future__ import annotations

from .quotation_marks import BEFORE_A_STRING, INCHES

_PREFIXES = "rRbBuUfFLNsaw$@"
"""What stands right before the mark of a string in some languages."""


class StraightQuotes:
    __slots__ = ("_of_data", "odd")

    def __init__(self) -> None:
        self.odd = False
        """One is open."""
        self._of_data = False
        """It opens a string of data or source code, which goes on over blank lines."""

    def take(self, text: str, at: int) -> None:
        """A quote stands here."""
        if not self.odd and INCHES.search(text, max(0, at - 1), at + 2) is not None:
            return
        self.odd = not self.odd
        self._of_data = self.odd and text[:at].rstrip(_PREFIXES).rstrip()[-1:] in BEFORE_A_STRING

    def end_paragraph(self, *, kept: bool) -> None:
        """A blank line ends a quotation of prose, unless it is kept open."""
        self.odd = self.odd and (kept or self._of_data)
