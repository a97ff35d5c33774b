"""The tolerant grammar: JSON, JSON5, Python literals and the damage that models do to them.

One pass, one small function per production; each starts at `s.pos` and moves it behind what it has read.
Nothing is invented: if a value, a key or a quote is missing, the text is refused.
"""

from __future__ import annotations

import re
from typing import Any

from ..refusal import Refusal
from ..steps import CLOSED_CUT_OFF, EXTRA_BRACKET
from . import characters as chars
from .numbers import LITERALS, may_be_cut, read_number
from .source import MAX_DEPTH, SLOW, Cut, Source
from .strict import exact_int
from .strings import ARRAY, KEY, OBJECT, TUPLE, prefixed_string, read_string

_COMMA_IN_KEY = re.compile(rf"[{chars.QUOTES}]\s*+[{chars.COMMAS}]")
_EMPTY_KEY = re.compile(rf"[{chars.QUOTES}]\s*+[{chars.QUOTES}]")
_PYTHON_CONSTANTS = frozenset({"True", "False", "None"})


def read_object(s: Source) -> dict[str, Any]:
    """object = "{" [ pair { comma pair } [ comma ] ] "}" """
    _enter(s, OBJECT)
    pairs: dict[str, Any] = {}
    while True:
        _plain_pairs(s, pairs)
        if _plain_end(s, chars.plain_object_end, bool(pairs)):
            break
        before = s.pos
        char = s.skip()
        comma = bool(pairs) and _commas(s, char)
        char = s.skip() if comma else char
        if not char:
            _end_of_text(s, comma or not pairs)
            break
        if char in chars.CLOSE_OBJECT:
            s.structure(char)
            if comma:
                s.step("trailing comma")
            break
        if char in chars.CLOSE_ARRAY:
            if pairs and _stray_bracket(s, char):
                continue
            if not pairs:
                raise Refusal("a bracket closes what was not opened")
            break
        if pairs and not comma:
            _lost_comma_before_key(s, char, before)
        try:
            _pair(s, char, pairs)
        except Cut as cut:
            _close_cut(s, cut)
            break
    s.open.pop()
    return pairs


def _plain_pairs(s: Source, pairs: dict[str, Any]) -> None:
    """Read pairs in which only the quotes may need mending, one match per pair; stops before any other pair."""
    if s.typographic:
        return
    text, pos = s.text, s.pos
    if pairs:
        comma = chars.comma_before_pair.match(text, pos)
        if comma is None:
            return
        pos = comma.end()
    while found := chars.plain_pair.match(text, pos):
        s.spend(1)
        key_quote, key, quote, string, number, literal = found.group(1, 2, 3, 4, 5, 6)
        if key_quote == "'" or quote == "'":
            s.step("single quotes")
        value = string if quote else _plain_word(s, number, literal)
        _once(key, value, pairs)
        pairs[key] = value
        s.key = key
        s.pos = pos = found.end()
        if text[pos] != ",":
            return
        pos += 1


def _plain_items(s: Source, items: list[Any]) -> None:
    """Read items of a list in which only the quotes may need mending, one match per item; stops before any other."""
    if s.typographic:
        return
    text, pos = s.text, s.pos
    if items:
        comma = chars.comma_before_item.match(text, pos)
        if comma is None:
            return
        pos = comma.end()
    while found := chars.plain_item.match(text, pos):
        s.spend(1)
        quote, string, number, literal = found.group(1, 2, 3, 4)
        if quote == "'":
            s.step("single quotes")
        items.append(string if quote else _plain_word(s, number, literal))
        s.pos = pos = found.end()
        if text[pos] != ",":
            return
        pos += 1


def _plain_end(s: Source, pattern: re.Pattern[str], filled: bool) -> bool:
    found = pattern.match(s.text, s.pos)
    if found is None or (found[1] and not filled):
        return False
    s.pos = found.end()
    if found[1]:
        s.step("trailing comma")
    return True


