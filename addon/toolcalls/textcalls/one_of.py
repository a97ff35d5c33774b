"""One regular expression for many literals, shaped as their trie, so that a search tries each character once."""

from __future__ import annotations

import re
from collections.abc import Iterable


def one_of(literals: Iterable[str]) -> str:
    """A pattern that matches the longest of the literals that stands at a place."""
    branches: dict[str, list[str]] = {}
    for literal in sorted(set(literals)):
        if literal:
            branches.setdefault(literal[0], []).append(literal[1:])
    return "|".join(re.escape(char) + _rest(rests) for char, rests in branches.items())


def _rest(rests: list[str]) -> str:
    if len(rests) == 1:
        return re.escape(rests[0])
    inner = f"(?:{one_of(rests)})"
    return f"{inner}?" if "" in rests else inner
