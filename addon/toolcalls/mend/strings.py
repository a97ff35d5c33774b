"""Strings in any quotes, and where they end when quotes inside them were not escaped.

A quote closes a string only if the right thing follows: in an object `}`, the end, or a comma and a key. Any other
quote is taken as text. Such a guess needs proof: the inner quotes come in pairs, the value contains no `, "key":` or
`{"key":`, and nothing else in the text is uncertain (see document.py). Otherwise the text is refused.

Quotes of several kinds may give a string two ends. `{“a”: “x", "b": "y”}` is one text with straight quotes in it, or
two whose quotes were mixed up: refused, if the text behind a quote of another kind looks like the next pair or item.
Strings in straight quotes (JSON, Python, JavaScript) often contain the other kind, above all in code, so for them the
second reading also needs a last text that is opened by the other kind and closed by this one.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

from ..reasons import CLOSED_CUT_OFF, INNER_QUOTES, Refusal
from . import lexer as chars
from .escapes import decode
from .source import Source

_FULL_WIDTH = "full-width punctuation"
_NOT_ESCAPED = "it has quotes that are not escaped"
_half_quoted_key = chars.half_quoted_key_follows.match
KEY, OBJECT, ARRAY, TUPLE = chars.KEY, chars.OBJECT, chars.ARRAY, chars.TUPLE

_FOLLOWS = {
    KEY: chars.colon_follows,
    OBJECT: chars.after_value_in_object,
    ARRAY: chars.after_value_in_array,
    TUPLE: chars.after_value_in_tuple,
}
_TRIPLE = {
    quote: re.compile(rf"{quote * 3}((?>[^{quote}\\]++|\\[\s\S]|{quote}(?!{quote}{quote}))*+){quote * 3}")
    for quote in "\"'"
}
# `"a": """, "b": """`: not one text in triple quotes, but two texts of one quote each.
_STRUCTURE_FIRST = re.compile(r"\s*[,:}\]]")
_QUOTE_STEPS = {"'": "single quotes", "`": "backtick quotes", "＂": _FULL_WIDTH, "＇": _FULL_WIDTH}
_PREFIXED = re.compile(r"(?i:(?P<prefix>[rbu]|rb|br|ur))(?=[\"'])")
_RAW = {quote: re.compile(rf"{quote}((?>[^{quote}\\]|\\[\s\S])*+){quote}") for quote in "\"'"}
# Steps which show that the author writes JavaScript or Python, and knows its escapes.
OTHER_LANGUAGES = frozenset({"single quotes", "unquoted keys", "Python literals", "triple quotes", "number format"})
# `['x.split(',')']`: two items by the grammar, one by its brackets.
_SPLIT_CALL = re.compile(r"[(\[{=][\"'],\s*+[\"'][)\]}]")
_DANGLING = re.compile(r"\\(?:u[0-9a-fA-F]{0,3}|x[0-9a-fA-F]?)?\Z|[\ud800-\udbff]\Z|\\u[dD][89abAB][0-9a-fA-F]{2}\Z")
# Behind the last value: closing brackets, and no comma that would announce another value.
_NO_MORE_VALUES = re.compile(r"[\s}\])］｝]*+(?![,，])")
# The first inner quote of each pair opens something. Before these characters it would close something, so the pairs
# are wrong.
_LIKE_A_CLOSER = re.compile(r"[\s,:;}\])]")
# `"a"+"b"`: two texts and an operator, or one text with quotes in it.
_EXPRESSION = re.compile(r"([\"'])\s{0,4}(?:\+|\|\|?|&&?|/|\.\.?|or|and)\s{0,4}\1")


def read_string(s: Source, position: str) -> str:
    quote = s.text[s.pos]
    s.spend(1)
    if quote in _TRIPLE and s.text.startswith(quote * 3, s.pos):
        return _triple(s, quote, position)
    if quote == "`" and s.text.startswith("``", s.pos) and not _STRUCTURE_FIRST.match(s.text, s.pos + 2):
        return _fenced(s, position)
    if quote != '"':
        s.step(_QUOTE_STEPS.get(quote, "typographic quotes"))
    text, begin = s.text, s.pos + 1
    follows, closers = _FOLLOWS[position], chars.CLOSERS[quote]
    inner: list[int] = []
    at = begin
    while True:
        at = chars.next_quote(text, at, closers)
        if at < 0:
            return _unended(s, begin, quote, position, inner)
        if not inner and position == OBJECT and s.lacks_opening_quote(_half_quoted_key(text, at + 1)):
            break
        if follows.match(text, at + 1) and (not inner or _brackets_fit(s, at + 1)):
            if text[at] in "“‘" and chars.blanks.fullmatch(text, at + 1):
                raise s.cut()  # an opening mark at the very end opens something
            break
        if position == KEY:
            raise _no_key(s, at + 1)
        s.spend(1)
        inner.append(at)
        at += 1
    s.pos = at + 1
    if position == ARRAY and not inner and at - begin > 1 and _SPLIT_CALL.match(text, at - 1):
        raise Refusal(f"it is not clear where a text of `{s.key}` ends: it has quotes that are not escaped")
    if inner:
        _prove_guess(s, begin, at, quote, inner)
        if not s.may_add_missing and _NO_MORE_VALUES.match(text, at + 1):
            # A value cut off behind a quote and a bracket of its own would look the same.
            raise s.cut()
    raw = text[begin:at]
    if has_two_ends(raw, quote, position, typographic=s.typographic):
        raise Refusal(f"it is not clear where a text of `{s.key}` ends: it has quotes of another kind")
    value = _decoded(s, raw, quote, bare_quotes=bool(inner))
    if quote == "`" and "${" in value:
        raise Refusal("a JavaScript template has a placeholder in it")
    return value


def _no_key(s: Source, after: int) -> Refusal:
    if chars.blanks.fullmatch(s.text, after):
        return s.cut()
    return Refusal("a key has no colon or unclear quotes")


def _decoded(s: Source, raw: str, quote: str, *, bare_quotes: bool = True) -> str:
    s.spend(raw.count("\\") // 64)
    if "\n" in raw or "\t" in raw or "\r" in raw:
        s.step("raw control characters")
    as_json = quote == '"' and s.steps.keys().isdisjoint(OTHER_LANGUAGES)
    return decode(s, raw, quote, bare_quotes=bare_quotes, as_json=as_json)


def _unended(s: Source, begin: int, quote: str, position: str, inner: list[int]) -> str:
    if inner:
        raise s.unclear(_NOT_ESCAPED)
    if not s.complete or position == KEY:
        raise s.cut()
    s.step(CLOSED_CUT_OFF)
    s.pos = len(s.text)
    # What is closed although it was cut off says nothing about its author.
    return decode(replace(s, steps={}, escaped=[]), _DANGLING.sub("", s.text[begin:]), quote)


def _prove_guess(s: Source, begin: int, end: int, quote: str, inner: list[int]) -> None:
    text = s.text
    unclear = s.unclear(_NOT_ESCAPED)
    if quote in chars.APOSTROPHES + "‘‚":
        inner = [at for at in inner if not (text[at - 1].isalpha() and text[at + 1 : at + 2].isalpha())]
    if not all(_is_measure_mark(text, at) for at in inner):
        askew = any(_LIKE_A_CLOSER.match(text, at + 1) for at in inner[::2])
        if askew or len(inner) % 2:
            raise unclear
    # An object inside may as well be the arguments of another call whose fragments got in here.
    insides = (chars.pair_inside, chars.object_inside, _EXPRESSION)
    if any(inside.search(text, begin, end) for inside in insides):
        raise unclear
    s.guessed = True
    s.step(INNER_QUOTES)


def _is_measure_mark(text: str, at: int) -> bool:
    """Whether the quote is a unit, as in `32" display`: inches and seconds have no closing quote."""
    return text[at - 1].isdigit() and text[at + 1 : at + 2] in " )]"


def _brackets_fit(s: Source, at: int) -> bool:
    """Whether the brackets behind a guessed closing quote close what is open, and the rest fits too."""
    text, still_open = s.text, list(s.open)
    while True:
        at = chars.end_of(chars.blanks, text, at)
        if at >= len(s.text):
            return True
        char = text[at]
        if still_open and char in (chars.CLOSE_OBJECT if still_open[-1] == OBJECT else chars.CLOSE_ARRAY):
            still_open.pop()
            at += 1
        elif not still_open:
            return chars.marker.match(text, at) is not None
        else:
            return _FOLLOWS[still_open[-1]].match(text, at) is not None and char not in chars.CLOSE_OBJECT + "]］"


def _triple(s: Source, quote: str, position: str) -> str:
    found = _TRIPLE[quote].match(s.text, s.pos)
    if found is None:
        raise s.unclear("it starts with three quotes")
    end, raw = found.end(), found[1]
    fits = _FOLLOWS[position].match(s.text, end) and not s.text.startswith(quote, end)
    if not fits or _STRUCTURE_FIRST.match(raw):
        raise s.unclear("it starts with three quotes")
    s.pos = end
    s.step("triple quotes")
    return _decoded(s, raw, quote)


_FENCED = re.compile(r"(`{2,3})([^`\s\\]++)\1(?!`)")


def _fenced(s: Source, position: str) -> str:
    """One word between fences. The first of several words may be the name of a language, and no part of the text."""
    found = _FENCED.match(s.text, s.pos)
    if found is None or not _FOLLOWS[position].match(s.text, found.end()):
        raise Refusal("it is not clear which part of the text in a code fence is meant")
    s.pos = found.end()
    s.structural_step("code fence")
    return found[2]


def prefixed_string(s: Source, position: str) -> str | None:
    """The value of a Python string with a prefix (r, b, u); None if there is no such string here."""
    found = _PREFIXED.match(s.text, s.pos)
    if found is None:
        return None
    start, prefix = s.pos, found["prefix"].lower()
    s.pos = found.end()
    if "r" not in prefix:
        value = read_string(s, position)
        if prefix == "b" and not value.isascii():
            raise Refusal("a bytes literal is not text")
        s.step("Python string prefix")
        return value
    quote = s.text[s.pos]
    body = (_TRIPLE if s.text.startswith(quote * 3, s.pos) else _RAW)[quote].match(s.text, s.pos)
    if body is None or not _FOLLOWS[position].match(s.text, body.end()):
        raise Refusal(f"a raw string does not end where it should, near character {start:,}")
    s.spend(1)
    s.pos = body.end()
    s.step("Python string prefix")
    return body[1]


_STRAIGHT = "\"'"
# The marks of each kind: any mark of a kind may open a string that another mark of the kind closes.
_STRAIGHT_FAMILIES = ('"', "'")
_FAMILIES = (*_STRAIGHT_FAMILIES, "`", "“”„", "‘’‚", "«»", "「」", "『』", "＂", "＇")
_BEHIND_OTHER = {chars.KEY: chars.AFTER_KEY, chars.OBJECT: chars.NEXT_PAIR}


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
    return _other_end(others, _BEHIND_OTHER.get(position, chars.NEXT_ITEM)).search(raw) is not None


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