def _plain_word(s: Source, number: str, literal: str | None) -> Any:
    if literal:
        if literal in _PYTHON_CONSTANTS:
            s.step("Python literals")
        return LITERALS[literal]
    return exact_int(number) if number.isdecimal() else read_number(number)[0]


def _pair(s: Source, char: str, pairs: dict[str, Any]) -> None:
    """pair = key ":" value"""
    key = _key(s, char)
    colon = s.skip()
    if not colon:
        raise s.cut()
    if colon not in chars.COLONS:
        raise Refusal(f"`{key[:60]}` has no colon")
    s.structure(colon)
    s.key = key
    value = read_value(s, OBJECT)
    _once(key, value, pairs)
    pairs[key] = value
    s.key = key


def _once(key: str, value: Any, pairs: dict[str, Any]) -> None:
    """Refuse a key with two values: the object has two readings."""
    if key in pairs and pairs[key] != value:
        raise Refusal(f"`{key[:60]}` has two values")


def _key(s: Source, char: str) -> str:
    """key = string | name"""
    if char in chars.QUOTES:
        return read_string(s, KEY)
    s.spend(SLOW)
    found = chars.escaped_name.match(s.text, s.pos) or chars.name.match(s.text, s.pos)
    key = chars.escape.sub(lambda escape: chr(int(escape[0][2:], 16)), found[0]) if found else ""
    if found is None or key in _PYTHON_CONSTANTS or not chars.name.fullmatch(key):
        raise Refusal(f"there is no key at character {s.pos:,}")
    s.pos = found.end()
    if s.pos == s.length:
        raise s.cut()
    s.step("unquoted keys")
    return key


def read_array(s: Source) -> list[Any]:
    """array = "[" [ value { comma value } [ comma ] ] "]" """
    _enter(s, ARRAY)
    items: list[Any] = []
    while True:
        _plain_items(s, items)
        if _plain_end(s, chars.plain_array_end, bool(items)):
            break
        comma = False
        if items and (found := chars.plain_comma.match(s.text, s.pos)):
            s.pos, comma = found.end(), True
        char = s.skip()
        if not comma and items and _comma(s, char):
            comma, char = True, s.skip()
        if not char:
            _end_of_text(s, comma or not items)
            break
        if char in chars.CLOSE_ARRAY:
            s.structure(char)
            if comma:
                s.step("trailing comma")
            break
        if char in chars.CLOSE_OBJECT:
            if comma:
                raise Refusal("a list ends with a comma and a wrong bracket")
            s.lost_bracket()
            break
        if items and not comma:
            if char in chars.COLONS:
                raise Refusal("a list has a pair in it")
            s.structural_step("missing comma")
        try:
            items.append(read_value(s, ARRAY))
        except Cut as cut:
            _close_cut(s, cut)
            break
    s.open.pop()
    return items


def _tuple(s: Source) -> Any:
    """tuple = "(" [ value { comma value } [ comma ] ] ")"; without a comma it is only a value in parentheses"""
    _enter(s, TUPLE)
    items: list[Any] = []
    commas = 0
    while True:
        char = s.skip()
        comma = bool(items) and _comma(s, char)
        char = s.skip() if comma else char
        commas += comma
        if not char:
            raise s.cut()
        if char in chars.CLOSE_TUPLE:
            s.structure(char)
            break
        if char in chars.CLOSE_OBJECT + chars.CLOSE_ARRAY:
            raise Refusal("a Python tuple is not closed")
        item = read_value(s, TUPLE)
        if comma or not items:
            items.append(item)
        else:
            items[-1] = _joined(s, items[-1], item)
    s.open.pop()
    if items and not commas:
        return items[0]
    s.step("tuple")
    return items


def _joined(s: Source, first: Any, second: Any) -> str:
    """Join two adjacent strings, as Python does."""
    if not (isinstance(first, str) and isinstance(second, str)):
        raise Refusal("a Python tuple lacks a comma")
    s.step("joined strings")
    return first + second


