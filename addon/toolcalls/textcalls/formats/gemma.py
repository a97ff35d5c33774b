"""Gemma 4 `<|tool_call>call:N{k:<|"|>v<|"|>,n:1}<tool_call|>` and FunctionGemma with `<escape>`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...work import Work
from ..cursor import CutOff, NotACall, Step
from ..region import Format, Region
from ..values import properties, put, typed, write

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
        region.inside = True
        region.record()
        quoted = False
        while True:
            _, mark = yield from region.until((tags.quote,) if quoted else (tags.quote, tags.closer))
            if mark is None:
                # The answer ended: nothing but the closer may be missing.
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
        value = _GemmaReader(body.strip(), tags, declared, region.work).read()
        if not isinstance(value, dict):
            raise NotACall
        arguments = {
            key: typed(str(entry), declared.get(key) or _UNTYPED, schema) if isinstance(entry, _Bare) else entry
            for key, entry in value.items()
        }
        region.add(name, write(_plain(arguments)), tags.format)
        region.inside = False

    return read


class _Bare(str):
    """A value without quotes: a number, a word, or text whose type the schema decides."""

    __slots__ = ()


_UNTYPED = {"type": ["null", "integer", "number", "boolean", "string"]}


_KEY = re.compile(r"[\w.$-]{1,128}")
_SPACE = re.compile(r"[ \t\r\n]*+")
_END = {"": re.compile(r"\Z"), ",}": re.compile(r"[,}]"), ",]": re.compile(r"[,\]]")}
_READ = 24
"""The steps that reading a value costs."""
_IN_BARE = re.compile(r"[\"'`{}\[\]<\n]")


class _GemmaReader:
    """A parser for `{k:v,…}` and `[v,…]` whose strings are between markers instead of quotes."""

    def __init__(self, text: str, tags: Gemma, declared: Mapping[str, Any], work: Work) -> None:
        self._text = text
        self._tags = tags
        self._quote = tags.quote
        self._declared = declared
        self._work = work
        self._at = 0

    def read(self) -> Any:
        value = self._value(0, "")
        if self._text[self._at :].strip():
            raise NotACall
        return value

    def _value(self, depth: int, ends: str) -> Any:
        text = self._text
        self._work.spend(_READ)
        if depth > _DEPTH:
            raise NotACall
        self._space()
        if text.startswith(self._quote, self._at):
            start = self._at + len(self._quote)
            end = text.find(self._quote, start)
            if end < 0:
                raise NotACall
            self._at = end + len(self._quote)
            return self._checked(text[start:end])
        opened = text[self._at : self._at + 1]
        if opened == "{":
            return self._object(depth)
        if opened == "[":
            return self._array(depth)
        start = self._at
        found = _END[ends].search(text, start)
        self._at = found.start() if found else len(text)
        bare = text[start : self._at].strip()
        if not bare or _IN_BARE.search(bare):
            raise NotACall
        return _Bare(bare)

    def _checked(self, value: str) -> str:
        """The string. Raises NotACall if it contains the end of its call or the next call: a marker was forgotten."""
        depth = 0
        for mark in re.findall(f"{re.escape(self._tags.opener)}|{re.escape(self._tags.closer)}", value):
            depth += 1 if mark == self._tags.opener else -1
            if depth < 0:
                raise NotACall
        if depth:
            raise NotACall
        return value

    def _object(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self._at += 1
        last: Any = None
        while not self._closed("}", bool(found)):
            colon = self._text.find(":", self._at, self._at + 256)
            key = self._text[self._at : max(colon, 0)].strip().replace(self._quote, "").strip("\"'")
            if colon < 0 or not _KEY.fullmatch(key):
                raise NotACall
            if isinstance(last, _Bare) and not depth and (key not in self._declared or key in found):
                raise NotACall  # the comma before it was part of a text without quotes
            self._at = colon + 1
            last = self._value(depth + 1, ",}")
            put(found, key, last)
        return found

    def _array(self, depth: int) -> list[Any]:
        found: list[Any] = []
        self._at += 1
        while not self._closed("]", bool(found)):
            found.append(self._value(depth + 1, ",]"))
        return found

    def _closed(self, bracket: str, comma: bool) -> bool:
        """Move past the closing bracket and return True, or to the next entry and return False.

        `comma`: a comma must come before the next entry, because it is not the first.
        """
        self._space()
        separated = self._text.startswith(",", self._at)
        if separated:
            self._at += 1
            self._space()
        if self._text[self._at : self._at + 1] == bracket:
            self._at += 1
            return True
        if self._at >= len(self._text) or separated != comma:
            raise NotACall
        return False

    def _space(self) -> None:
        space = _SPACE.match(self._text, self._at)
        self._at = space.end() if space else self._at


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    return typed(str(value), _UNTYPED) if isinstance(value, _Bare) else value


FORMATS = tuple(Format(tags.format, (f"{tags.opener}call:",), _reader(tags)) for tags in (_GEMMA4, _FUNCTION))
