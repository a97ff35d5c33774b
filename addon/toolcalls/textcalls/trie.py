"""One regular expression for many literals, shaped as their trie: a search tries each character once."""

from __future__ import annotations

import re
from collections.abc import Iterable


def pattern(literals: Iterable[str]) -> str:
    """Matches the longest of the literals that stands at a place."""
    ordered = sorted(set(literals))
    branches: dict[str, list[str]] = {}
    for literal in ordered:
        if literal:
            branches.setdefault(literal[0], []).append(literal[1:])
    parts = [re.escape(char) + _tail(rests) for char, rests in branches.items()]
    return "|".join(parts)


def _tail(rests: list[str]) -> str:
    if len(rests) == 1:
        return re.escape(rests[0])
    inner = f"(?:{pattern(rests)})"
    return f"{inner}?" if "" in rests else inner
