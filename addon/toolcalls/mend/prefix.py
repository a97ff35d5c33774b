"""Checks, fragment by fragment, whether the text so far can still become a strict JSON object.

For `toolfix_aggregate=false`: a strict prefix is sent at once; from the first character that does not fit, the rest
is held and mended. Each character is read once. The state is a position in the grammar and the stack of open
brackets; plain spans (string contents, digits, white space) are skipped by regular expressions.
"""

from __future__ import annotations

import re
from typing import Final

MAX_DEPTH: Final = 256
"""Deeper nesting is held: no tool takes it, and readers with a recursion limit would fail on it."""

_SPACE = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'[^"\\\x00-\x1f]*')
_DIGITS = re.compile(r"[0-9]*")
_HEX = frozenset("0123456789abcdefABCDEF")

# Positions between tokens.
_START, _FIRST_KEY, _KEY, _COLON, _VALUE, _FIRST_ITEM, _AFTER, _END, _BROKEN = range(9)
# Positions inside a token: a string, its escapes, a word, the parts of a number (RFC 8259, section 6).
_IN_STRING, _ESCAPE, _UNICODE, _WORD, _MINUS, _ZERO, _INTEGER, _POINT, _FRACTION, _E, _SIGN, _EXPONENT = range(9, 21)

_WHOLE_NUMBERS = frozenset({_ZERO, _INTEGER, _FRACTION, _EXPONENT})
_NUMBER_STEPS = {
    (_ZERO, "."): _POINT, (_INTEGER, "."): _POINT,
    (_ZERO, "e"): _E, (_INTEGER, "e"): _E, (_FRACTION, "e"): _E,
    (_ZERO, "E"): _E, (_INTEGER, "E"): _E, (_FRACTION, "E"): _E,
    (_E, "+"): _SIGN, (_E, "-"): _SIGN,
}  # fmt: skip
_DIGIT_STEPS = {_POINT: _FRACTION, _FRACTION: _FRACTION, _E: _EXPONENT, _SIGN: _EXPONENT, _EXPONENT: _EXPONENT,
                _INTEGER: _INTEGER}  # fmt: skip
_WORDS = {"t": "rue", "f": "alse", "n": "ull"}


class StrictPrefix:
    """A check of the fragments of one JSON object. Once a character does not fit, nothing fits any more."""

    __slots__ = ("_key", "_left", "_lists", "_position", "_stack")

    def __init__(self, *, lists: bool = False) -> None:
        """`lists`: a list is accepted too."""
        self._lists = lists
        self._position = _START
        self._stack: list[str] = []
        self._left = ""
        """The missing rest of a word; for a \\u escape, one character per missing digit."""
        self._key = False

    @property
    def complete(self) -> bool:
        """Whether the text so far is a complete object."""
        return self._position == _END

    @property
    def broken(self) -> bool:
        return self._position == _BROKEN

    def feed(self, text: str) -> int:
        """How many characters of `text` keep the whole a strict prefix."""
        at, size = 0, len(text)
        while at < size and self._position != _BROKEN:
            position = self._position
            if position == _IN_STRING:
                at = self._in_string(text, at)
            elif position < _IN_STRING:
                at = self._between(text, at)
            else:
                at = self._in_token(text, at)
        return at

    def _in_string(self, text: str, at: int) -> int:
        end = _STRING.match(text, at).end()  # type: ignore[union-attr]
        if end == len(text):
            return end
        if text[end] == '"':
            self._position = _COLON if self._key else _AFTER
        elif text[end] == "\\":
            self._position = _ESCAPE
        else:
            return self._break(end)
        return end + 1

    def _between(self, text: str, at: int) -> int:
        """Between tokens: white space, a bracket, a comma, a colon, or the beginning of a token."""
        at = _SPACE.match(text, at).end()  # type: ignore[union-attr]
        if at == len(text):
            return at
        character, position = text[at], self._position
        if position in (_VALUE, _FIRST_ITEM):
            if character == "]" and position == _FIRST_ITEM:
                return self._close(character, at)
            return self._value(character, at)
        if position in (_FIRST_KEY, _KEY):
            if character == '"':
                self._position, self._key = _IN_STRING, True
                return at + 1
            return self._close(character, at) if position == _FIRST_KEY else self._break(at)
        if position == _AFTER:
            if character == ",":
                self._position = _KEY if self._stack[-1] == "}" else _VALUE
                return at + 1
            return self._close(character, at)
        if position == _COLON and character == ":":
            self._position = _VALUE
            return at + 1
        if position == _START and character == "{":
            return self._open("}", _FIRST_KEY, at)
        if position == _START and character == "[" and self._lists:
            return self._open("]", _FIRST_ITEM, at)
        return self._break(at)

    def _value(self, character: str, at: int) -> int:
        if character == '"':
            self._position, self._key = _IN_STRING, False
        elif character == "{":
            return self._open("}", _FIRST_KEY, at)
        elif character == "[":
            return self._open("]", _FIRST_ITEM, at)
        elif character in _WORDS:
            self._position, self._left = _WORD, _WORDS[character]
        elif character == "-":
            self._position = _MINUS
        elif "0" <= character <= "9":
            self._position = _ZERO if character == "0" else _INTEGER
        else:
            return self._break(at)
        return at + 1

    def _in_token(self, text: str, at: int) -> int:
        character, position = text[at], self._position
        if position == _ESCAPE:
            if character == "u":
                self._position, self._left = _UNICODE, "0000"
            elif character in '"\\/bfnrt':
                self._position = _IN_STRING
            else:
                return self._break(at)
        elif position == _UNICODE:
            if character not in _HEX:
                return self._break(at)
            self._left = self._left[1:]
            self._position = _UNICODE if self._left else _IN_STRING
        elif position == _WORD:
            if character != self._left[0]:
                return self._break(at)
            self._left = self._left[1:]
            self._position = _WORD if self._left else _AFTER
        else:
            return self._in_number(text, at)
        return at + 1

    def _in_number(self, text: str, at: int) -> int:
        character, position = text[at], self._position
        if "0" <= character <= "9":
            if position == _MINUS:
                self._position = _ZERO if character == "0" else _INTEGER
            elif position in _DIGIT_STEPS:
                self._position = _DIGIT_STEPS[position]
                return _DIGITS.match(text, at).end()  # type: ignore[union-attr]
            else:
                return self._break(at)
            return at + 1
        following = _NUMBER_STEPS.get((position, character))
        if following is not None:
            self._position = following
            return at + 1
        if position not in _WHOLE_NUMBERS:
            return self._break(at)
        self._position = _AFTER
        return self._between(text, at)

    def _open(self, closer: str, position: int, at: int) -> int:
        if len(self._stack) == MAX_DEPTH:
            return self._break(at)
        self._stack.append(closer)
        self._position = position
        return at + 1

    def _close(self, character: str, at: int) -> int:
        if not self._stack or character != self._stack[-1]:
            return self._break(at)
        self._stack.pop()
        self._position = _AFTER if self._stack else _END
        return at + 1

    def _break(self, at: int) -> int:
        self._position = _BROKEN
        return at
