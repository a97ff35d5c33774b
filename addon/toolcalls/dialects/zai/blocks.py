"""Scans the JSON inside `<glm_block …>{json}</glm_block>`: where it ends, and where the fields of the call are.

Strategy: a scan that can be interrupted and resumed at any character. It follows strings and brackets, so
that markup inside the arguments never ends a block, and notes the offsets of the few values that make up a
call. Nothing is decoded before the call is final: a block of 200 KB that grows in thousands of edits is
scanned only where it changed.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

from ...turn import payload
from ...turn.parts import string_of
from .document import Document, text_of_units

_INSIDE = re.compile(r'[^"\\]*+(?>\\.[^"\\]*+)*+', re.DOTALL)
_SPACE = re.compile(r"\s*+")
_SCALAR = re.compile(r'[^\s"{}\[\]:,]++')
_PLAIN_PAIR = re.compile(r"""\s*+(,?)\s*+"([^"\\]*+)"\s*+:\s*+("[^"\\]*+"|[^\s"{}\[\]:,]++)(?=\s*+[,}])""")
"""A whole member of an object without escapes. Most of what follows the arguments is skipped with this one match."""

_MAX_KEY: Final = 64
_LEVELS: Final = 3

# The paths of a call's fields. The second form (`function`) is known only from synthetic tests.
_FIELDS: Final = {
    ("data", "metadata", "id"): "id",
    ("data", "metadata", "name"): "name",
    ("data", "metadata", "arguments"): "arguments",
    ("data", "metadata", "result"): "result",
    ("function", "name"): "function.name",
    ("function", "arguments"): "function.arguments",
    ("id",): "function.id",
}

_KEYS: Final = frozenset(path[-1] for path in _FIELDS)

Span = tuple[int, int]


class Scan(NamedTuple):
    """The state of the scan of one block's JSON. Offsets are offsets in the document."""

    depth: int = 0
    kinds: str = ""
    """The brackets of the outer levels."""
    path: tuple[str, ...] = ()
    """The keys of the outer levels that lead to the current position."""
    after_colon: bool = False
    in_string: bool = False
    field: str = ""
    """The field whose value is being scanned."""
    level: int = 0
    start: int = 0
    spans: tuple[tuple[str, Span], ...] = ()

    @property
    def named(self) -> bool:
        return any(field in ("name", "function.name") for field, _ in self.spans)


def _skip(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def scan_json(text: str, at: int, base: int, scan: Scan) -> tuple[int, Scan, bool]:
    """Continue the scan in `text` from `at`; `base`: the offset of `text` in the document.

    Returns the new position, the new state, and whether the JSON ended there. Input whose meaning may still change
    (half an escape, half a word, half a key) is not consumed.
    """
    depth, kinds, path, after_colon, in_string, field, level, start, spans = scan
    size = len(text)
    ended = False
    while at < size and not ended:
        if in_string:
            at = _skip(_INSIDE, text, at)
            if at >= size or text[at] != '"':
                break
            at += 1
            in_string = False
        else:
            pair = _PLAIN_PAIR.match(text, at)
            if pair and (pair[1] or not after_colon):
                if pair[2] in _KEYS and not field and kinds[:depth] == "{" * depth:
                    name = _FIELDS.get((*path[: depth - 1], pair[2]))
                    spans = (*spans, (name, (base + pair.start(3), base + pair.end(3)))) if name else spans
                after_colon = True
                at = pair.end()
                continue
            at = _skip(_SPACE, text, at)
            if at >= size:
                break
            character = text[at]
            if character == '"' and not after_colon and kinds[depth - 1 : depth] == "{" and depth <= _LEVELS:
                end = _skip(_INSIDE, text, at + 1)
                if end < size and text[end] == '"':
                    path = (*path[: depth - 1], text[at + 1 : end])
                    at = end + 1
                elif size - at <= _MAX_KEY:
                    break
                else:
                    path = (*path[: depth - 1], "")
                    in_string = True
                    at += 1
                continue
            if character == ":":
                after_colon = True
                at += 1
                continue
            if character == ",":
                after_colon = False
                at += 1
                continue
            if after_colon and not field and character not in "}]" and kinds[:depth] == "{" * depth:
                field, level, start = _FIELDS.get(path[:depth], ""), depth, base + at
            if character == '"':
                in_string = True
                at += 1
                continue
            if character in "{[":
                depth += 1
                if depth <= _LEVELS:
                    kinds = kinds[: depth - 1] + character
                after_colon = False
                at += 1
                continue
            if character in "}]":
                depth -= 1
                path = path[:depth]
                at += 1
                ended = depth <= 0
            else:
                end = _skip(_SCALAR, text, at)
                if end == size and size - at <= _MAX_KEY:
                    break
                at = end
        # A string, a word or a container ended here.
        if field and depth == level:
            spans = (*spans, (field, (start, base + at)))
            field = ""
    return at, Scan(depth, kinds, path, after_colon, in_string, field, level, start, spans), ended


class CallResult(Enum):
    """What the backend did with a tool call."""

    OPEN = '"" or nothing yet'
    NULL = "null: it could not run the tool, which is the client's"
    FILLED = "a result: it ran the tool itself"


@dataclass(slots=True, frozen=True)
class GlmCall:
    """A call in a block. `whole` is False if the arguments were cut off in the middle."""

    id: str
    name: str
    arguments: str
    result: CallResult
    whole: bool = True


class GlmBlock:
    """A tool block of the document: from its tag to the end of its JSON, or to the current end of the scan."""

    __slots__ = ("_fields", "_open", "end", "start")

    def __init__(self, start: int, end: int, scan: Scan) -> None:
        self.start = start
        self.end = end
        self._fields = dict(scan.spans)
        self._open = (scan.field, scan.start) if scan.field else None

    def result(self, document: Document) -> CallResult:
        """What the backend did with the call."""
        span = self._fields.get("result")
        if span is None or span[1] - span[0] > 4:
            return CallResult.OPEN if span is None else CallResult.FILLED
        raw = document.units(*span)
        return {'""': CallResult.OPEN, "null": CallResult.NULL}.get(raw, CallResult.FILLED)

    def name(self, document: Document) -> str:
        return self._text(document, "name") or self._text(document, "function.name")

    def call(self, document: Document) -> GlmCall:
        """The call in the block, decoded."""
        traits = "" if "name" in self._fields else "function."
        arguments, whole = self._arguments(document, traits + "arguments")
        return GlmCall(
            self._text(document, traits + "id"), self.name(document), arguments, self.result(document), whole
        )

    def _text(self, document: Document, field: str) -> str:
        span = self._fields.get(field)
        return string_of(payload.read_strict(text_of_units(document.units(*span)))) if span else ""

    def _arguments(self, document: Document, field: str) -> tuple[str, bool]:
        """The arguments, decoded once, and whether they are complete."""
        span = self._fields.get(field)
        if span is None:
            if self._open is None or self._open[0] != field:
                return "", True
            return _cut_literal(text_of_units(document.units(self._open[1], self.end))), False
        raw = text_of_units(document.units(*span))
        if not raw.startswith('"'):
            return payload.text_of(payload.read_strict(raw)) or raw.removeprefix("null"), True
        value = _literal(raw)
        return raw[1:-1] if value is None else value, True


def _literal(raw: str) -> str | None:
    """The text of a JSON string literal, which may contain raw line ends; None if it is no such literal."""
    try:
        value = json.loads(raw, strict=False)
    except ValueError:
        return None
    return value if isinstance(value, str) else None


def _cut_literal(raw: str) -> str:
    """The text of a literal that was cut off. It may end with part of an escape, at most `\\u` and three digits."""
    ends = range(len(raw), max(len(raw) - 6, 0), -1)
    values = (_literal(raw[:end] + '"') for end in ends) if raw.startswith('"') else iter(())
    return next((value for value in values if value is not None), raw.removeprefix('"'))
