"""Strings in any quotes, and where they end when quotes inside them were not escaped.

A quote closes a string only if the right thing follows: in an object `}`, the end, or a comma and a key. Any other
quote is taken as text. Such a guess needs proof: the inner quotes come in pairs, the value contains no `, "key":` or
`{"key":`, and nothing else in the text is uncertain (see document.py). Otherwise the text is refused.
"""

from __future__ import annotations

import re

from ..finish import Finish
from ..refusal import Refusal
from ..steps import CLOSED_CUT_OFF, INNER_QUOTES
from . import characters as chars
from .escapes import decode
from .mixed_quotes import has_two_ends
from .source import SLOW, Source

KEY, OBJECT, ARRAY, TUPLE = chars.KEY, chars.OBJECT, chars.ARRAY, chars.TUPLE

_FOLLOWS = {
    KEY: chars.colon_follows,
    OBJECT: chars.after_value_in_object,
    ARRAY: chars.after_value_in_array,
    TUPLE: chars.after_value_in_tuple,
}
# From inside a string to the next quote that could close it.
_TO_CLOSER = {
    closers: re.compile(rf"[^{closers}\\]*+(?>\\[\s\S][^{closers}\\]*+)*+") for closers in chars.CLOSERS.values()
}
_TRIPLE = {
    quote: re.compile(rf"{quote * 3}((?>[^{quote}\\]++|\\[\s\S]|{quote}(?!{quote}{quote}))*+){quote * 3}")
    for quote in "\"'"
}
# `"a": """, "b": """`: not one text in triple quotes, but two texts of one quote each.
_STRUCTURE_FIRST = re.compile(r"\s*[,:}\]]")
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
    s.spend(SLOW)
    if quote in _TRIPLE and s.text.startswith(quote * 3, s.pos):
        return _triple(s, quote, position)
    _tell_quotes(s, quote)
    text, begin = s.text, s.pos + 1
    follows, closers = _FOLLOWS[position], chars.CLOSERS[quote]
    inner: list[int] = []
    at = begin
    while True:
        at = _next_closer(text, at, closers)
        if at < 0:
            return _unended(s, begin, quote, position, inner)
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
        if s.finish is not Finish.COMPLETE and not s.complete and _NO_MORE_VALUES.match(text, at + 1):
            # A value cut off behind a quote and a bracket of its own would look the same.
            raise s.cut()
    raw = text[begin:at]
    if has_two_ends(raw, quote, position, typographic=s.typographic):
        raise Refusal(f"it is not clear where a text of `{s.key}` ends: it has quotes of another kind")
    value = _decoded(s, raw, quote, bare_quotes=bool(inner))
    if quote == "`" and "${" in value:
        raise Refusal("a JavaScript template has a placeholder in it")
    return value


def _next_closer(text: str, at: int, closers: str) -> int:
    """The next quote that no backslash escapes, or -1. `find` is five times as fast here as a pattern."""
    if len(closers) > 1:
        return _walk_to_closer(text, at, closers)
    begin, aligned, escaped = at, at, 0
    while (at := text.find(closers, at)) >= 0:
        if at - begin < 8 * escaped:
            return _walk_to_closer(text, aligned, closers)
        slash = at
        while slash > begin and text[slash - 1] == "\\":
            slash -= 1
        if (at - slash) % 2 == 0:
            return at
        at += 1
        aligned = at
        escaped += 1
    return -1


def _walk_to_closer(text: str, at: int, closers: str) -> int:
    found = _TO_CLOSER[closers].match(text, at)
    end = found.end() if found else at
    return end if end < len(text) and text[end] != "\\" else -1


def _no_key(s: Source, after: int) -> Refusal:
    if chars.blanks.fullmatch(s.text, after):
        return s.cut()
    return Refusal("a key has no colon or unclear quotes")


def _tell_quotes(s: Source, quote: str) -> None:
    if quote == "'":
        s.step("single quotes")
    elif quote == "`":
        s.step("backtick quotes")
    elif quote in chars.FULL_WIDTH:
        s.step("full-width punctuation")
    elif quote != '"':
        s.step("typographic quotes")


def _decoded(s: Source, raw: str, quote: str, *, bare_quotes: bool = True) -> str:
    s.spend(raw.count("\\") // 64)
    as_json = quote == '"' and s.steps.keys().isdisjoint(OTHER_LANGUAGES)
    decoded = decode(raw, quote, bare_quotes=bare_quotes, as_json=as_json, spend=s.spend)
    if "\n" in raw or "\t" in raw or "\r" in raw:
        s.step("raw control characters")
    if decoded.invalid:
        s.step("invalid escapes")
    s.literal_codes = s.literal_codes or decoded.code
    s.undoubled = s.undoubled or decoded.undoubled
    if decoded.known:
        s.escaped.append((raw, decoded.broken))
    return decoded.text


def _unended(s: Source, begin: int, quote: str, position: str, inner: list[int]) -> str:
    if inner:
        raise Refusal(f"it is not clear where the text of `{s.key}` ends: it has quotes that are not escaped")
    if not s.complete or position == KEY:
        raise s.cut()
    s.step(CLOSED_CUT_OFF)
    s.pos = s.length
    return decode(_DANGLING.sub("", s.text[begin:]), quote).text


def _prove_guess(s: Source, begin: int, end: int, quote: str, inner: list[int]) -> None:
    text = s.text
    unclear = Refusal(f"it is not clear where the text of `{s.key}` ends: it has quotes that are not escaped")
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
        gap = chars.blanks.match(text, at)
        at = gap.end() if gap else at
        if at >= s.length:
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
        raise Refusal(f"it is not clear where the text of `{s.key}` ends: it starts with three quotes")
    end, raw = found.end(), found[1]
    fits = _FOLLOWS[position].match(s.text, end) and not s.text.startswith(quote, end)
    if not fits or _STRUCTURE_FIRST.match(raw):
        raise Refusal(f"it is not clear where the text of `{s.key}` ends: it starts with three quotes")
    s.pos = end
    s.step("triple quotes")
    return _decoded(s, raw, quote)


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
    s.spend(SLOW)
    s.pos = body.end()
    s.step("Python string prefix")
    return body[1]
