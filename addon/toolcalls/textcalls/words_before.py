"""The last words before a place: do they say that what follows is shown, and no call?"""

from __future__ import annotations

from . import lead_ins
from .code_lines import has_words, is_code
from .line_heads import visible
from .quotation_marks import QUOTED_LINES

KEPT = lead_ins.KEPT


class WordsBefore:
    """The end of the paragraph above the current line."""

    __slots__ = ("_ended", "_text")

    def __init__(self) -> None:
        self._text = ""
        self._ended = False
        """A blank line stands behind it."""

    def add(self, line: str) -> None:
        """A whole line, or its end."""
        if not visible(line):
            self._ended = True
            return
        if visible(line)[0] in QUOTED_LINES:
            self._text = ""
            return
        above = "" if self._ended else self._text + "\n"
        self._text, self._ended = (above + line)[-KEPT:], False

    def add_lines(self, lines: str) -> None:
        """The last of several lines, the first of which may be cut off."""
        for line in lines.split("\n"):
            self.add(line[-KEPT:])

    def forget(self) -> None:
        self._text = ""

    def show(self, line: str, *, alone: bool) -> bool:
        """Do they, or this beginning of a line, say that a call behind it is shown? `alone`: only the line counts."""
        if not visible(line):
            return is_code(self._text.rpartition("\n")[2]) or lead_ins.shows(self._text)
        above = "" if self._ended or alone else self._text + "\n"
        return not has_words(line) or is_code(line) or lead_ins.shows((above + line)[-KEPT:])
