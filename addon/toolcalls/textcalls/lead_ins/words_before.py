"""The last words before a call in the text: whether they say that it is an example."""

from __future__ import annotations

import re
from itertools import groupby

from ..code_lines import has_words, is_code
from ..line_heads import list_item, visible
from ..quotation_marks import QUOTED_LINES
from . import presented
from .paragraph import KEPT, announces, shows
from .steps import is_filler

_PRESENTED = 8
"""How many paragraphs a presented text may have. In the first of them, announcements do not count."""

_SHORT = 120
"""A paragraph that presents a text is shorter than this, in characters."""

_CHARACTER, _WORD = 25, 200  # The work for a character and for a word, in steps.
MOST_STEPS = KEPT * (_CHARACTER + _WORD // 2)
"""The most work that examining the words can take, in steps."""
_words = re.compile(r"\w+")


class WordsBefore:
    """The end of the paragraph above the current line."""

    __slots__ = ("_above", "_ended", "_has_speakers", "_presented", "_text")

    def __init__(self) -> None:
        self._text = ""
        self._above = ""
        """The end of the last paragraph before that one which says something."""
        self._ended = False
        """A blank line follows the paragraph."""
        self._presented = 0
        """How many paragraphs, including this one, may still belong to a text that an earlier paragraph presents."""
        self._has_speakers = False
        """Someone speaks in that text, so announcements in it never count."""

    def add(self, line: str) -> None:
        """Take a whole line, or the end of one."""
        lead = line if line[:1].isalpha() else visible(line)
        if not lead:
            self._ended = True
            return
        if lead[0] in QUOTED_LINES:
            self.forget()
            return
        if self._ended and self._text:
            self._presented, self._has_speakers = self._presented_next()
            self._above = self._above_next()
        if self._presented and not self._has_speakers and list_item.match(lead) is not None:
            self._presented = 0
        above = "" if self._ended else self._text + "\n"
        self._text, self._ended = (above + line)[-KEPT:], False

    def add_lines(self, lines: list[str], *, ended: bool) -> None:
        """Take whole lines, each with words or empty. `ended`: a blank line follows them.

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
        """Take lines with words. Only the first line and the end matter, unless a paragraph presents them."""
        self.add(lines[0][-KEPT:])
        begin, size = len(lines), 0
        while begin > 1 and (self._presented or size <= KEPT):
            begin -= 1
            size += len(lines[begin]) + 1
        for line in lines[begin:]:
            self.add(line[-KEPT:])

    def steps(self, line: str) -> int:
        """The work, in steps, to decide whether the words present what follows this beginning of a line."""
        text = (self._text + line)[-KEPT:]
        return _CHARACTER * len(text) + _WORD * len(_words.findall(text))

    def forget(self) -> None:
        self._text = self._above = ""
        self._presented = 0
        self._has_speakers = False

    def show(self, line: str, *, alone: bool) -> bool:
        """Whether the words, or this beginning of a line, say that a call after it is an example.

        `alone`: only the line counts.
        """
        if not visible(line):
            return is_code(self._text.rpartition("\n")[2]) or self._shows(
                self._text, self._above, self._presented, self._has_speakers
            )
        if not has_words(line) or is_code(line):
            return True
        if alone:
            return self._shows(line[-KEPT:], "", 0, False)
        if self._ended:
            return self._shows(line[-KEPT:], self._above_next(), *self._presented_next())
        return self._shows(f"{self._text}\n{line}"[-KEPT:], self._above, self._presented, self._has_speakers)

    def _presented_next(self) -> tuple[int, bool]:
        """How many paragraphs, from the next one on, may be a presented text, and whether someone speaks in it."""
        if len(self._text) < _SHORT and presented.presents(self._text) and not announces(self._text):
            return _PRESENTED, presented.presents_speech(self._text)
        left = max(0, self._presented - 1)
        return left, self._has_speakers and left > 0

    def _above_next(self) -> str:
        """The paragraph that counts as the one above, for a paragraph that begins now."""
        return self._above if is_filler(self._text) else self._text

    def _shows(self, paragraph: str, above: str, presented: int, has_speakers: bool) -> bool:
        if presented == _PRESENTED or (presented and (has_speakers or not announces(paragraph))):
            return True
        return shows(paragraph, above)