def read_value(s: Source, position: str) -> Any:
    """value = string | object | array | tuple | word"""
    char = s.skip()
    if not char:
        raise s.cut()
    if char in chars.QUOTES:
        return read_string(s, position)
    if char in chars.OPEN_OBJECT:
        s.structure(char)
        return read_object(s)
    if char in chars.OPEN_ARRAY:
        s.structure(char)
        return read_array(s)
    if char in chars.OPEN_TUPLE:
        s.structure(char)
        return _tuple(s)
    if char in "rRbBuU":
        text = prefixed_string(s, position)
        if text is not None:
            return text
    return _word(s)


def _word(s: Source) -> Any:
    """word = number | "true" | "false" | "null", in any spelling"""
    s.spend(SLOW)
    found = chars.word.match(s.text, s.pos)
    if found is None:
        raise Refusal(f"there is no value for `{s.key}`" if s.key else "there is no value where one should be")
    word = found[0]
    s.pos = found.end()
    if s.pos == s.length and may_be_cut(word):
        if s.complete:
            return _completed(s, word)
        raise s.cut()
    if word in LITERALS:
        if word not in ("true", "false", "null"):
            s.step("Python literals" if word in _PYTHON_CONSTANTS else "upper-case literals")
        return LITERALS[word]
    if word[0] in "0123456789+-.":
        number, as_json = read_number(word)
        if not as_json:
            s.step("number format")
        return number
    raise Refusal(f"`{word[:40]}` is not in quotes")


def _completed(s: Source, word: str) -> Any:
    s.step(CLOSED_CUT_OFF)
    for literal, value in LITERALS.items():
        if literal.startswith(word):
            return value
    digits = word.rstrip(".eE+-xX")
    if not digits:
        raise s.cut()
    return read_number(digits)[0]


def _enter(s: Source, bracket: str) -> None:
    s.spend(SLOW)
    s.open.append(bracket)
    if len(s.open) > MAX_DEPTH:
        raise Refusal(f"the broken arguments are nested more than {MAX_DEPTH} deep")


def _close_cut(s: Source, cut: Cut) -> None:
    """Close a value that was cut off, if the user wants that (`toolfix_truncated=complete`)."""
    if not s.complete:
        raise cut
    s.step(CLOSED_CUT_OFF)
    s.pos = s.length


def _comma(s: Source, char: str) -> bool:
    if not char or char not in chars.COMMAS:
        return False
    s.structure(char)
    return True


def _commas(s: Source, char: str) -> bool:
    """Read the commas between two pairs. An object has no holes, so a second comma means nothing."""
    found = False
    while _comma(s, char):
        if found:
            s.structural_step("extra comma")
            s.spend(SLOW)
        found = True
        char = s.skip()
    return found


def _end_of_text(s: Source, more_to_come: bool) -> None:
    """Refuse or close a text that ends here: behind a comma or an opening bracket more than brackets is missing."""
    if more_to_come and not s.complete:
        raise s.cut()
    s.unclosed()


def _lost_comma_before_key(s: Source, char: str, before: int) -> None:
    if char not in chars.QUOTES and not chars.line_break.search(s.text, before, s.pos):
        raise Refusal(f"something that is neither a comma nor a bracket follows `{s.key}`")
    if _COMMA_IN_KEY.match(s.text, s.pos):
        # The quote before this one may be part of the text, and this one its end.
        raise Refusal(f"it is not clear where the text of `{s.key}` ends: a key begins with a comma")
    if _EMPTY_KEY.match(s.text, s.pos):
        raise Refusal(f"it is not clear where the text of `{s.key}` ends: an empty key follows it without a comma")
    s.structural_step("missing comma")


def _stray_bracket(s: Source, char: str) -> bool:
    """Whether a `]` in an object is superfluous; if not, it closes a list further out."""
    if ARRAY in s.open:
        s.lost_bracket()
        return False
    s.structure(char)
    following = s.skip()
    if following and following not in chars.CLOSE_OBJECT + chars.CLOSE_ARRAY:
        raise Refusal("a bracket closes what was not opened")
    s.structural_step(EXTRA_BRACKET)
    return True
