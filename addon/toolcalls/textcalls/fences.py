"""An open code fence of Markdown, and the line that closes it."""

from __future__ import annotations

import re

from .line_heads import indentation

_NEVER_CLOSED = 1 << 30
_LANGUAGE = re.compile(
    r"\s{0,4}[\w+#./:-]{1,40}(?:\s{0,4}\{[^{}]{0,80}\}|\s{1,4}[\w-]{1,20}=.{0,80})?\s*\Z|\s{0,4}\{"
)
"""What is written after the mark of a fence: a language, and attributes."""

_GLUED = re.compile(r"[^`\s](?P<mark>`{3,200}+)[A-Za-z][\w+#-]{0,20}\s*\Z")
"""A fence that begins right after prose, with its language."""


class OpenFence:
    __slots__ = ("_lead", "_mark", "_nested", "in_quote")

    def __init__(self, mark: str, lead: str, *, in_quote: bool) -> None:
        """`lead`: the white space before the mark. `in_quote`: the fence is in a block quote."""
        self._mark = mark
        self._lead = lead
        self._nested = 0
        self.in_quote = in_quote

    def is_closed_by(self, line: str, lead: str, behind: str) -> bool:
        """Whether a line closes the fence. `lead`, `behind`: the white space before and after the line.

        Models nest fences of the same length: a fence with a language inside another has an end of its own.
        """
        if self.in_quote:
            if line[:1] != ">":
                return True
            line = line.lstrip("> ")
        mark = fence_mark(line)
        if mark[:1] != self._mark[0] or len(mark) < len(self._mark):
            glued = _GLUED.search(line)
            if not mark and glued is not None and glued["mark"] >= self._mark:
                self._nested += 1
            return False
        if line != mark:
            # A mark before prose may open another fence or be none, so it is unknown what the next one closes.
            self._nested = self._nested + 1 if _LANGUAGE.match(line, len(mark)) else _NEVER_CLOSED
        elif behind.strip(" \t\r") or (lead != self._lead and (lead + self._lead).strip(" \t")):
            self._nested = _NEVER_CLOSED  # With white space of another kind it may or may not be a fence.
        elif indentation(lead + "x") >= indentation(self._lead + "x") + 4:
            return False  # It is indented like code.
        elif self._nested:
            self._nested -= 1
        else:
            return True
        return False


def fence_mark(line: str) -> str:
    """The backticks or tildes that a line begins with, if they are enough for a fence."""
    char = line[:1]
    length = len(line) - len(line.lstrip(char)) if char in ("`", "~") and char else 0
    return char * length if length >= 3 else ""
