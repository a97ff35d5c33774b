"""Quotes of several kinds in one string: does it end at its own closing quote, or earlier at one of another kind?

`{“a”: “x", "b": "y”}` is one text with straight quotes in it, or two whose quotes were mixed up. A string has two
readings if it contains a quote of another kind and the text behind that quote looks like the next pair or item.
Strings in straight quotes (JSON, Python, JavaScript) often contain the other kind, above all in code, so for them the
second reading also needs a last text that is opened by the other kind and closed by this one.
"""

from __future__ import annotations

import re
from functools import cache

from . import characters as chars

_STRAIGHT = "\"'"
# The marks of each kind: any mark of a kind may open a string that another mark of the kind closes.
_STRAIGHT_FAMILIES = ('"', "'")
_FAMILIES = (*_STRAIGHT_FAMILIES, "`", "“”„", "‘’‚", "«»", "「」", "『』", "＂", "＇")
_FOLLOWS = {chars.KEY: chars.AFTER_KEY, chars.OBJECT: chars.NEXT_PAIR}


def has_two_ends(raw: str, quote: str, position: str, *, typographic: bool) -> bool:
    """Whether the string that `quote` opened may have ended inside `raw`, at a quote of another kind.

    `position`: whether the string is a key, or a value in an object or a list. `typographic`: typographic marks quote
    in this text.
    """
    straight = quote in _STRAIGHT
    # In a text that quotes as JSON, JavaScript or Python do, typographic marks are text.
    families = _FAMILIES if typographic or not straight else _STRAIGHT_FAMILIES
    others = tuple(family for family in families if quote not in family)
    if straight and not _ends_open(raw, others):
        return False
    return _other_end(others, _FOLLOWS.get(position, chars.NEXT_ITEM)).search(raw) is not None


@cache
def _other_end(others: tuple[str, ...], follows: str) -> re.Pattern[str]:
    """The pattern of a quote of these kinds and what follows it. Compiled on first use: it takes milliseconds."""
    return re.compile(rf"(?<!\\)[{''.join(others)}]{follows}")


def _ends_open(raw: str, others: tuple[str, ...]) -> bool:
    """Whether a text in quotes of another kind begins behind a colon or a comma and is still open at the end."""
    for family in others:
        at = max(map(raw.rfind, family)) - 1
        while at >= 0 and raw[at].isspace():
            at -= 1
        if at >= 0 and raw[at] in chars.COLONS + chars.COMMAS:
            return True
    return False
