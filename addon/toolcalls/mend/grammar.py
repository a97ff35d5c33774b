"""The tolerant grammar: JSON, JSON5, Python literals and the damage that models do to them.

One pass, one small function per production; each starts at `s.pos` and moves it behind what it has read.
Nothing is invented: if a value, a key or a quote is missing, the text is refused.
"""

from __future__ import annotations

import re
from typing import Any

from ..reasons import BARE_TEXT, EXTRA_BRACKET, LEADING_COMMA, MISSING_QUOTE, Refusal
from ..tools.check import View
from . import lexer as chars
from .finish import Finish
from .source import MAX_DEPTH, Cut, Source
from .strict import LITERALS, put, read_number
from .strings import ARRAY, KEY, OBJECT, TUPLE, prefixed_string, read_string

_COMMA_IN_KEY = re.compile(rf"[{chars.QUOTES}]\s*+[{chars.COMMAS}]")
_EMPTY_KEY = re.compile(rf"[{chars.QUOTES}]\s*+[{chars.QUOTES}]")
_PYTHON_CONSTANTS = frozenset({"True", "False", "None"})
_NO_TEXT = frozenset(
    {*map(str.lower, LITERALS), "undefined", "nan", "infinity", "nil", "string", "str", "value", "text", "this"}
)
"""Words that stand for a value, or for a type, rather than for themselves."""


def read_object(s: Source, view: View | None = None) -> dict[str, Any]:
    """object = "{" [ pair { comma pair } [ comma ] ] "}" """
    _enter(s, OBJECT)
    outer, s.view = s.view, view
    pairs: dict[str, Any] = {}
    while True:
        before = s.pos
        comma, char = _next(s, behind=bool(pairs))
        while comma and char and char in chars.COMMAS:
            # An object has no holes, so a second comma means nothing.
            s.structure(char)
            s.structural_step("extra comma")
            s.spend(1)
            char = s.skip()
        if char == "," and not pairs:
            s.structure(char)
            s.structural_step(LEADING_COMMA)
            char = s.skip()
            if char in chars.CLOSE_OBJECT + ",":
                raise Refusal(f"there is no key at character {s.pos:,}")
        if _read_end(s, char, chars.CLOSE_OBJECT, comma, not pairs):
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
        except Cut:
            s.close()
            break
    s.open.pop()
    s.view = outer
    return pairs


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
    put(pairs, key, read_value(s, OBJECT, s.view and s.view.child(key)))
    s.key = key


def _key(s: Source, char: str) -> str:
    """key = string | name"""
    if char in chars.QUOTES:
        return read_string(s, KEY)
    s.spend(1)
    if s.lacks_opening_quote(half := chars.half_quoted_key.match(s.text, s.pos)):
        assert half is not None
        s.pos = half.end()
        s.structural_step(MISSING_QUOTE)
        return half[1]
    found = chars.name.match(s.text, s.pos)
    if found is None or found[0] in _PYTHON_CONSTANTS:
        raise Refusal(f"there is no key at character {s.pos:,}")
    s.pos = found.end()
    if s.pos == len(s.text):
        raise s.cut(bare=True)
    s.step("unquoted keys")
    return found[0]


def read_array(s: Source, view: View | None = None) -> list[Any]:
    """array = "[" [ value { comma value } [ comma ] ] "]" """
    _enter(s, ARRAY)
    items: list[Any] = []
    while True:
        comma, char = _next(s, behind=bool(items))
        if _read_end(s, char, chars.CLOSE_ARRAY, comma, not items):
            break
        if char in chars.CLOSE_OBJECT:
            if comma:
                s.step("trailing comma")
            s.lost_bracket()
            break
        if items and not comma:
            if char in chars.COLONS:
                raise Refusal("a list has a pair in it")
            s.structural_step("missing comma")
        try:
            items.append(read_value(s, ARRAY, view and view.item(len(items))))
        except Cut:
            s.close()
            break
    s.open.pop()
    return items


