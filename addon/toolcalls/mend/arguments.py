"""Tool arguments: text that should be a JSON object → the object that the model meant, or a refusal.

Stages, cheapest first: strict (valid text is returned unchanged), lax (raw control characters, at C speed), tolerant
(see grammar.py and document.py), and the unwrapping of text that was encoded twice. A repair is made only if the text
has one reading.
"""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass
from typing import Any, Final, Literal

from ..reasons import LIST_INPUT, NO_ARGUMENTS, Refusal
from ..tools.check import View
from . import lexer as chars
from .document import read_document
from .finish import Finish
from .source import Source
from .strict import TOO_DEEP, parsed, scan_string, write
from .strings import UNCLEAR_PATH, may_have_path

__all__ = ["Finish", "Mended", "mend_arguments"]

MAX_LEVELS = 3
# Removing trailing commas by pattern costs about 80 µs per KB of small items; longer text is left to the
# grammar, which is as fast on long strings and refuses text with too many parts.
MAX_REWRITTEN = 128 * 1024

Status = Literal["valid", "repaired", "refused"]


@dataclass(slots=True, frozen=True)
class Mended:
    status: Status
    text: str | None
    value: dict[str, Any] | None
    steps: tuple[str, ...] = ()
    reason: str = ""


def mend_arguments(
    text: str,
    finish: Finish = Finish.UNKNOWN,
    *,
    complete_truncated: bool = False,
    view: View | None = None,
) -> Mended:
    """Read the arguments of a call, and mend them if they are broken.

    `finish`: why the model stopped. `complete_truncated`: close arguments that were cut off. `view`: what the schema
    of the tool says, which can prove a missing quote. Raises nothing.
    """
    try:
        value = parsed(text)
        if type(value) is dict:
            return Mended("valid", text, value)
        source = Source(text, finish, complete_truncated, view)
        value = _mend(source, value)
        return Mended("repaired", write(value), value, tuple(source.steps))
    except Refusal as refusal:
        # The traceback's frames refer to the refusal, the answer and the flow: a cycle that keeps their bytes alive.
        refusal.__traceback__ = refusal.__context__ = None
        return Mended("refused", None, None, reason=refusal.reason)
    except RecursionError:
        return Mended("refused", None, None, reason=TOO_DEEP)


_KINDS: Final[dict[str, Any]] = {"a boolean": bool, "a number": (int, float), "a list": list}
_NO_ARGUMENTS = re.compile(r"(?:null|None|\"\"|''|```[A-Za-z0-9]*\s*```)?")
_TRAILING_COMMA_HERE = re.compile(r",?\s*+[}\]]")
# Matches either the text up to the next trailing comma, which is kept, or that comma, so nothing is read twice.
_TRAILING_COMMA = re.compile(r"((?>[^\",]++|\"[^\"\\]*+(?>\\[\s\S][^\"\\]*+)*+\"|,(?!\s*+[}\]]))++|\")|,")
_LONELY_COMMA = re.compile(r"[{\[,:]\s*+,\s*+[}\]]")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|\w{2,32});")
"""Only with its semicolon: `?a=1&copy=2` has none."""
_ENTITY_QUOTED = re.compile(r"\s*\{\s*(&(?:quot|#34|#x22|apos|#39);)")
_TYPOGRAPHIC = re.compile("[“”‘’]")
_LIKE_AN_OBJECT = re.compile(rf"[\s{chars.INVISIBLE}]*+(?:\[\s*+\{{|[{{｛\"'`]|\\\")")
_ESCAPED_BRACE = re.compile(r"\s*+(?:\"\s*+)?[{｛](?:\s|\\[nrt])*\\+\"")
_STRAY_QUOTE = re.compile(r"[}\s]\"\Z")
_ESCAPED_TEXT = re.compile(r"\\[^\"]")
_ESCAPED_TWICE = '\\\\\\"'
"""If the whole text was escaped: a quote inside a string. If only its quotes were: a backslash that ends a string."""


def _is_nothing(text: str) -> bool:
    return len(text) < 200 and _NO_ARGUMENTS.fullmatch(chars.blanks.sub("", text)) is not None


