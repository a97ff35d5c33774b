"""The arguments of a call that are sent while they arrive (`toolfix_aggregate=false`).

A strict JSON prefix is sent at once; from the first character that does not fit, the rest is held and mended. What is
mended must then continue what was sent.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

from .lexer import SPACE, STRING, WORD, Lexer
from .strict import write

MAX_DEPTH: Final = 256
"""Deeper nesting is held: no tool takes it, and readers with a recursion limit would fail on it."""

_TEXT = re.compile(
    r"[^\"\\\x00-\x1f]*+(?>\\(?:[\"\\/bfnrt]|u[0-9a-fA-F]{4})[^\"\\\x00-\x1f]*+)*+(\\(?:u[0-9a-fA-F]{0,3}+)?)?"
)
"""The inside of a string, and an escape that is not complete."""
_PLAIN = re.compile(r"[^\"\\\x00-\x1f]*+")
_EXPONENT = r"[eE](?:[+-]?[0-9]*+)"
_NUMBER = rf"-?(?:(?:0|[1-9][0-9]*+)(?:\.(?:[0-9]++(?:{_EXPONENT})?)?|{_EXPONENT})?)?"
_WORD = re.compile(rf"t(?:r(?:ue?)?)?|f(?:a(?:l(?:se?)?)?)?|n(?:u(?:ll?)?)?|{_NUMBER}")
"""The beginning of a number or a literal."""
_HALF_ESCAPE = re.compile(r"(?<!\\)(?>\\\\)*+\\(u[0-9a-fA-F]{0,3})?\Z")
_WHOLE_WORD = re.compile(r"true|false|null|[-+.0-9eE]*[0-9]")
_DIGITS = re.compile(r"([0-9])[0-9]+")
_LONG = 32

# What may follow, as kinds of tokens.
_OBJECT, _KEY, _FIRST_KEY, _COLON = frozenset("{"), frozenset({STRING}), frozenset({STRING, "}"}), frozenset(":")
_VALUE = frozenset({STRING, WORD, "{", "["})
_FIRST_ITEM = _VALUE | {"]"}
_BEHIND_VALUE = {closer: frozenset({",", closer}) for closer in "}]"}


@dataclass(slots=True)
class StrictPrefix:
    """Checks, piece by piece, that a text can still become a strict JSON object. Each character is read once.

    Once a character does not fit, nothing fits any more.
    """

    broken: bool = False
    _lexer: Lexer = field(default_factory=Lexer)
    _expected: frozenset[str] = _OBJECT
    _behind_string: frozenset[str] | None = None
    """What may follow the string in which the text ends."""
    _cut: str = ""
    """The incomplete escape at its end."""
    _word: str = ""
    """The number or literal in which the text ends, with one digit for several: the same may follow."""
    _open: list[str] = field(default_factory=list)
    """The closing brackets of all that is open."""

    @property
    def complete(self) -> bool:
        """Whether the text so far is a complete object."""
        return not (self._expected or self.broken)

    def feed(self, text: str) -> int:
        """How many characters of `text` keep the whole a strict prefix."""
        if self.broken:
            return 0
        if self._behind_string is not None and not self._cut and _PLAIN.fullmatch(text):
            return len(text)  # As most pieces are. The lexer stays inside the string.
        for kind, begin, end in self._lexer.feed(text):
            fits = begin + self._fitting(kind, text[begin:end])
            if fits < end:
                self.broken = True
                return fits
        return len(text)

    def _fitting(self, kind: str, token: str) -> int:
        """How many characters of the next token fit."""
        if self._behind_string is not None:
            return self._text(token)
        if self._word and kind != WORD:
            if not _WHOLE_WORD.fullmatch(self._word):
                return 0
            self._word, self._expected = "", self._behind_value()
        if kind == SPACE:
            return len(token)
        if kind not in self._expected:
            return 0
        if kind == WORD:
            return self._number_or_literal(token)
        if kind == STRING:
            self._behind_string = _COLON if self._expected <= _FIRST_KEY else self._behind_value()
            return 1 + self._text(token[1:])
        return self._mark(kind)

    def _text(self, token: str) -> int:
        """Read characters of a string, and its end."""
        ends = not self._lexer.inside
        inside = token[:-1] if ends else token
        found = _TEXT.match(self._cut + inside)
        assert found is not None
        fits = found.end() - len(self._cut)
        self._cut = found[1] or ""
        if fits < len(inside) or (ends and self._cut):
            return fits
        if ends and self._behind_string is not None:
            self._expected, self._behind_string = self._behind_string, None
        return len(token)

    def _number_or_literal(self, token: str) -> int:
        word = self._word + token
        found = _WORD.match(word)
        fits = (found.end() if found else 0) - len(self._word)
        self._word = word if len(word) < _LONG else _DIGITS.sub(r"\1", word)
        return fits

    def _mark(self, mark: str) -> int:
        if mark in "{[":
            if len(self._open) == MAX_DEPTH:
                return 0
            self._open.append("}" if mark == "{" else "]")
            self._expected = _FIRST_KEY if mark == "{" else _FIRST_ITEM
        elif mark in "}]":
            self._open.pop()
            self._expected = self._behind_value()
        else:
            self._expected = _KEY if mark == "," and self._open[-1] == "}" else _VALUE
        return 1

    def _behind_value(self) -> frozenset[str]:
        return _BEHIND_VALUE[self._open[-1]] if self._open else frozenset()


def closing_quote(sent: str) -> str:
    """What closes the string in which a strict prefix ends, and the escape in it; empty if it ends in none."""
    lexer = Lexer()
    for _ in lexer.feed(sent):
        pass
    if not lexer.inside:
        return ""
    escape = _HALF_ESCAPE.search(sent)
    if escape is None:
        return '"'
    return "0" * (5 - len(escape[1])) + '"' if escape[1] else '""'


def continued(sent: str, text: str, value: dict[str, Any] | None) -> str | None:
    """A text that begins with `sent` and means `value`; None if there is none. `text`: the mended text.

    White space and escapes may differ, values may not.
    """
    if text.startswith(sent):
        return text
    if value is None:
        return None
    compact, spelt = write(value), _respelt(sent)
    if spelt is None or not compact.startswith(spelt):
        return None
    return sent + compact[len(spelt) :]


def _respelt(sent: str) -> str | None:
    """A strict prefix in the form of `write`: without white space between tokens and without needless escapes."""
    parts: list[str] = []
    lexer = Lexer()
    for kind, begin, end in lexer.feed(sent):
        token = sent[begin:end]
        if kind == STRING:
            try:
                written = write(json.loads(f'{token}"' if lexer.inside else token))
            except ValueError:
                # The prefix ends inside an escape, so its character is not known.
                return None
            parts.append(written[:-1] if lexer.inside else written)
        elif kind != SPACE:
            parts.append(token)
    return "".join(parts)
