"""One regular expression for many literals, shaped as their trie: a search tries each character once."""

from __future__ import annotations

import re
from collections.abc import Iterable


def pattern(literals: Iterable[str]) -> str:
    """A pattern that matches the longest of the literals that appears at a position."""
    ordered = sorted(set(literals))
    branches: dict[str, list[str]] = {}
    for literal in ordered:
        if literal:
            branches.setdefault(literal[0], []).append(literal[1:])
    parts = [re.escape(char) + _tail(rests) for char, rests in branches.items()]
    return "|".join(parts)


def begun(literals: Iterable[str]) -> str:
    """A pattern that matches one of the literals, or the beginning of one at the end of the text."""
    branches: dict[str, list[str]] = {}
    for literal in sorted(set(literals)):
        branches.setdefault(literal[0], []).append(literal[1:])
    return "|".join(re.escape(char) + begun_tail(rests) for char, rests in branches.items())


def begun_tail(rests: list[str]) -> str:
    """A pattern for the rests of literals that share a beginning, each of which may be cut at the end of the text."""
    return "" if "" in rests else rf"(?:\Z|{begun(rests)})"


def _tail(rests: list[str]) -> str:
    if len(rests) == 1:
        return re.escape(rests[0])
    inner = f"(?:{pattern(rests)})"
    return f"{inner}?" if "" in rests else inner
