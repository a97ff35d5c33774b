"""What a region may begin with: the openers of all formats, and how they are looked for."""

from __future__ import annotations

import re

from . import trie
from .formats import ANYWHERE, LINE_HEAD

BY_OPENER = {opener: format for format in (*ANYWHERE, *LINE_HEAD) for opener in format.openers}
AT_HEAD = frozenset(opener for format in LINE_HEAD for opener in format.openers)
CHAINED = tuple(opener for opener in BY_OPENER if opener not in AT_HEAD)
THINK_END = "</think>"


def _head_pattern(opener: str, tail: str) -> str:
    # Begins with a literal character, as every branch: that makes the search skip what cannot begin one.
    head = re.escape(opener[0])
    return f"{head}(?<![^\\n]{head}){tail}"


_HEADS = sorted(AT_HEAD)
OPENER = re.compile(
    "|".join((trie.pattern((*CHAINED, THINK_END)), *(_head_pattern(head, re.escape(head[1:])) for head in _HEADS)))
)
_BEGUN_HEADS = (_head_pattern(head, trie.begun_tail([head[1:]])) for head in _HEADS)
BEGUN = re.compile("|".join((trie.begun((*CHAINED, THINK_END)), *_BEGUN_HEADS)))
"""An opener, or what may become one when the text goes on."""
LONGEST = max(map(len, BY_OPENER))
PARTIAL = frozenset(opener[:end] for opener in BY_OPENER for end in range(1, len(opener)))
FIRST = re.compile("[" + "".join({re.escape(opener[0]) for opener in BY_OPENER}) + "]")
FIRST_AT_HEAD = frozenset(opener[0] for opener in AT_HEAD)
EXTENDS = frozenset(opener for opener in BY_OPENER if opener in PARTIAL)
"""Openers that are the beginning of a longer one."""
