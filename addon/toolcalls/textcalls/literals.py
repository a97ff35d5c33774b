"""Calls whose values are literals: Python's `[f(a=1), g(b="x")]`, a call a line, or `f.call(a="x")`; Gemma's
`call:N{k:<|"|>v<|"|>,n:1}`, whose keys are bare, and whose strings stand between marks of their own or in quotes.

Python's own parser is quadratic on some texts of models, so both are read here, in one pass.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ..mend.lexer import end_of
from ..sizes import MOST_BROKEN, MOST_ESCAPES
from ..tools.schema import EVERY_TYPE
from .known import SPACE, CutOff, ReadCall, WrittenTools, accepts, put, read, typed, write

if TYPE_CHECKING:
    from .formats import Row

_STRING = re.compile(
    r"""[rRuU]?(?:
    "{3}[^"\\]*+(?>(?>\\[\s\S]|"(?!""))[^"\\]*+)*+"{3} | '{3}[^'\\]*+(?>(?>\\[\s\S]|'(?!''))[^'\\]*+)*+'{3}
    | "(?!"")[^"\\]*+(?>\\[\s\S][^"\\]*+)*+" | '(?!'')[^'\\]*+(?>\\[\s\S][^'\\]*+)*+' )\s*+""",
    re.VERBOSE,
)
_PYTHON = re.compile(
    rf"""(?P<strings>(?>{_STRING.pattern})++)
    | (?P<number>-?(?:\d{{1,400}}+(?:\.\d{{0,400}}+)?|\.\d{{1,400}}+)(?:[eE][+-]?\d{{1,3}})?(?!\w))\s*+
    | (?P<word>(?:[Tt]rue|[Ff]alse|None|null)\b)\s*+""",
    re.VERBOSE,
)
"""Python's values that are no list and no object, and those of JSON."""
_NAME = r"(?P<name>[^\W\d][\w.-]{0,127}+)\s*+"
_CALL, _KEYWORD = re.compile(rf"(?P<print>print\s*+\(\s*+)?{_NAME}\(\s*+"), re.compile(rf"{_NAME}=\s*+")
_MAY_BE_CALL = re.compile(rf"{_NAME}(?:\(|\Z)")
_MAY_GO_ON = re.compile(rf"[rRuU]?[\"']|-|\Z|{_NAME}\Z")
"""What may be the beginning of a value, or of a call."""
_GEMMA_KEY = re.compile(r"(?:<\|\"\|>|<escape>|[\"'])?(?P<key>[\w.$-]{1,128})(?:<\|\"\|>|<escape>|[\"'])?\s*+:\s*+")
_GEMMA = re.compile(
    r"(?:(?P<mark><\|\"\|>|<escape>)(?P<marked>(?s:.*?))(?P=mark)"
    r'|(?P<quoted>"[^"\\]*+(?>\\(?s:.)[^"\\]*+)*+")'
    r"|(?P<bare>[^\s,{}\[\]\"'`<][^,{}\[\]\"'`<\n]{0,180}+(?=[,}\]])))\s*+"
)
"""Gemma's values that are no list and no object."""
_LONGEST_TOKEN = 200
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U(00[0-9a-fA-F]{6})|([0-7]{1,3})|([\s\S]))")
_PLAIN = dict(zip("abfnrtv\\'\"", "\a\b\f\n\r\t\v\\'\"", strict=True))
_WORDS = {"True": True, "False": False, "None": None, "true": True, "false": False, "null": None}
_DEPTH = 64

PythonCall = tuple[str, list[Any], dict[str, Any]]
"""The name of a function, its positional arguments and its keyword arguments."""


class _Bare(str):
    """A value of Gemma's without quotes: a number or a word, if nothing else is declared."""

    __slots__ = ()


def read_python(row: Row, head: re.Match[str], known: WrittenTools, final: bool) -> tuple[list[ReadCall], int] | None:
    """The calls of a list, or one a line, behind a head."""
    reader = _Reader(head.string, head.end())
    calls: list[ReadCall] = []
    for written, values, named in reader.calls():
        tool = known.resolve(written.removesuffix(".call") if row.format == "llama3" else written)
        needed = tool.view.required if tool and tool.view else ()
        if values and tool is not None:
            # The one value without a name is the one required parameter's; the order of several may be wrong.
            if len(values) > 1 or len(needed) != 1 or named.get(needed[0], values[0]) != values[0]:
                return None
            named[needed[0]] = values[0]
        if row.weak and not accepts(tool, named, weak=True):
            return None
        calls.append((tool, write(named)))
    end = row.end_at(head.string, reader.at, final)
    return None if end is None or not calls else (calls, end)


def read_gemma(row: Row, head: re.Match[str], known: WrittenTools, final: bool) -> tuple[list[ReadCall], int] | None:
    """The object behind a head that names the tool."""
    tool, reader = known.resolve(head["name"]), _Reader(head.string, head.end(), row)
    if tool is None:
        return None
    values = reader.value()
    view, arguments = tool.view, {}
    declared = view.properties if view else {}
    if any(type(before) is _Bare and key not in declared for (_, before), (key, _) in pairwise(values.items())):
        return None  # the comma before the key was part of a text without quotes
    for key, value in values.items():
        child = view.child(key) if view and isinstance(value, str) else None
        arguments[key] = _untyped(value) if child is None or child.types == EVERY_TYPE else typed(value, child)
    end = row.end_at(head.string, reader.at, final)
    if end is None or (row.weak and not accepts(tool, arguments, weak=True)):
        return None
    return [(tool, write(arguments))], end


def _untyped(value: Any) -> Any:
    """A value whose words without quotes are read: no schema types them."""
    if isinstance(value, dict):
        return {key: _untyped(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_untyped(entry) for entry in value]
    found = read(value) if type(value) is _Bare else value
    return str(value) if found is None and value != "null" else found


def read_calls(text: str) -> list[PythonCall]:
    """The calls of a list or of a sequence of statements, each may be inside `print(…)`. Raises ValueError."""
    reader = _Reader(text, 0)
    try:
        calls = reader.calls()
    except CutOff:
        raise ValueError from None
    if reader.at < len(text):
        raise ValueError
    return calls


def read_value(text: str, at: int) -> tuple[Any, int]:
    """The value of Python's literal at this place, and where it ends. Raises ValueError, or CutOff."""
    reader = _Reader(text, at)
    return reader.value(), reader.at


def decode_string(literal: str) -> str:
    """The value of a string literal. An escape that Python does not know keeps its backslash."""
    raw = literal[0] in "rR"
    literal = literal[literal[0] in "rRuU" :]
    marks = 3 if literal[:3] in ('"""', "'''") else 1
    inside = literal[marks:-marks]
    if inside.count("\\") > MOST_ESCAPES:
        raise ValueError
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


@dataclass(slots=True)
class _Reader:
    """Reads a text from `at` on. Raises ValueError where something else stands, CutOff where the text ends."""

    text: str
    at: int
    row: Row | None = None
    """That of Gemma's format; None for Python."""
    entries: int = 0
    """How many entries of lists and objects, and arguments of calls, were read."""

    def __post_init__(self) -> None:
        self.at = end_of(SPACE, self.text, self.at)

    def _took(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        if (found := pattern.match(self.text, self.at)) is not None:
            self.at = found.end()
        return found

    def _took_mark(self, mark: str) -> bool:
        if not self.text.startswith(mark, self.at):
            return False
        self.at = end_of(SPACE, self.text, self.at + 1)
        return True

    def _misfit(self) -> Exception:
        """What is raised where nothing that is expected stands."""
        if self.row is None:
            return CutOff() if _MAY_GO_ON.match(self.text, self.at) else ValueError()
        rest = self.text[self.at : self.at + _LONGEST_TOKEN]
        return CutOff() if rest.startswith((self.row.param, '"')) or len(rest) < _LONGEST_TOKEN else ValueError()

    def _separated(self, bracket: str) -> Iterator[None]:
        """Stops before each element up to a closing bracket; a comma may stand behind the last."""
        comma = True
        while not self._took_mark(bracket):
            if not comma:
                raise self._misfit()
            self.entries += 1
            if self.entries > MOST_BROKEN:
                raise ValueError
            yield
            comma = self._took_mark(",")

    def calls(self) -> list[PythonCall]:
        found: list[PythonCall] = []
        listed = self._took_mark("[")
        while not (listed and self._took_mark("]")):
            if found and not listed and _MAY_BE_CALL.match(self.text, self.at) is None:
                break
            found.append(self.call())
            separated = self._took_mark(",") or self._took_mark(";")
            if listed and not separated and not self.text.startswith("]", self.at):
                raise self._misfit()
        return found

    def call(self) -> PythonCall:
        head = self._took(_CALL)
        if head is None:
            raise self._misfit()
        values: list[Any] = []
        named: dict[str, Any] = {}
        for _ in self._separated(")"):
            if (key := self._took(_KEYWORD)) is not None:
                put(named, key["name"], self.value())
            else:
                values.append(self.value())
        if head["print"] and not self._took_mark(")"):
            raise self._misfit()
        return head["name"], values, named

    def value(self, depth: int = 0) -> Any:
        if depth > _DEPTH:
            raise ValueError
        if self._took_mark("{"):
            found: dict[str, Any] = {}
            members: list[Any] = []  # of a set
            for _ in self._separated("}"):
                key = self._scalar(_PYTHON if self.row is None else _GEMMA_KEY)
                if self.row is None and not self._took_mark(":"):
                    members.append(key)
                else:
                    put(found, key, self.value(depth + 1))
            if (found and members) or not all(isinstance(key, str) for key in found):
                raise ValueError
            return members or found
        bracket = "]" if self._took_mark("[") else ")" if self.row is None and self._took_mark("(") else ""
        if not bracket:
            return self._scalar(_PYTHON if self.row is None else _GEMMA)
        entries: list[Any] = []
        comma = False
        for _ in self._separated(bracket):
            entries.append(self.value(depth + 1))
            comma = self.text.startswith(",", self.at)
        return entries[0] if bracket == ")" and len(entries) == 1 and not comma else entries

    def _scalar(self, pattern: re.Pattern[str]) -> Any:
        token = self._took(pattern)
        if token is None or token.lastgroup is None:
            raise self._misfit()
        text = token[token.lastgroup]
        match token.lastgroup:
            case "strings":
                return "".join(decode_string(string[0].rstrip()) for string in _STRING.finditer(text))
            case "number":
                number = float(text) if any(char in text for char in ".eE") else int(text)
                if number in (float("inf"), float("-inf")):
                    raise ValueError
                return number
            case "word":
                return _WORDS[text]
            case "key":
                return text
            case "quoted":
                return json.loads(text, strict=False)
            case "bare":
                return _Bare(text.strip())
        if self.row and self.row.shut.search(text) and "call:" not in text:
            raise ValueError  # a mark was forgotten, and the string has swallowed the end of its call
        return text
