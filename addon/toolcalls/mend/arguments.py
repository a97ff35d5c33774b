"""Tool arguments: text that should be a JSON object → the object that the model meant, or a refusal.

Stages, cheapest first: strict (valid text is returned unchanged), lax (raw control characters and trailing commas,
at C speed), tolerant (see grammar.py and document.py), and the unwrapping of text that was encoded twice. A repair
is made only if the text has one s.
"""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass
from typing import Any, Final, Literal

from ..reasons import LIST_INPUT, MISSING_BRACES, NO_ARGUMENTS, Refusal, cut_inside
from ..tools.check import View
from . import lexer as chars
from .document import LABEL, MOST, behind, in_front, read_document
from .escapes import UNCLEAR_PATH, may_have_path
from .finish import Finish
from .source import Source
from .strict import read, scan_string, write

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
        value = _strict(text)
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
        return Mended("refused", None, None, reason="the arguments are nested too deeply")


def _strict(text: str, *, lax: bool = False) -> Any:
    """The value of strict JSON, or the error that says where the text stops being JSON."""
    try:
        return read(text, lax=lax)
    except json.JSONDecodeError as error:
        # The error is returned as a value; the frames of its traceback would keep the callers and their bytes alive.
        error.__traceback__ = error.__context__ = None
        return error


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
            return _tolerant(s, value)
    kind = next((words for words, types in _KINDS.items() if isinstance(value, types)), "null")
    raise Refusal(f"the arguments are {kind}, not an object")


def _tolerant(s: Source, error: json.JSONDecodeError) -> dict[str, Any]:
    """The object in a text that is no JSON, by the first repair that fits."""
    listed = _only_item(s)
    if listed is not None:
        return listed
    encoded = _encoded_inside(s)
    if encoded is None:
        encoded = _unescaped(s)
    if encoded is not None:
        return _unwrap(s, encoded)
    pairs = _without_braces(s)
    if pairs is not None:
        s.step(MISSING_BRACES)
        return pairs
    entity = _ENTITY_QUOTED.match(s.text)
    if entity and html.unescape(entity[1]) not in s.text and not _TYPOGRAPHIC.search(s.text):
        # Only an entity with its semicolon counts: `?a=1&copy=2` has none.
        s.text = _ENTITY.sub(lambda entity: html.unescape(entity[0]), s.text)
        s.step("HTML entities")
    s.tried = error.msg != "Extra data"
    return read_document(s)


_KINDS: Final[dict[str, Any]] = {"a boolean": bool, "a number": (int, float), "a list": list}
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|\w{2,32});")
_NO_ARGUMENTS = re.compile(r"(?:null|None|\"\"|''|```[A-Za-z0-9]*\s*```)?")
_TRAILING_COMMA_HERE = re.compile(r",?\s*+[}\]]")
# Matches either the text up to the next trailing comma, which is kept, or that comma, so nothing is read twice.
_TRAILING_COMMA = re.compile(r"((?>[^\",]++|\"[^\"\\]*+(?>\\[\s\S][^\"\\]*+)*+\"|,(?!\s*+[}\]]))++|\")|,")
_LONELY_COMMA = re.compile(r"[{\[,:]\s*+,\s*+[}\]]")
_TYPOGRAPHIC = re.compile("[“”‘’]")
_ENTITY_QUOTED = re.compile(r"\s*\{\s*(&(?:quot|#34|#x22|apos|#39);)")
_LIKE_AN_OBJECT = re.compile(rf"[\s{chars.INVISIBLE}]*+(?:[{{｛\"'`]|\\\")")
_ESCAPED_BRACE = re.compile(r"\s*+(?:\"\s*+)?[{｛](?:\s|\\[nrt])*\\+\"")
_STRAY_QUOTE = re.compile(r"[}\s]\"\Z")
_ESCAPED_TEXT = re.compile(r"\\[^\"]")
_ESCAPED_TWICE = '\\\\\\"'
"""If the whole text was escaped: a quote inside a string. If only its quotes were: a backslash that ends a string."""
_BRACELESS = re.compile(r"\s*\"(?>[^\"\\]|\\.){0,200}+\"\s*:")


def _is_nothing(text: str) -> bool:
    return len(text) < 200 and _NO_ARGUMENTS.fullmatch(chars.blanks.sub("", text)) is not None


def _lax(s: Source, error: json.JSONDecodeError) -> Any:
    """Read JSON whose only faults are raw control characters in strings and trailing commas, at C speed.

    Returns an error if there are other faults. A Windows path with single backslashes is left to the grammar.
    """
    value: Any = error
    done: list[str] = []
    rewritten = text = s.text
    while isinstance(value, json.JSONDecodeError) and len(done) < 2:
        if _trailing_comma_at(rewritten, value.pos):
            done.append("trailing comma")
            rewritten = _TRAILING_COMMA.sub(r"\1", rewritten)
        elif value.msg.startswith("Invalid control character"):
            done.append("raw control characters")
        else:
            break
        value = _strict(rewritten, lax="raw control characters" in done)
    if not isinstance(value, dict):
        return value if rewritten is text else error
    if may_have_path(text):
        return error
    read(rewritten, lax=True)  # refuses two values of a key
    s.steps.update(dict.fromkeys(done))
    return value


