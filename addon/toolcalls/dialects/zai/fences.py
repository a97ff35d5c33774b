"""Tells whether a block of the document is only quoted: in a code fence, or because the model itself wrote it.

A model that writes about its own blocks puts them in a fence, and what it writes in deltas of its answer is always
text. A block that the backend itself wrote, in the phase of tool calls, is real wherever it is, because the answer
before it may have left a fence open.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from enum import Enum
from typing import Final, NamedTuple

_MAX_LINE: Final = 256
_FENCE: Final = re.compile(r"^[^\S\n]*+(`{3,}+|~{3,}+)([^\n]*+)", re.MULTILINE)


class Fence(NamedTuple):
    """The state of code fences after some text."""

    mark: str = ""
    """The marks that opened the current fence; "" outside of fences."""
    line: str = ""
    """The beginning of the unfinished line, up to the length that matters."""

    @property
    def open(self) -> bool:
        return bool(self.mark)

    def after(self, run: str) -> Fence:
        """The state after this text."""
        lines, end, line = (self.line + run).rpartition("\n")
        mark = self.mark
        if end and ("```" in lines or "~~~" in lines):
            for fence in _FENCE.finditer(lines):
                mark = _turned(mark, fence[1], fence[2])
        return Fence(mark, line[:_MAX_LINE])


NO_FENCE: Final = Fence()


def _turned(mark: str, fence: str, info: str) -> str:
    """The mark of the open fence after a line that looks like a fence."""
    if mark:
        closes = fence[0] == mark[0] and len(fence) >= len(mark) and not info.strip()
        return "" if closes else mark
    return "" if fence[0] == "`" and "`" in info else fence


class Origin(Enum):
    """Who wrote a part of the document."""

    CALLS = "the backend, as tool calls"
    MODEL = "the model, as its answer or as thinking"
    UNKNOWN = "an edit, or a phase that nobody knows"


class Origins:
    """The author of each part of the document."""

    __slots__ = ("_origins", "_starts")

    def __init__(self) -> None:
        self._starts = [0]
        self._origins = [Origin.UNKNOWN]

    def write(self, start: int, origin: Origin) -> None:
        """The document was cut at `start` and continues there with this origin."""
        while self._starts and self._starts[-1] >= start:
            self._starts.pop()
            self._origins.pop()
        if not self._origins or self._origins[-1] is not origin:
            self._starts.append(start)
            self._origins.append(origin)

    def at(self, place: int) -> Origin:
        return self._origins[bisect_right(self._starts, place) - 1]
