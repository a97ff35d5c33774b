"""Tool arguments: text that should be a JSON object → the object that the model meant, or a refusal.

Stages, cheapest first: strict (valid text comes back as the very same text), lax (raw control characters
in strings, at C speed), tolerant (see grammar.py and document.py), and the unwrapping of text that was
encoded twice. A repair is made only where the text has one reading. This room knows neither tools nor
schemas nor the wire.
"""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass
from typing import Any, Literal

from . import characters as chars
from .document import read_document
from .escapes import drive_in_text
from .finish import Finish
from .refusal import Refusal
from .source import Source
from .strict import kind, read, scan_string, write

__all__ = ["Finish", "Mended", "mend_arguments"]

MAX_LEVELS = 3

Status = Literal["valid", "repaired", "refused"]


@dataclass(slots=True, frozen=True)
class Mended:
    status: Status
    text: str | None
    value: dict[str, Any] | None
    steps: tuple[str, ...] = ()
    reason: str = ""


def mend_arguments(text: str, finish: Finish = Finish.UNKNOWN, *, complete_truncated: bool = False) -> Mended:
    """Never raises. `finish` is why the model stopped; `complete_truncated` closes what was cut off."""
    try:
        try:
            value = read(text)
        except json.JSONDecodeError:
            pass
        else:
            if type(value) is dict:
                return Mended("valid", text, value)
        steps: dict[str, None] = {}
        value = _mend(text, finish, complete_truncated, steps, level=0)
        return Mended("repaired", write(value), value, tuple(steps))
    except Refusal as refusal:
        return Mended("refused", None, None, reason=refusal.reason)
    except RecursionError:
        return Mended("refused", None, None, reason="the arguments are nested too deeply")


def _mend(text: str, finish: Finish, complete: bool, steps: dict[str, None], level: int) -> dict[str, Any]:
    if _is_nothing(text):
        steps["no arguments"] = None
        return {}
    try:
        value = _read_lax(text, steps)
    except json.JSONDecodeError:
        pass
    else:
        if isinstance(value, dict):
            return value
        if isinstance(value, str):
            return _unwrap(value, finish, complete, steps, level)
        raise Refusal(f"the arguments are {kind(value)}, not an object")
    unescaped = _unescaped(text)
    if unescaped is not None:
        return _unwrap(unescaped, finish, complete, steps, level)
    pairs = _without_braces(text, finish)
    if pairs is not None:
        steps["missing braces"] = None
        return pairs
    if _ENTITY_QUOTED.match(text) and not _ANY_QUOTE.search(text):
        text = html.unescape(text)
        steps["HTML entities"] = None
    source = Source(text, finish, complete)
    source.steps = steps
    return read_document(source)


_NO_ARGUMENTS = re.compile(r"(?:null|None|\"\"|''|```[A-Za-z0-9]*\s*```)?")
_ANY_QUOTE = re.compile("[\"'“”‘’]")
_ENTITY_QUOTED = re.compile(r"\s*\{\s*&(?:quot|#34|#x22|apos|#39);")
_LIKE_AN_OBJECT = re.compile(rf"[\s{chars.INVISIBLE}]*+(?:[{{｛\"'`]|\\\")")
_ESCAPED_BRACE = re.compile(r"\s*\"?\s*[{｛](?:\s|\\[nrt])*\\+\"")
_BRACELESS = re.compile(r"\s*\"(?:[^\"\\]|\\.){0,200}+\"\s*:")


def _is_nothing(text: str) -> bool:
    return len(text) < 200 and _NO_ARGUMENTS.fullmatch(chars.blanks.sub("", text)) is not None


def _read_lax(text: str, steps: dict[str, None]) -> Any:
    """JSON with raw control characters in its strings. A drive and one backslash are left to the grammar."""
    value = read(text, control_characters=True)
    if isinstance(value, dict):
        if drive_in_text.search(text):
            raise json.JSONDecodeError("a Windows path", text, 0)
        steps["raw control characters"] = None
    return value


def _unwrap(inner: str, finish: Finish, complete: bool, steps: dict[str, None], level: int) -> dict[str, Any]:
    if level == MAX_LEVELS:
        raise Refusal(f"the arguments are encoded more than {MAX_LEVELS} times")
    if not _is_nothing(inner) and not _LIKE_AN_OBJECT.match(inner):
        raise Refusal("the arguments are a text, not an object")
    steps["double-encoded"] = None
    try:
        value = read(inner)
    except json.JSONDecodeError:
        return _mend(inner, finish, complete, steps, level + 1)
    if isinstance(value, dict):
        return value
    return _mend(inner, finish, complete, steps, level + 1)


def _unescaped(text: str) -> str | None:
    r"""One level of escaping taken off `{\"a\": \"b\"}`: of the whole text, or else of its quotes alone."""
    if not _ESCAPED_BRACE.match(text):
        return None
    body = text.strip()
    if body.startswith('"'):
        body = body[1:]
    try:
        whole, end = scan_string(f'{body}"', 0)
    except json.JSONDecodeError:
        whole, end = "", -1
    if end == len(body) + 1:
        return whole
    quotes_only = body.replace('\\"', '"')
    try:
        read(quotes_only, control_characters=True)
    except json.JSONDecodeError:
        return None
    return quotes_only


def _without_braces(text: str, finish: Finish) -> dict[str, Any] | None:
    """`"a": 1, "b": 2`: pairs whose braces, or whose first brace, were lost."""
    if finish is Finish.CUT or not _BRACELESS.match(text):
        return None
    for candidate in ("{" + text + "}", "{" + text):
        try:
            value = read(candidate, control_characters=True)
        except json.JSONDecodeError:
            continue
        if isinstance(value, dict):
            return value
    return None
