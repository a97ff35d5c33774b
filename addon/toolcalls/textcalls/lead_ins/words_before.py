"""The last words before a place: do they say that what follows is shown, and no call?"""

from __future__ import annotations

import re
from itertools import groupby

from ..code_lines import has_words, is_code
from ..line_heads import list_item, visible
from ..quotation_marks import QUOTED_LINES
from . import titles
from .paragraph import KEPT, announces, shows

_PRESENTED = 3
"""So many paragraphs may belong to a text that is presented. In the first of them announcing does not count."""

_SHORT = 120
"""A paragraph that presents a text is shorter."""

_CHARACTER, _WORD = 25, 200  # The steps that a character and a word take.
MOST_STEPS = KEPT * (_CHARACTER + _WORD // 2)
"""What looking at them can take at most."""
_words = re.compile(r"\w+")


class WordsBefore:
    """The end of the paragraph above the current line."""

    __slots__ = ("_ended", "_presented", "_text")

    def __init__(self) -> None:
        self._text = ""
        self._ended = False
        """A blank line stands behind it."""
        self._presented = 0
        """So many paragraphs, with this one, may be a text that one before them presents."""

    def add(self, line: str) -> None:
        """A whole line, or its end."""
        lead = line if line[:1].isalpha() else visible(line)
        if not lead:
            self._ended = True
            return
        if lead[0] in QUOTED_LINES:
            self.forget()
            return
        if self._ended and self._text:
            self._presented = self._presented_next()
        if self._presented and list_item.match(lead) is not None:
            self._presented = 0
        above = "" if self._ended else self._text + "\n"
        self._text, self._ended = (above + line)[-KEPT:], False

    def add_lines(self, lines: list[str], *, ended: bool) -> None:
        """Whole lines, each of which has words or nothing in it; `ended`: and a blank one behind them.

        Only the last paragraphs matter.
        """
        paragraphs, begin = 0, len(lines)
        while begin and paragraphs <= _PRESENTED + 1:
            begin -= 1
            paragraphs += not lines[begin] and begin + 1 < len(lines) and bool(lines[begin + 1])
        for filled, run in groupby(lines[begin:], bool):
            if filled:
                self._add_paragraph(list(run))
            else:
                self._ended = True
        self._ended = self._ended or ended

    def _add_paragraph(self, lines: list[str]) -> None:
        """Lines that have words. Of all but the first the end of the text matters, where nothing presents them."""
        self.add(lines[0][-KEPT:])
        begin, size = len(lines), 0
        while begin > 1 and (self._presented or size <= KEPT):
            begin -= 1
            size += len(lines[begin]) + 1
        for line in lines[begin:]:
            self.add(line[-KEPT:])

    def steps(self, line: str) -> int:
        """The steps that it takes to tell whether they show what stands behind this beginning of a line."""
        text = (self._text + line)[-KEPT:]
        return _CHARACTER * len(text) + _WORD * len(_words.findall(text))

    def forget(self) -> None:
        self._text = ""
        self._presented = 0

    def show(self, line: str, *, alone: bool) -> bool:
        """Do they, or this beginning of a line, say that a call behind it is shown? `alone`: only the line counts."""
        if not visible(line):
            return is_code(self._text.rpartition("\n")[2]) or _shows(self._text, self._presented)
        if alone or self._ended:
            presented, above = 0 if alone else self._presented_next(), ""
        else:
            presented, above = self._presented, self._text + "\n"
        return not has_words(line) or is_code(line) or _shows((above + line)[-KEPT:], presented)

    def _presented_next(self) -> int:
        """So many paragraphs from the next one on may be presented."""
        if len(self._text) < _SHORT and titles.presents(self._text) and not announces(self._text):
            return _PRESENTED
        return max(0, self._presented - 1)


def _shows(paragraph: str, presented: int) -> bool:
    if presented == _PRESENTED or (presented and not announces(paragraph)):
        return True
    return shows(paragraph)
