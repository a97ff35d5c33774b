"""Quotes of several kinds in one string: does it end at its own closing quote, or at one of another kind before?

`{“a”: “x", "b": "y”}` is one text with straight quotes in it, or two whose quotes were mixed up. A string has two
readings where a quote of another kind stands in it and what follows that quote looks like the next pair or item. The
straight quotes of JSON, Python and JavaScript hold the other kind all the time, in code above all: there the second
reading needs the rest as well, a last text that is opened by the other kind and closed by this one.
"""

from __future__ import annotations

import re
from functools import cache

from . import characters as chars

_STRAIGHT = "\"'"
# Marks that are one kind, because each may open or close what another of them closes or opens.
_STRAIGHT_FAMILIES = ('"', "'")
_FAMILIES = (*_STRAIGHT_FAMILIES, "`", "“”„", "‘’‚", "«»", "「」", "『』", "＂", "＇")
_FOLLOWS = {chars.KEY: chars.AFTER_KEY, chars.OBJECT: chars.NEXT_PAIR}


def has_two_ends(raw: str, quote: str, place: str, *, typographic: bool) -> bool:
    """May what `quote` opened have ended inside `raw`, at a quote of another kind?

    `place`: whether it is a key, or a value in an object or a list. `typographic`: such marks quote in this text.
    """
    straight = quote in _STRAIGHT
    # In a text that quotes as JSON, JavaScript or Python do, typographic marks are text.
    families = _FAMILIES if typographic or not straight else _STRAIGHT_FAMILIES
    others = tuple(family for family in families if quote not in family)
    if straight and not _ends_open(raw, others):
        return False
    return _other_end(others, _FOLLOWS.get(place, chars.NEXT_ITEM)).search(raw) is not None


@cache
def _other_end(others: tuple[str, ...], follows: str) -> re.Pattern[str]:
    """A quote of one of these kinds, and what follows it. Made when it is first needed: it takes milliseconds."""
    return re.compile(rf"(?<!\\)[{''.join(others)}]{follows}")


def _ends_open(raw: str, others: tuple[str, ...]) -> bool:
    """Is a text of another kind open at the end, behind a colon or a comma?"""
    for family in others:
        at = max(map(raw.rfind, family)) - 1
        while at >= 0 and raw[at].isspace():
            at -= 1
        if at >= 0 and raw[at] in chars.COLONS + chars.COMMAS:
            return True
    return False
