"""Quotes of several kinds in one string: does it end at its own closing quote, or at one of another kind before?

`{“a”: “x", "b": "y”}` is one text with straight quotes in it, or two whose quotes were mixed up. A string has two
readings where a quote of another kind stands in it and what follows that quote looks like the next pair or item. The
straight quotes of JSON, Python and JavaScript hold the other kind all the time, in code above all: there the second
reading needs the rest as well, a last text that is opened by the other kind and closed by this one.
"""

from __future__ import annotations

import re

from . import characters as chars

_STRAIGHT = "\"'"
# Marks that are one kind, because each may open or close what another of them closes or opens.
_FAMILIES = ('"', "'", "`", "“”„", "‘’‚", "«»", "「」", "『』", "＂", "＇")


def _others(quote: str) -> list[str]:
    """Typographic marks between straight quotes are text, as in JSON."""
    families = _STRAIGHT if quote in _STRAIGHT else _FAMILIES
    return [family for family in families if quote not in family]


def _goes_on(families: list[str], following: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\\)[{''.join(families)}]{following}")


_PAIR = {quote: _goes_on(_others(quote), chars.NEXT_PAIR) for quote in chars.QUOTES}
_ITEM = {quote: _goes_on(_others(quote), chars.NEXT_ITEM) for quote in chars.QUOTES}
_KEY = {quote: _goes_on(_others(quote), chars.AFTER_KEY) for quote in chars.QUOTES}
# The last text of the second reading: behind a colon or a comma, opened and not closed.
_LAST = {
    quote: re.compile(
        "|".join(rf"[{chars.COLONS}{chars.COMMAS}]\s*+[{family}][^{family}]*+\Z" for family in _others(quote))
    )
    for quote in _STRAIGHT
}


def has_two_ends(raw: str, quote: str, *, in_object: bool) -> bool:
    """May the value that `quote` opened have ended inside `raw`, at a quote of another kind?"""
    return (_PAIR if in_object else _ITEM)[quote].search(raw) is not None and _ends_open(raw, quote)


def key_has_two_ends(raw: str, quote: str) -> bool:
    """The same for a key: `{“a": 1, "b”: 2}`."""
    return _KEY[quote].search(raw) is not None and _ends_open(raw, quote)


def _ends_open(raw: str, quote: str) -> bool:
    return quote not in _STRAIGHT or _LAST[quote].search(raw) is not None