def _tuple(s: Source) -> Any:
    """tuple = "(" [ value { comma value } [ comma ] ] ")"; without a comma it is only a value in parentheses"""
    _enter(s, TUPLE)
    items: list[Any] = []
    commas = 0
    while True:
        comma, char = _next(s, behind=bool(items))
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
        elif isinstance(items[-1], str) and isinstance(item, str):
            s.step("joined strings")  # Adjacent strings are one in Python.
            items[-1] += item
        else:
            raise Refusal("a Python tuple lacks a comma")
    s.open.pop()
    if items and not commas:
        return items[0]
    s.step("tuple")
    return items


def read_value(s: Source, position: str, view: View | None = None) -> Any:
    """value = string | object | array | tuple | word"""
    char = s.skip()
    if not char:
        raise s.cut()
    if char in chars.QUOTES:
        return read_string(s, position)
    if char in chars.OPEN_OBJECT:
        return read_object(s, view)
    if char in chars.OPEN_ARRAY:
        return read_array(s, view)
    if char in chars.OPEN_TUPLE:
        return _tuple(s)
    if char in "rRbBuU":
        text = prefixed_string(s, position)
        if text is not None:
            return text
    text = _bare_text(s, view) if position == OBJECT else None
    return _word(s) if text is None else text


def _bare_text(s: Source, view: View | None) -> str | None:
    """One word or URL that lacks its quotes, if the schema says that the value is a string; else None."""
    if view is None or not view.only_text or s.finish is not Finish.COMPLETE:
        return None
    found = chars.bare_text.match(s.text, s.pos)
    if found is None or found[0].lower() in _NO_TEXT or (s.view is not None and found[0] in s.view.properties):
        return None
    s.pos = found.end()
    s.structural_step(BARE_TEXT)
    return found[0]


def _word(s: Source) -> Any:
    """word = number | "true" | "false" | "null", in any spelling"""
    s.spend(1)
    found = chars.word.match(s.text, s.pos)
    if found is None:
        raise Refusal(f"there is no value for `{s.key}`" if s.key else "there is no value where one should be")
    word = found[0]
    s.pos = found.end()
    if s.pos == len(s.text):
        # More of the word may be missing, whatever the finish reason says: `3` may be the beginning of `300`.
        raise s.cut(bare=True)
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


def _enter(s: Source, bracket: str) -> None:
    s.structure(s.text[s.pos])
    s.spend(1)
    s.open.append(bracket)
    if len(s.open) > MAX_DEPTH:
        raise Refusal(f"the broken arguments are nested more than {MAX_DEPTH} deep")


def _next(s: Source, *, behind: bool) -> tuple[bool, str]:
    """Go to the next pair or item: whether a comma is before it, which may be `behind` another, and how it begins."""
    char = s.skip()
    if not (behind and char and char in chars.COMMAS):
        return False, char
    s.structure(char)
    return True, s.skip()


def _read_end(s: Source, char: str, closers: str, comma: bool, empty: bool) -> bool:
    """Read the end of the object or list, if it is here: its bracket, or the end of the text. Returns whether it is.

    If the text ends behind a comma or an opening bracket, more than brackets is missing.
    """
    if not char:
        if (comma or empty) and not s.complete:
            raise s.cut()
        s.unclosed()
    elif char in closers:
        s.structure(char)
        if comma:
            s.step("trailing comma")
    return not char or char in closers


def _lost_comma_before_key(s: Source, char: str, before: int) -> None:
    if char not in chars.QUOTES and not chars.line_break.search(s.text, before, s.pos):
        raise Refusal(f"something that is neither a comma nor a bracket follows `{s.key}`")
    if _COMMA_IN_KEY.match(s.text, s.pos):
        # The quote before this one may be part of the text, and this one its end.
        raise s.unclear("a key begins with a comma")
    if _EMPTY_KEY.match(s.text, s.pos):
        raise s.unclear("an empty key follows it without a comma")
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