def _check_paths(text: str) -> None:
    """Refuse a text whose escapes were decoded as JSON's if a Windows path in it may have some of them."""
    if may_have_path(text):
        raise Refusal(UNCLEAR_PATH)


def _trailing_comma_at(text: str, at: int) -> bool:
    return (
        len(text) <= MAX_REWRITTEN
        and _TRAILING_COMMA_HERE.match(text, at) is not None
        and _LONELY_COMMA.search(text) is None
    )


def _unwrap(s: Source, inner: str) -> dict[str, Any]:
    """The object in a text that was a string."""
    if s.level == MAX_LEVELS:
        raise Refusal(f"the arguments are encoded more than {MAX_LEVELS} times")
    if not _is_nothing(inner) and not _LIKE_AN_OBJECT.match(inner) and not _LIKE_A_LIST.match(inner):
        raise Refusal("the arguments are a text, not an object")
    s.step("double-encoded")
    s.level += 1
    return _object_in(s, inner)


def _object_in(s: Source, text: str) -> dict[str, Any]:
    """The object in a part of the arguments, mended if it is no JSON."""
    value = _strict(text)
    if isinstance(value, dict):
        _check_paths(text)
        return value
    s.text = text
    return _mend(s, value)


_LIKE_A_LIST = re.compile(r"\s*+\[\s*+\{")
_SEVERAL = frozenset({"repeated object", "empty object beside the real one"})


def _only_item(s: Source) -> dict[str, Any] | None:
    """The object that is alone in a list: GLM's endpoints put the arguments in one."""
    text = s.text.strip()
    item = text[1:-1].strip()
    if not _LIKE_A_LIST.match(text) or not text.endswith("]") or not item.endswith("}"):
        return None
    value = _object_in(s, item)
    if not s.steps.keys().isdisjoint(_SEVERAL):
        raise Refusal("the arguments are a list of several objects")
    s.step(LIST_INPUT)
    return value


def _encoded_inside(s: Source) -> str | None:
    """The content of a JSON string that holds an object, between a fence, markers or a label in front."""
    text = s.text
    start = text.find('"', 0, MOST)
    if start < 0:
        return None
    try:
        inner, end = scan_string(text, start + 1)
    except json.JSONDecodeError:
        return None
    if not _LIKE_AN_OBJECT.match(inner):
        return None
    front, rest = text[:start].strip(), text[end:].strip()
    before, after = _step_for(front, in_front(front)), _step_for(rest, behind(rest, ""))
    if before is None or after is None or after == LABEL:
        return None
    _check_paths(text)
    s.steps.update(dict.fromkeys(step for step in (before, after) if step))
    return inner


def _step_for(around: str, kind: str | None) -> str | None:
    """The step that drops this text around the arguments; empty if there is none, None if it may say something."""
    return "invisible characters" if around and chars.blanks.fullmatch(around) else around and kind


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
    if end == len(body) + 1:
        _check_paths(body)
        text = _once_or_twice(whole, quotes_only)
        if text is not whole and _ESCAPED_TWICE in body and not s.may_add_missing:
            raise Refusal("a quote inside a text may be the end of it, and the answer may have been cut off")
        return text
    value = _strict(quotes_only, lax=True)
    return quotes_only if isinstance(value, dict) or _ESCAPED_BRACE.match(quotes_only) else None


def _once_or_twice(whole: str, quotes_only: str) -> str:
    """Whichever of the two is JSON; `whole` if neither is, because it may be escaped a second time."""
    if whole == quotes_only or isinstance(_strict(whole), dict):
        return whole
    if isinstance(_strict(quotes_only), dict):
        return quotes_only
    if chars.control.search(whole) and _ESCAPED_TEXT.search(whole):
        raise Refusal("the arguments are escaped, partly once and partly twice")
    return whole


def _without_braces(s: Source) -> dict[str, Any] | None:
    """The object of pairs whose braces, or whose first brace, were lost: `"a": 1, "b": 2`."""
    text = s.text
    if not s.may_add_missing or not _BRACELESS.match(text):
        return None
    for end in ("}", ""):
        value = _strict("{" + text + end, lax=True)
        if isinstance(value, dict):
            if end and text[-1:].isalnum() and not s.complete:
                # More of the number or word may be missing.
                raise cut_inside(None, len(text))
            _check_paths(text)
            return value
    return None
