"""Gemma 4 `call:N{k:<|"|>v<|"|>,n:1}` and FunctionGemma with `<escape>`: objects and lists whose keys are bare, and
whose strings stand between marks of their own or between plain quotes."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from .known import Bare, Call, CutOff, Known, write

if TYPE_CHECKING:
    from .formats import Row

_DEPTH = 64
_KEY = re.compile(r"\s*+(?:<\|\"\|>|<escape>|[\"'])?([\w.$-]{1,128})(?:<\|\"\|>|<escape>|[\"'])?\s*+:\s*+")
_SPACE = re.compile(r"\s*+")
_END = {"}": re.compile(r"[,}]"), "]": re.compile(r"[,\]]")}
_IN_BARE = re.compile(r"[\"'`{}\[\]<\n]")
_PLAIN = re.compile(r'"[^"\\]*+(?>\\.[^"\\]*+)*+"', re.DOTALL)
_UNTYPED = (int, float, bool, type(None))


def read_gemma(row: Row, head: re.Match[str], known: Known, final: bool) -> tuple[list[Call], int] | None:
    text, name = head.string, known.resolve(head["name"])
    if name is None:
        return None
    declared = set(known.declared(name))
    reader = _Literals(text, head.end(), row.param, row.closer, declared)
    try:
        value = reader.object(0)
    except CutOff:
        if final:
            return None
        raise
    except ValueError:
        return None
    view = known.view(name)
    arguments = {key: known.value(view, key, _plain(one)) for key, one in value.items()}
    end = row.end_at(text, reader.at, final)
    if end is None or (row.weak and not known.takes(name, arguments, weak=True)):
        return None
    return [(name, write(arguments))], end


class _Literals:
    """A parser for `{k:v,…}` and `[v,…]`. Raises ValueError where the text is neither, CutOff where it ends."""

    __slots__ = ("_declared", "_end", "_mark", "_text", "at")

    def __init__(self, text: str, at: int, mark: str, end: re.Pattern[str], declared: set[str]) -> None:
        self._text, self.at, self._mark, self._end, self._declared = text, at, mark, end, declared

    def object(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        last: Any = None
        self.at += 1
        while not self._closed("}", bool(found)):
            key = _KEY.match(self._text, self.at)
            if key is None:
                raise CutOff if len(self._text) - self.at < 140 and "{" not in self._text[self.at :] else ValueError
            if type(last) is Bare and not depth and (key[1] not in self._declared or key[1] in found):
                raise ValueError  # the comma before it was part of a text without quotes
            self.at = key.end()
            last = self._value(depth + 1, "}")
            if found.setdefault(key[1], last) != last:
                raise ValueError
        return found

    def _array(self, depth: int) -> list[Any]:
        found: list[Any] = []
        self.at += 1
        while not self._closed("]", bool(found)):
            found.append(self._value(depth + 1, "]"))
        return found

    def _value(self, depth: int, bracket: str) -> Any:
        text = self._text
        if depth > _DEPTH:
            raise ValueError
        self._skip()
        if text.startswith(self._mark, self.at):
            return self._string(len(self._mark))
        opened = text[self.at : self.at + 1]
        if opened == "{":
            return self.object(depth)
        if opened == "[":
            return self._array(depth)
        if opened == '"':
            quoted = _PLAIN.match(text, self.at)
            if quoted is None:
                raise CutOff
            self.at = quoted.end()
            return json.loads(quoted[0], strict=False)
        end = _END[bracket].search(text, self.at)
        if end is None:
            raise CutOff
        bare = text[self.at : end.start()].strip()
        self.at = end.start()
        if not bare or _IN_BARE.search(bare):
            raise ValueError
        return Bare(bare)

    def _string(self, size: int) -> str:
        end = self._text.find(self._mark, self.at + size)
        if end < 0:
            raise CutOff
        value = self._text[self.at + size : end]
        self.at = end + size
        if self._end.search(value) and "call:" not in value:
            raise ValueError  # a mark was forgotten, and the string has swallowed the end of its call
        return value

    def _closed(self, bracket: str, comma: bool) -> bool:
        """Move past the closing bracket, or to the next entry. `comma`: one must come before it."""
        self._skip()
        separated = self._text.startswith(",", self.at)
        if separated:
            self.at += 1
            self._skip()
        if self.at >= len(self._text):
            raise CutOff
        if self._text[self.at] == bracket:
            self.at += 1
            return True
        if separated != comma:
            raise ValueError
        return False

    def _skip(self) -> None:
        self.at = _SPACE.match(self._text, self.at).end()  # type: ignore[union-attr]


def _plain(value: Any) -> Any:
    """A value whose words without quotes are read where they are nested; the outermost is typed by its schema."""
    if isinstance(value, dict):
        return {key: _nested(entry) for key, entry in value.items()}
    return [_nested(entry) for entry in value] if isinstance(value, list) else value


def _nested(value: Any) -> Any:
    if not isinstance(value, Bare):
        return _plain(value)
    try:
        found = json.loads(value)
    except ValueError:
        return str(value)
    return found if isinstance(found, _UNTYPED) else str(value)