def _mend(s: Source, value: Any) -> dict[str, Any]:
    """The object that a text means although it is no strict object. `value`: its strict value, or the error."""
    if _is_nothing(s.text):
        if not s.may_add_missing:
            raise Refusal("there are no arguments, and the answer may have been cut off before them")
        s.step(NO_ARGUMENTS)
        return {}
    if isinstance(value, json.JSONDecodeError):
        value = _lax(s, value)
    match value:
        case dict():
            return value
        case [dict() as only]:
            s.step(LIST_INPUT)
            return only
        case str():
            _check_paths(s.text)
            return _unwrap(s, value)
        case json.JSONDecodeError():
            encoded = _unescaped(s)
            if encoded is not None:
                return _unwrap(s, encoded)
            entity = _ENTITY_QUOTED.match(s.text)
            if entity and html.unescape(entity[1]) not in s.text and not _TYPOGRAPHIC.search(s.text):
                s.text = _ENTITY.sub(lambda entity: html.unescape(entity[0]), s.text)
                s.step("HTML entities")
            return read_document(s)
    kind = next((words for words, types in _KINDS.items() if isinstance(value, types)), "null")
    raise Refusal(f"the arguments are {kind}, not an object")


def _lax(s: Source, error: json.JSONDecodeError) -> Any:
    """Read JSON whose only faults are raw control characters in strings and trailing commas, at C speed.

    Returns an error if there are other faults. A Windows path with single backslashes is left to the grammar.
    """
    text = s.text
    value = parsed(text, lax=True)
    at_comma = isinstance(value, json.JSONDecodeError) and _TRAILING_COMMA_HERE.match(text, value.pos) is not None
    if at_comma and len(text) <= MAX_REWRITTEN and not _LONELY_COMMA.search(text):
        text = _TRAILING_COMMA.sub(r"\1", text)
        value = parsed(text, lax=True)
    if not isinstance(value, dict | list):
        return value if text is s.text else error
    if may_have_path(text):
        return error
    if isinstance(parsed(text), json.JSONDecodeError):
        s.step("raw control characters")
    if text is not s.text:
        s.step("trailing comma")
    return value


def _check_paths(text: str) -> None:
    """Refuse a text whose escapes were decoded as JSON's if a Windows path in it may have some of them."""
    if may_have_path(text):
        raise Refusal(UNCLEAR_PATH)


def _unwrap(s: Source, inner: str) -> dict[str, Any]:
    """The object in a text that was a string."""
    if s.level == MAX_LEVELS:
        raise Refusal(f"the arguments are encoded more than {MAX_LEVELS} times")
    if not _is_nothing(inner) and not _LIKE_AN_OBJECT.match(inner):
        raise Refusal("the arguments are a text, not an object")
    s.step("double-encoded")
    s.level += 1
    value = parsed(inner)
    if isinstance(value, dict):
        _check_paths(inner)
        return value
    s.text = inner
    return _mend(s, value)


def _unescaped(s: Source) -> str | None:
    r"""Remove one level of escaping from `{\"a\": \"b\"}`: from the whole text, or else from its quotes only."""
    if not _ESCAPED_BRACE.match(s.text):
        return None
    body = s.text.strip()
    if body.startswith('"'):
        if not s.may_add_missing:
            raise Refusal("the quote behind the arguments is missing, and the answer may have been cut off")
        body = body[1:]
    elif _STRAY_QUOTE.search(body):
        body = body[:-1]
    try:
        whole, end = scan_string(f'{body}"', 0)
    except json.JSONDecodeError:
        whole, end = "", -1
    quotes_only = body.replace('\\"', '"')
    if end != len(body) + 1:
        fits = isinstance(parsed(quotes_only, lax=True), dict) or _ESCAPED_BRACE.match(quotes_only)
        return quotes_only if fits else None
    _check_paths(body)
    if whole == quotes_only or isinstance(parsed(whole), dict):
        return whole
    if isinstance(parsed(quotes_only), dict):
        if _ESCAPED_TWICE in body and not s.may_add_missing:
            raise Refusal("a quote inside a text may be the end of it, and the answer may have been cut off")
        return quotes_only
    if chars.control.search(whole) and _ESCAPED_TEXT.search(whole):
        raise Refusal("the arguments are escaped, partly once and partly twice")
    return whole  # It may be escaped a second time.
