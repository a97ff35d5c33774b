"""What a region may begin with: the openers of all formats, and how they are looked for."""

from __future__ import annotations

import re

from . import reasoning_wrappers, trie
from .formats import ANYWHERE, LINE_HEAD

BY_OPENER = {opener: format for format in (*ANYWHERE, *LINE_HEAD) for opener in format.openers}
AT_HEAD = frozenset(opener for format in LINE_HEAD for opener in format.openers)
CHAINED = tuple(opener for opener in BY_OPENER if opener not in AT_HEAD)
THOUGHT_ENDS = frozenset(reasoning_wrappers.ENDS)
_LONGEST_THOUGHT_END = max(map(len, THOUGHT_ENDS))
_BEGUN_THOUGHT_ENDS = frozenset(end[:size] for end in THOUGHT_ENDS for size in range(1, len(end) + 1))


BEHIND = {opener: format.behind for opener, format in BY_OPENER.items() if format.behind}
"""The character that an opener has to follow."""


def _behind(before: str, opener: str, tail: str) -> str:
    # Begins with a literal character, as every branch: that makes the search skip what cannot begin one.
    head = re.escape(opener[0])
    return f"{head}(?<![^{before}]{head}){tail}"


_PLACED = {**dict.fromkeys(sorted(AT_HEAD), "\\n"), **BEHIND}
_FREE = (*(opener for opener in CHAINED if opener not in BEHIND), *reasoning_wrappers.ENDS)
_WHOLE = (_behind(before, opener, re.escape(opener[1:])) for opener, before in _PLACED.items())
OPENER = re.compile("|".join((trie.pattern(_FREE), *_WHOLE)))
"""An opener, or an end of reasoning. Where the text begins it is not known what stands before one."""
_BEGUN = (_behind(before, opener, trie.begun_tail([opener[1:]])) for opener, before in _PLACED.items())
BEGUN = re.compile("|".join((trie.begun(_FREE), *_BEGUN)))
"""An opener, or what may become one when the text goes on."""
LONGEST = max(map(len, BY_OPENER))
PARTIAL = frozenset(opener[:end] for opener in BY_OPENER for end in range(1, len(opener)))
FIRST = re.compile("[" + "".join({re.escape(opener[0]) for opener in BY_OPENER}) + "]")
FIRST_AT_HEAD = frozenset(opener[0] for opener in AT_HEAD)
FIRST_BEHIND = {opener[0]: before for opener, before in BEHIND.items()}
EXTENDS = frozenset(opener for opener in BY_OPENER if opener in PARTIAL)
"""Openers that are the beginning of a longer one."""


def begun_thought_end(text: str, at: int) -> str:
    """What an end of reasoning may have begun with at the end of a text."""
    for place in range(max(at, len(text) - _LONGEST_THOUGHT_END + 1), len(text)):
        if text[place:] in _BEGUN_THOUGHT_ENDS:
            return text[place:]
    return ""
