"""Quotes of several kinds in one string: does it end at its own closing quote, or at one of another kind before?

`{“a”: “x", "b": "y”}` is one text with straight quotes in it, or two whose quotes were mixed up. A string has two
readings where a quote of another kind stands in it and what follows that quote looks like the next pair or item. The
straight quotes of JSON, Python and JavaScript hold the other kind all the time, in code above all: there the second
reading needs the rest as well, a last text that is opened by the other kind and closed by this one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from . import characters as chars

_STRAIGHT = "\"'"
# Marks that are one kind, because each may open or close what another of them closes or opens.
_FAMILIES = ('"', "'", "`", "“”„", "‘’‚", "«»", "「」", "『』", "＂", "＇")


class _Kind:
    """The patterns for strings that one mark opens, in a text that uses the marks of some families."""

    __slots__ = ("item", "key", "others", "pair")

    def __init__(self, quote: str, families: Iterable[str]) -> None:
        others = [family for family in families if quote not in family]
        other = rf"(?<!\\)[{''.join(others)}]"
        self.pair = re.compile(other + chars.NEXT_PAIR)
        self.item = re.compile(other + chars.NEXT_ITEM)
        self.key = re.compile(other + chars.AFTER_KEY)
        self.others = others if quote in _STRAIGHT else []
        """The kinds of which the second reading needs a last text."""

    def ends_open(self, raw: str) -> bool:
        """Is a text of another kind open at the end, behind a colon or a comma?"""
        for family in self.others:
            at = max(map(raw.rfind, family)) - 1
            while at >= 0 and raw[at].isspace():
                at -= 1
            if at >= 0 and raw[at] in chars.COLONS + chars.COMMAS:
                return True
        return not self.others


_KINDS = {quote: _Kind(quote, _FAMILIES) for quote in chars.QUOTES}
# In a text that quotes as JSON, JavaScript or Python do, typographic marks are text.
_STRAIGHT_KINDS = {quote: _Kind(quote, _STRAIGHT) for quote in _STRAIGHT}


def has_two_ends(raw: str, quote: str, place: str, *, typographic: bool) -> bool:
    """May what `quote` opened have ended inside `raw`, at a quote of another kind?

    `place`: whether it is a key, or a value in an object or a list. `typographic`: such marks quote in this text.
    """
    kind = _KINDS[quote] if typographic or quote not in _STRAIGHT else _STRAIGHT_KINDS[quote]
    pattern = kind.key if place == chars.KEY else kind.pair if place == chars.OBJECT else kind.item
    return kind.ends_open(raw) and pattern.search(raw) is not None
