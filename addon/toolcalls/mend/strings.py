"""Strings in any quotes, and where they end when quotes inside them were not escaped.

A quote closes a string only if what follows fits its place: in an object `}`, the end, or a comma and a key. Any
other quote is taken as text. Such a guess must then prove itself: inner quotes come in pairs, no `, "key":` stands
inside the value, and (see document.py) nothing else in the text is in doubt. Otherwise the text is refused.
"""

from __future__ import annotations

import re
from json.decoder import scanstring

from . import characters as chars
from .escapes import decode
from .refusal import Refusal
from .source import Source

KEY, OBJECT, ARRAY, TUPLE = "key", "{", "[", "("

_FOLLOWS = {
    KEY: chars.colon_follows,
    OBJECT: chars.after_value_in_object,
    ARRAY: chars.after_value_in_array,
    TUPLE: chars.after_value_in_tuple,
}
_JSON_STRING = re.compile(r'"[^"\\]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\]*+)*+"')
# From anywhere inside a string to the next quote that could close it.
_TO_CLOSER = {
    quote: re.compile(rf"[^{closers}\\]*+(?:\\[\s\S][^{closers}\\]*+)*+") for quote, closers in chars.CLOSERS.items()
}
_TRIPLE = {
    quote: re.compile(rf"{quote * 3}((?:[^{quote}\\]++|\\[\s\S]|{quote}(?!{quote}{quote}))*+){quote * 3}")
    for quote in "\"'"
}
_PREFIXED = re.compile(r"(?i:(?P<prefix>[rbu]|rb|br|ur))(?=[\"'])")
_RAW = {quote: re.compile(rf"{quote}((?:[^{quote}\\]|\\[\s\S])*+){quote}") for quote in "\"'"}
_DANGLING = re.compile(r"\\(?:u[0-9a-fA-F]{0,3}|x[0-9a-fA-F]?)?\Z|[\ud800-\udbff]\Z|\\u[dD][89abAB][0-9a-fA-F]{2}\Z")
_LISTED = re.compile(r"[\s,]+[\"']")
_BEFORE_OPENER = frozenset(" \t\r\n([{=,:<>|&+!-/;$")


def read_string(s: Source, place: str) -> str:
    text, start = s.text, s.pos
    quote = text[start]
    s.spend()
    if quote == '"':
        found = _JSON_STRING.match(text, start)
        if found and _FOLLOWS[place].match(text, found.end()) and text[start + 1 : start + 3] != '""':
            raw_end = found.end() - 1
            if text.find("\\", start, raw_end) < 0:
                s.pos = raw_end + 1
                return text[start + 1 : raw_end]
            if text[start + 2 : start + 4] != ":\\":
                value, s.pos = scanstring(text, start + 1, False)
                return value
    if text.startswith(quote * 3, start) and quote in _TRIPLE:
        return _triple(s, quote, place)
    _tell_quotes(s, quote)
    return _loose_string(s, quote, place)


def _tell_quotes(s: Source, quote: str) -> None:
    if quote == "'":
        s.step("single quotes")
    elif quote == "`":
        s.step("backtick quotes")
    elif quote in chars.FULL_WIDTH:
        s.step("full-width punctuation")
    elif quote != '"':
        s.step("typographic quotes")


def _loose_string(s: Source, quote: str, place: str) -> str:
    text, begin = s.text, s.pos + 1
    follows, to_closer = _FOLLOWS[place], _TO_CLOSER[quote]
    inner: list[int] = []
    at = begin
    while True:
        found = to_closer.match(text, at)
        at = found.end() if found else s.length
        if at >= s.length or text[at] == "\\":
            return _unended(s, begin, quote, place, inner)
        s.spend()
        after = follows.match(text, at + 1)
        if after and (not inner or _brackets_fit(s, at + 1)):
            break
        if place == KEY:
            raise (s.cut() if chars.blanks.fullmatch(text, at + 1) else Refusal("a key has no colon or unclear quotes"))
        inner.append(at)
        at += 1
    s.pos = at + 1
    if inner:
        _prove_guess(s, begin, at, quote, inner)
    value = _decoded(s, text[begin:at], quote)
    if quote == "`" and "${" in value:
        raise Refusal("a JavaScript template has a placeholder in it")
    return value


def _decoded(s: Source, raw: str, quote: str) -> str:
    value, told = decode(raw, quote)
    if told:
        s.step("invalid escapes")
    return value


def _unended(s: Source, begin: int, quote: str, place: str, inner: list[int]) -> str:
    if inner:
        raise Refusal(f"it is not clear where the text of `{s.key}` ends: it has quotes that are not escaped")
    if not s.complete or place == KEY:
        raise s.cut()
    s.step("closed a cut-off call")
    s.pos = s.length
    return decode(_DANGLING.sub("", s.text[begin:]), quote)[0]


def _prove_guess(s: Source, begin: int, end: int, quote: str, inner: list[int]) -> None:
    text = s.text
    unclear = Refusal(f"it is not clear where the text of `{s.key}` ends: it has quotes that are not escaped")
    if quote in chars.APOSTROPHES + "‘‚":
        inner = [at for at in inner if not (text[at - 1].isalpha() and text[at + 1 : at + 2].isalpha())]
    if len(inner) % 2 and not all(_is_measure_mark(text, at) for at in inner):
        raise unclear
    if inner:
        first = inner[0]
        listed = _LISTED.match(text, first + 1)
        if listed and (first == begin or text[first - 1] not in _BEFORE_OPENER):
            raise unclear
    if chars.pair_inside.search(text, begin, end):
        raise unclear
    s.guessed = True
    s.step("quotes inside a string")


def _is_measure_mark(text: str, at: int) -> bool:
    """`32" display`: inches and seconds come alone."""
    return text[at - 1].isdigit() and not text[at + 1 : at + 2].isalnum()


def _brackets_fit(s: Source, at: int) -> bool:
    """Whether the brackets that follow a guessed closing quote close what is open, and then all goes on as it should."""
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


def _triple(s: Source, quote: str, place: str) -> str:
    found = _TRIPLE[quote].match(s.text, s.pos)
    if found is None:
        raise Refusal(f"it is not clear where the text of `{s.key}` ends: it starts with three quotes")
    end, raw = found.end(), found[1]
    if s.text.startswith(quote, end) or not _FOLLOWS[place].match(s.text, end):
        raise Refusal(f"it is not clear where the text of `{s.key}` ends: it starts with three quotes")
    s.pos = end
    s.step("triple quotes")
    return _decoded(s, raw, quote)


def prefixed_string(s: Source, place: str) -> str | None:
    """A Python string with a prefix (r, b, u); None when there is no such string here."""
    found = _PREFIXED.match(s.text, s.pos)
    if found is None:
        return None
    start, prefix = s.pos, found["prefix"].lower()
    s.pos = found.end()
    if "r" not in prefix:
        value = read_string(s, place)
        if prefix == "b" and not value.isascii():
            raise Refusal("a bytes literal is not text")
        s.step("Python string prefix")
        return value
    quote = s.text[s.pos]
    body = (_TRIPLE if s.text.startswith(quote * 3, s.pos) else _RAW)[quote].match(s.text, s.pos)
    if body is None or not _FOLLOWS[place].match(s.text, body.end()):
        raise Refusal(f"a raw string does not end where it should, near character {start:,}")
    s.spend()
    s.pos = body.end()
    s.step("Python string prefix")
    return body[1]
