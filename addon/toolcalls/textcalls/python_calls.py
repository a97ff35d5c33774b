"""Calls as Python: `[f(a=1), g(b="x")]`, a call a line, or `f.call(a="x")`. Python's own parser is quadratic on some
texts of models, so literals and calls are read here, in one pass."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .known import CutOff, ReadCall, WrittenTools, write

if TYPE_CHECKING:
    from .formats import Row

_LEXEME = re.compile(
    r"""\s*+(?:
    (?P<string>[rRuU]?(?:
        "{3}[^"\\]*+(?>(?>\\[\s\S]|"(?!""))[^"\\]*+)*+"{3} | '{3}[^'\\]*+(?>(?>\\[\s\S]|'(?!''))[^'\\]*+)*+'{3}
        | "(?!"")[^"\\]*+(?>\\[\s\S][^"\\]*+)*+" | '(?!'')[^'\\]*+(?>\\[\s\S][^'\\]*+)*+' ))
    | (?P<number>-?(?:\d{1,400}+(?:\.\d{0,400}+)?|\.\d{1,400}+)(?:[eE][+-]?\d{1,3})?(?!\w))
    | (?P<name>[^\W\d]\w*+(?>[.-][^\W\d]\w*+)*+)
    | (?P<mark>[()\[\]{},:=;])
    )\s*+""",
    re.VERBOSE,
)
_CALL = re.compile(r"[^\W\d][\w.-]*+\s*+(?:\(|\Z)")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U(00[0-9a-fA-F]{6})|([0-7]{1,3})|([\s\S]))")
_PLAIN = dict(zip("abfnrtv\\'\"", "\a\b\f\n\r\t\v\\'\"", strict=True))
_WORDS = {"True": True, "False": False, "None": None, "true": True, "false": False, "null": None}
_DEPTH = 64

PythonCall = tuple[str, list[Any], dict[str, Any]]
"""The name of a function, its positional arguments and its keyword arguments."""


def read_python(row: Row, head: re.Match[str], known: WrittenTools, final: bool) -> tuple[list[ReadCall], int] | None:
    """The calls of a list, or one a line, behind a head."""
    try:
        found, at = _read(head.string, head.end())
    except CutOff:
        if final:
            return None
        raise
    except ValueError:
        return None
    calls: list[ReadCall] = []
    for written, values, named in found:
        written = written.removesuffix(".call") if row.format == "llama3" else written
        name = known.resolve(written, spelled=row.weak)
        needed = view.required if (view := known.view(name)) else ()
        if values and name is not None:
            # The one value without a name is the one required parameter's; the order of several may be wrong.
            if len(values) > 1 or len(needed) != 1 or named.get(needed[0], values[0]) != values[0]:
                return None
            named[needed[0]] = values[0]
        if row.weak and not (name and known.accepts(name, named, weak=True)):
            return None
        calls.append((name, write(named)))
    end = row.end_at(head.string, at, final)
    return None if end is None or not calls else (calls, end)


def read_calls(text: str) -> list[PythonCall]:
    """The calls of a list or of a sequence of statements, each may be inside `print(…)`. Raises ValueError."""
    try:
        calls, end = _read(text, 0)
    except CutOff:
        raise ValueError from None
    if text[end:].strip():
        raise ValueError
    return calls


def read_value(text: str, at: int) -> tuple[Any, int]:
    """The value of the literal at this place, and where it ends. Raises ValueError, or CutOff."""
    reader = _Reader(text, at)
    return reader.value(0), reader.begin


def _read(text: str, at: int) -> tuple[list[PythonCall], int]:
    reader = _Reader(text, at)
    calls: list[PythonCall] = []
    listed = reader.took("[")
    while not (listed and reader.took("]")):
        if not listed and calls and _CALL.match(text, reader.begin) is None:
            break
        calls.append(reader.call())
        separated = reader.took(",") or reader.took(";")
        if listed and not separated and not reader.sees("]"):
            raise CutOff if reader.kind is None else ValueError
    return calls, reader.begin


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
            raise ValueError
        return _PLAIN.get(match[5], match[0])
    code = int(match[4], 8) if match[4] else int(match[1] or match[2] or match[3], 16)
    if code > 0x10FFFF:
        raise ValueError
    return chr(code)


class _Reader:
    """The tokens of a text. Where none begins, `kind` is None: what follows is not Python, or has not arrived."""

    __slots__ = ("_at", "_text", "_token", "begin", "kind")

    def __init__(self, text: str, at: int) -> None:
        self._text, self._at, self._token = text, at, ""
        self.next()

    def next(self) -> str:
        """Move on to the next token; the current one."""
        token, self.begin = self._token, self._at
        match = _LEXEME.match(self._text, self._at)
        self.kind = match.lastgroup if match else None
        self._token = match[self.kind] if match and self.kind else ""
        self._at = match.end() if match else self._at
        return token

    def sees(self, mark: str) -> bool:
        return self.kind == "mark" and self._token == mark

    def took(self, mark: str) -> bool:
        return self.sees(mark) and self.next() == mark

    def expect(self, kind: str | None, mark: str = "") -> str:
        if self.kind is None or self.kind != kind or (mark and self._token != mark):
            rest = self._text[self._at : self._at + 1]
            raise CutOff if self.kind is None and (not rest or rest in "rRuU\"'-") else ValueError
        return self.next()

    def separated(self, bracket: str) -> Iterator[None]:
        """Stops before each element up to a closing bracket; a comma may stand behind the last."""
        comma = True
        while not self.took(bracket):
            if not comma:
                self.expect("mark", bracket)
            yield
            comma = self.took(",")

    def call(self, depth: int = 0) -> PythonCall:
        name = self.expect("name")
        self.expect("mark", "(")
        if name == "print" and self.kind == "name" and not depth:
            call = self.call(depth + 1)
            self.expect("mark", ")")
            return call
        values: list[Any] = []
        named: dict[str, Any] = {}
        for _ in self.separated(")"):
            if self.kind == "name" and self._token not in _WORDS:
                key = self.next()
                self.expect("mark", "=")
                _set(named, key, self.value(0))
            else:
                values.append(self.value(0))
        return name, values, named

    def value(self, depth: int) -> Any:
        kind = self.kind
        if depth > _DEPTH:
            raise ValueError
        token = self.expect(kind)
        if kind == "string":
            pieces = [decode_string(token)]
            while self.kind == "string":
                pieces.append(decode_string(self.next()))
            return "".join(pieces)
        if kind == "number":
            return _number(token)
        if kind == "name" and token in _WORDS:
            return _WORDS[token]
        if token == "{":
            found: dict[str, Any] = {}
            members: list[Any] = []  # of a set
            for _ in self.separated("}"):
                key = self.value(depth + 1)
                if not self.took(":"):
                    members.append(key)
                elif members or not isinstance(key, str):
                    raise ValueError
                else:
                    _set(found, key, self.value(depth + 1))
            if found and members:
                raise ValueError
            return members or found
        if token not in ("[", "("):
            raise CutOff if kind == "name" and self.begin == len(self._text) else ValueError
        entries: list[Any] = []
        comma = False
        for _ in self.separated("]" if token == "[" else ")"):
            entries.append(self.value(depth + 1))
            comma = self.sees(",")
        return entries[0] if token == "(" and len(entries) == 1 and not comma else entries


def _set(found: dict[str, Any], key: str, value: Any) -> None:
    if found.setdefault(key, value) != value:
        raise ValueError  # a name has two values


def _number(text: str) -> int | float:
    number = float(text) if any(char in text for char in ".eE") else int(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError
    return number
