"""Gemma 4 `<|tool_call>call:N{k:<|"|>v<|"|>,n:1}<tool_call|>` and FunctionGemma with `<escape>`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..cursor import CutOff, NotACall, Step
from ..region import Format, Region
from ..values import properties, typed, write

_DEPTH = 64


@dataclass(slots=True, frozen=True)
class Gemma:
    format: str
    opener: str
    closer: str
    quote: str


_GEMMA4 = Gemma("gemma4", "<|tool_call>", "<tool_call|>", '<|"|>')
_FUNCTION = Gemma("functiongemma", "<start_function_call>", "<end_function_call>", "<escape>")


def _reader(tags: Gemma) -> Callable[[Region], Step[None]]:
    def read(region: Region) -> Step[None]:
        yield from region.expect((tags.opener,))
        yield from region.expect(("call:",))
        written = yield from region.word("{")
        region.record()
        quoted = False
        while True:
            _, mark = yield from region.until((tags.quote,) if quoted else (tags.quote, tags.closer))
            if mark is None:
                # Only the closer may be missing.
                if quoted or not region.finished or not region.window.rstrip().endswith("}"):
                    raise CutOff
                break
            if mark == tags.closer:
                break
            region.pos += len(mark)
            quoted = not quoted
        body = region.recorded()
        yield from region.optional((tags.closer,))
        name = region.names.resolve(written)
        schema = region.schema(name)
        declared = properties(schema)
        value = _Reader(body.strip(), tags.quote).read()
        if not isinstance(value, dict):
            raise NotACall
        arguments = {
            key: typed(str(entry), declared.get(key) or _UNTYPED, schema) if isinstance(entry, _Bare) else entry
            for key, entry in value.items()
        }
        region.add(name, write(_plain(arguments)), tags.format)

    return read


class _Bare(str):
    """A value that was not quoted: a number, a word, or text that the schema types."""

    __slots__ = ()


_UNTYPED = {"type": ["null", "integer", "number", "boolean", "string"]}


class _Reader:
    """`{k:v,…}` and `[v,…]` whose strings stand between markers instead of quotes."""

    def __init__(self, text: str, quote: str) -> None:
        self._text = text
        self._quote = quote
        self._at = 0

    def read(self) -> Any:
        value = self._value(0, "")
        if self._text[self._at :].strip():
            raise NotACall
        return value

    def _value(self, depth: int, ends: str) -> Any:
        text = self._text
        if depth > _DEPTH:
            raise NotACall
        self._space()
        if text.startswith(self._quote, self._at):
            start = self._at + len(self._quote)
            end = text.find(self._quote, start)
            if end < 0:
                raise NotACall
            self._at = end + len(self._quote)
            return text[start:end]
        opened = text[self._at : self._at + 1]
        if opened == "{":
            return self._object(depth)
        if opened == "[":
            return self._array(depth)
        start = self._at
        while self._at < len(text) and text[self._at] not in ends:
            self._at += 1
        return _Bare(text[start : self._at].strip())

    def _object(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self._at += 1
        while not self._closed("}"):
            colon = self._text.find(":", self._at)
            if colon < 0:
                raise NotACall
            key = self._text[self._at : colon].strip().replace(self._quote, "").strip("\"'")
            self._at = colon + 1
            found[key] = self._value(depth + 1, ",}")
        return found

    def _array(self, depth: int) -> list[Any]:
        found: list[Any] = []
        self._at += 1
        while not self._closed("]"):
            found.append(self._value(depth + 1, ",]"))
        return found

    def _closed(self, bracket: str) -> bool:
        """Past a comma; True behind the closing bracket."""
        self._space()
        if self._text.startswith(",", self._at):
            self._at += 1
            self._space()
        if self._at >= len(self._text):
            raise NotACall
        if self._text[self._at] == bracket:
            self._at += 1
            return True
        return False

    def _space(self) -> None:
        while self._at < len(self._text) and self._text[self._at] in " \t\r\n":
            self._at += 1


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    return typed(str(value), _UNTYPED) if isinstance(value, _Bare) else value


FORMATS = tuple(
    Format(tags.format, (f"{tags.opener}call:",), _reader(tags), tokens=True) for tags in (_GEMMA4, _FUNCTION)
)
