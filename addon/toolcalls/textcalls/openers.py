"""What a region may begin with: the openers of all formats, and how they are looked for."""

from __future__ import annotations

import re

from toolcalls.textcalls import trie
from toolcalls.textcalls.formats import ANYWHERE, LINE_HEAD

BY_OPENER = {opener: format for format in (*ANYWHERE, *LINE_HEAD) for opener in format.openers}
AT_HEAD = frozenset(opener for format in LINE_HEAD for opener in format.openers)
CHAINED = tuple(opener for opener in BY_OPENER if opener not in AT_HEAD)
THINK_END = "</think>"


def _head_pattern(opener: str) -> str:
    # Begins with a literal character, as every branch: that makes the search skip what cannot begin one.
    head, tail = re.escape(opener[0]), re.escape(opener[1:])
    return f"{head}(?<![^\\n]{head}){tail}"


OPENER = re.compile("|".join((trie.pattern((*CHAINED, THINK_END)), *map(_head_pattern, sorted(AT_HEAD)))))
LONGEST = max(map(len, BY_OPENER))
PARTIAL = frozenset(opener[:end] for opener in BY_OPENER for end in range(1, len(opener)))
FIRST = re.compile("[" + "".join({re.escape(opener[0]) for opener in BY_OPENER}) + "]")
FIRST_AT_HEAD = frozenset(opener[0] for opener in AT_HEAD)
EXTENDS = frozenset(opener for opener in BY_OPENER if opener in PARTIAL)
"""Openers that are the beginning of a longer one."""
MATTERS = re.compile("<|\\[|\\]|`|\n|\"\"\"|'''")
"""With `=functions.`, what begins an opener or changes the quoting in the middle of an ordinary line."""
_RECIPIENT = "=functions."


def may_be_recipient(text: str) -> bool:
    return _RECIPIENT in text or _RECIPIENT.startswith(text[text.rfind("=") :])
