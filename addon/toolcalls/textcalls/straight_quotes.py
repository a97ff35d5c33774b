"""Whether a straight double quote is open: the same mark opens and closes, so an odd number leaves one open."""

from __future__ import annotations

from .quotation_marks import BEFORE_A_STRING, INCHES

_PREFIXES = "rRbBuUfFLNsaw$@"
"""What may come right before the mark of a string in some languages."""


class StraightQuotes:
    __slots__ = ("_of_data", "odd")

    def __init__(self) -> None:
        self.odd = False
        """A quote is open."""
        self._of_data = False
        """The open quote began a string of data or source code, which goes on over blank lines."""

    def take(self, text: str, at: int) -> None:
        """Take the quote at index `at`."""
        if not self.odd and INCHES.search(text, max(0, at - 1), at + 2) is not None:
            return
        self.odd = not self.odd
        self._of_data = self.odd and text[:at].rstrip(_PREFIXES).rstrip()[-1:] in BEFORE_A_STRING

    def end_paragraph(self, *, kept: bool) -> None:
        """End a paragraph: the blank line closes a quotation in prose, unless it is `kept` open."""
        self.odd = self.odd and (kept or self._of_data)
