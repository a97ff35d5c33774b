"""How much is read of what comes from outside: sizes, checked where the bytes come in. Past them, bytes pass.

The proxy has one event loop for all streams, so a slow callback makes all the others wait. With these sizes none
takes more than a tenth of a second. docs/mended.md says what they mean for a user.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

MOST_MARKS: Final = 400_000
"""Commas and opening brackets in an event, a document, or the arguments of all calls of an answer: parsing that many
values takes 20 to 40 ms."""
MOST_LINES: Final = 2_000
"""Lines of one event: each may be an event of its own."""
MOST_CALLS: Final = 500
"""How many tool calls, choices or output items an answer may have: each has state and is compared with others."""
MOST_ARGUMENTS: Final = 3 * 1024 * 1024
"""Characters of the arguments of all calls of an answer."""
MOST_BROKEN: Final = 20_000
"""Parts of the broken arguments of an answer, and entries in a written call of Python or Gemma, which are read in
Python."""
MOST_ESCAPES: Final = 100_000
"""Backslashes in a string of such a call."""
MOST_WRITTEN: Final = 100_000
"""Parts of a text that may be a call."""
MOST_TAGS: Final = 10_000
"""Closing tags in it."""
MOST_SEARCHED: Final = 64 * 1024
"""Characters of text of one event, or of one document, that are searched for calls. Longer text only passes."""

_NOT_MARKS: Final = bytes(set(range(256)).difference(b",[{"))
_PART: Final = re.compile(r'"(?>[^"\\]++|\\.)*+"?|\'(?>[^\'\\]++|\\.)*+\'?|[,\[{<]|//', re.DOTALL)


class LimitReached(Exception):
    """A limit of the answer was exceeded: the held bytes are sent as they arrived, and the rest passes."""


def marks_in(text: str | bytes) -> int:
    """The commas and opening brackets of a JSON text, those in its strings too."""
    if isinstance(text, str):
        return text.count(",") + text.count("[") + text.count("{")
    return len(text.translate(None, _NOT_MARKS))


def parts_in(text: str) -> int:
    """The strings, commas and opening brackets of arguments that are no JSON, or nearly so many."""
    return sum(1 for _ in _PART.finditer(text))


def has_more_parts(text: str, most: int) -> bool:
    return len(text) > most and next(islice(_PART.finditer(text), most, None), None) is not None


class Searched:
    """How much text of one event was searched for calls."""

    __slots__ = ("size",)

    def __init__(self) -> None:
        self.size = 0

    def may_search(self, size: int) -> bool:
        """Whether the next `size` characters of the event are searched."""
        self.size += size
        return self.size <= MOST_SEARCHED
