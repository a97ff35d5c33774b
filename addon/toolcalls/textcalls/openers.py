"""The openers of all formats, with which a region may begin, and the patterns that find them."""

from __future__ import annotations

import re

from . import reasoning_wrappers, trie
from .formats import ANYWHERE, LINE_HEAD

BY_OPENER = {opener: format for format in (*ANYWHERE, *LINE_HEAD) for opener in format.openers}
AT_HEAD = frozenset(opener for format in LINE_HEAD for opener in format.openers)
CHAINED = tuple(opener for opener in BY_OPENER if opener not in AT_HEAD)
REASONING_ENDS = frozenset(reasoning_wrappers.ENDS)
_LONGEST_REASONING_END = max(map(len, REASONING_ENDS))
_begun_reasoning_end = re.compile(
    f"(?:{trie.pattern(end[:size] for end in REASONING_ENDS for size in range(1, len(end) + 1))})\\Z"
).search


PRECEDED_BY = {opener: format.preceded_by for opener, format in BY_OPENER.items() if format.preceded_by}
"""The character that must come right before an opener, if the opener needs one."""


def _behind(before: str, opener: str, tail: str) -> str:
    # Every branch begins with a literal character, so that the search skips what cannot begin an opener.
    head = re.escape(opener[0])
    return f"{head}(?<![^{before}]{head}){tail}"


_PLACED = {**dict.fromkeys(sorted(AT_HEAD), "\\n"), **PRECEDED_BY}
_FREE = (*(opener for opener in CHAINED if opener not in PRECEDED_BY), *reasoning_wrappers.ENDS)
_WHOLE = (_behind(before, opener, re.escape(opener[1:])) for opener, before in _PLACED.items())
OPENER = re.compile("|".join((trie.pattern(_FREE), *_WHOLE)))
"""An opener, or an end of reasoning. At the beginning of the text the character before an opener is not checked."""
_BEGUN = (_behind(before, opener, trie.begun_tail([opener[1:]])) for opener, before in _PLACED.items())
BEGUN = re.compile("|".join((trie.begun(_FREE), *_BEGUN)))
"""An opener, or the beginning of one at the end of the text."""
LONGEST = max(map(len, BY_OPENER))
PARTIAL = frozenset(opener[:end] for opener in BY_OPENER for end in range(1, len(opener)))
FIRST = re.compile("[" + "".join({re.escape(opener[0]) for opener in BY_OPENER}) + "]")
FIRST_AT_HEAD = frozenset(opener[0] for opener in AT_HEAD)
FIRST_PRECEDED_BY = {opener[0]: before for opener, before in PRECEDED_BY.items()}
EXTENDS = frozenset(opener for opener in BY_OPENER if opener in PARTIAL)
"""Openers that are the beginning of a longer one."""


def begun_reasoning_end(text: str, at: int) -> str:
    """The end of the text, if it may be the beginning of an end of reasoning; otherwise empty."""
    begun = _begun_reasoning_end(text, max(at, len(text) - _LONGEST_REASONING_END + 1))
    return begun[0] if begun else ""
