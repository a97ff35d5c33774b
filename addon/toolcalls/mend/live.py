"""The arguments of a call that are sent while they arrive (`toolfix_aggregate=false`).

A strict JSON prefix is sent at once; from the first character that does not fit, the rest is held and mended. What is
mended must then continue what was sent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

from .lexer import SPACE, STRING, WORD, end_of, loose_tokens
from .strict import scan_string, write

MAX_DEPTH: Final = 256
"""Deeper nesting is held: no tool takes it, and readers with a recursion limit would fail on it."""

_STRING = re.compile(
    r"\"[^\"\\\x00-\x1f]*+(?>\\(?:[\"\\/bfnrt]|u[0-9a-fA-F]{4})[^\"\\\x00-\x1f]*+)*+"
    r"(?:(\")|(\\(?:u[0-9a-fA-F]{0,3}+)?)?)"
)
"""A string, and its closing quote, or an escape that is not complete."""
_PLAIN = re.compile(r"[^\"\\\x00-\x1f]*+")
_EXPONENT = r"[eE](?:[+-]?[0-9]*+)"
_NUMBER = rf"-?(?:(?:0|[1-9][0-9]*+)(?:\.(?:[0-9]++(?:{_EXPONENT})?)?|{_EXPONENT})?)?"
_WORD = re.compile(rf"t(?:r(?:ue?)?)?|f(?:a(?:l(?:se?)?)?)?|n(?:u(?:ll?)?)?|{_NUMBER}")
"""The beginning of a number or a literal."""
_WHOLE_WORD = re.compile(r"true|false|null|[-+.0-9eE]*[0-9]")
_DIGITS = re.compile(r"([0-9])[0-9]+")

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
    _expected: frozenset[str] = _OBJECT
    _cut: str = ""
    """The token in which the text ends, as short as it may be for the same to follow: of a string its quote and an
    escape that is not complete, of a number one digit for several."""
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
        if self._cut == STRING and _PLAIN.fullmatch(text):
            return len(text)  # As most pieces are.
        known, text = len(self._cut), self._cut + text
        at, self._cut = 0, ""
        while at < len(text) and not self.broken:
            at = self._fitting(text, at)
        return at - known

    def _fitting(self, text: str, at: int) -> int:
        """Where those characters of the token at `at` end that fit."""
        kind = text[at] if text[at] in '{}[],:"' else WORD
        if text[at] in " \t\r\n":
            return at + 1
        if kind not in self._expected or (kind in "{[" and len(self._open) == MAX_DEPTH):
            self.broken = True
            return at
        if kind == STRING:
            return self._string(text, at)
        return self._number_or_literal(text, at) if kind == WORD else self._mark(kind, at)

    def _string(self, text: str, at: int) -> int:
        found = _STRING.match(text, at)
        assert found is not None
        if found[1]:
            self._expected = _COLON if self._expected <= _FIRST_KEY else self._behind_value()
        elif found.end() == len(text):
            self._cut = STRING + (found[2] or "")
        else:
            self.broken = True
        return found.end()

    def _number_or_literal(self, text: str, at: int) -> int:
        end = end_of(_WORD, text, at)
        if end == len(text):
            self._cut = _DIGITS.sub(r"\1", text[at:])
        elif _WHOLE_WORD.fullmatch(text, at, end):
            self._expected = self._behind_value()
        else:
            self.broken = True
        return end

    def _mark(self, mark: str, at: int) -> int:
        if mark in "{[":
            self._open.append("}" if mark == "{" else "]")
            self._expected = _FIRST_KEY if mark == "{" else _FIRST_ITEM
        elif mark in "}]":
            self._open.pop()
            self._expected = self._behind_value()
        else:
            self._expected = _KEY if mark == "," and self._open[-1] == "}" else _VALUE
        return at + 1

    def _behind_value(self) -> frozenset[str]:
        return _BEHIND_VALUE[self._open[-1]] if self._open else frozenset()


def closing_quote(sent: str) -> str:
    """What closes the string in which a strict prefix ends, and the escape in it; empty if it ends in none."""
    prefix = StrictPrefix()
    prefix.feed(sent)
    if not prefix._cut.startswith(STRING):
        return ""
    escape = prefix._cut[1:]
    return "0" * (6 - len(escape)) + '"' if escape[1:] else '""' if escape else '"'


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
    closed = f'{sent}"'
    for kind, begin, end in loose_tokens(sent):
        if kind == STRING:
            try:
                text, end = scan_string(closed, begin + 1)
            except ValueError:
                # The prefix ends inside an escape, so its character is not known.
                return None
            written = write(text)
            parts.append(written if end <= len(sent) else written[:-1])
        elif kind != SPACE:
            parts.append(sent[begin:end])
    return "".join(parts)
