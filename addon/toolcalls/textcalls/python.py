"""Python's literals and calls, read in one pass. Python's own parser is quadratic on some texts of models."""

from __future__ import annotations

import re
from typing import Any

from ..work import Work
from .cursor import NotACall
from .values import put

_LEXEME = re.compile(
    r"""\s*+(?:
    (?P<string>[rRuU]?(?:
        "{3}(?>[^"\\]|\\[\s\S]|"(?!""))*+"{3} | '{3}(?>[^'\\]|\\[\s\S]|'(?!''))*+'{3}
        | "(?!"")(?>[^"\\\n]|\\[\s\S])*+" | '(?!'')(?>[^'\\\n]|\\[\s\S])*+' ))
    | (?P<number>-?(?:\d{1,400}+(?:\.\d{0,400}+)?|\.\d{1,400}+)(?:[eE][+-]?\d{1,3})?(?!\w))
    | (?P<name>[^\W\d]\w*+(?>\.[^\W\d]\w*+)*+)
    | (?P<mark>[()\[\]{},:=;])
    )\s*+""",
    re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U(00[0-9a-fA-F]{6})|([0-7]{1,3})|([\s\S]))")
_CHARACTERS = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    '"': '"',
}
_WORDS = {"True": True, "False": False, "None": None, "true": True, "false": False, "null": None}
_DEPTH = 64
_READ, _ESCAPED = 10, 2
"""The steps that reading a token and an escape costs."""

Call = tuple[str, list[Any], dict[str, Any]]
"""The name of a function, its positional arguments and its keyword arguments."""


def read_calls(text: str, work: Work) -> list[Call]:
    """The calls of a list or of a sequence of statements; each may be inside `print(…)`."""
    work.spend(_ESCAPED * text.count("\\"))
    reader = _PythonReader(text, work)
    calls: list[Call] = []
    while reader.goes_on():
        listed = reader.took("[")
        while not (listed and reader.took("]")):
            calls.append(reader.call())
            if not (reader.took(",") or reader.took(";")) and not listed:
                break
    return calls


def decode_string(literal: str) -> str:
    """The value of a string literal. An escape that Python does not know keeps its backslash."""
    raw = literal[0] in "rR"
    literal = literal[literal[0] in "rRuU" :]
    marks = 3 if literal[:3] in ('"""', "'''") else 1
    inside = literal[marks:-marks]
    return inside if raw or "\\" not in inside else _ESCAPE.sub(_character, inside)


def _character(match: re.Match[str]) -> str:
    if match[5]:
        if match[5] in "\r\nN":
            raise NotACall
        return _CHARACTERS.get(match[5], match[0])
    code = int(match[4], 8) if match[4] else int(match[1] or match[2] or match[3], 16)
    if code > 0x10FFFF:
        raise NotACall
    return chr(code)


class _PythonReader:
    def __init__(self, text: str, work: Work) -> None:
        self._text, self._at = text, 0
        self._work = work
        self._kind: str | None = None
        self._token = ""
        self._next()

    def _next(self) -> str:
        """Move on to the next token; return the current one."""
        token = self._token
        self._work.spend(_READ)
        match = _LEXEME.match(self._text, self._at)
        if match is None and self._at < len(self._text):
            raise NotACall
        self._kind = match.lastgroup if match else None
        self._token = match[self._kind] if match and self._kind else ""
        self._at = match.end() if match else self._at
        return token

    def goes_on(self) -> bool:
        return self._kind is not None

    def took(self, mark: str) -> bool:
        if self._kind != "mark" or self._token != mark:
            return False
        self._next()
        return True

    def _expect(self, *, kind: str = "mark", mark: str = "") -> str:
        if self._kind != kind or (mark and self._token != mark):
            raise NotACall
        return self._next()

    def call(self, depth: int = 0) -> Call:
        name = self._expect(kind="name")
        self._expect(mark="(")
        if name == "print" and self._kind == "name" and not depth:
            call = self.call(depth + 1)
            self._expect(mark=")")
            return call
        values: list[Any] = []
        named: dict[str, Any] = {}
        comma = True
        while not self.took(")"):
            if not comma:
                raise NotACall
            if self._kind == "name" and self._token not in _WORDS:
                key = self._next()
                self._expect(mark="=")
                put(named, key, self._value(0))
            else:
                values.append(self._value(0))
            comma = self.took(",")
        return name, values, named

    def _value(self, depth: int) -> Any:
        kind, token = self._kind, self._next()
        if depth > _DEPTH:
            raise NotACall
        if kind == "string":
            pieces = [decode_string(token)]
            while self._kind == "string":
                pieces.append(decode_string(self._next()))
            return "".join(pieces)
        if kind == "number":
            return _number(token)
        if kind == "name" and token in _WORDS:
            return _WORDS[token]
        if kind != "mark" or token not in "[({":
            raise NotACall
        return self._pairs(depth) if token == "{" else self._entries("]" if token == "[" else ")", depth)

    def _entries(self, bracket: str, depth: int) -> Any:
        found: list[Any] = []
        comma = True
        while not self.took(bracket):
            if not comma:
                raise NotACall
            found.append(self._value(depth + 1))
            comma = self.took(",")
        return found[0] if bracket == ")" and len(found) == 1 and not comma else found

    def _pairs(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        comma = True
        while not self.took("}"):
            key = self._value(depth + 1)
            self._expect(mark=":")
            if not comma or not isinstance(key, str):
                raise NotACall
            put(found, key, self._value(depth + 1))
            comma = self.took(",")
        return found


def _number(text: str) -> int | float:
    number = float(text) if any(char in text for char in ".eE") else int(text)
    if number in (float("inf"), float("-inf")):
        raise NotACall
    return number
