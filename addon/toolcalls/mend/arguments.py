"""Tool arguments: text that should be a JSON object → the object that the model meant, or a refusal.

Stages, cheapest first: strict (valid text is returned unchanged), lax (raw control characters and trailing commas,
at C speed), tolerant (see grammar.py and document.py), and the unwrapping of text that was encoded twice. A repair
is made only if the text has one reading. This module knows neither tools nor schemas nor the wire.
"""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass
from typing import Any, Literal

from ..work import COMMA, MENDING, Work
from .finish import Finish
from .reading import characters as chars
from .reading.document import read_document
from .reading.escapes import UNCLEAR_PATH, may_have_path
from .reading.source import MAX_WORK, Source
from .reading.strict import kind, read, scan_string, write
from .reading.surroundings import LABEL, MOST, behind, in_front
from .refusal import Refusal
from .steps import LIST_INPUT, MISSING_BRACES

__all__ = ["Finish", "Mended", "mend_arguments"]

MAX_LEVELS = 3
_PER_STEP = 64
"""Characters of broken text that cost one step, in addition to the work of the grammar."""
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
    text: str, finish: Finish = Finish.UNKNOWN, *, complete_truncated: bool = False, work: Work | None = None
) -> Mended:
    """Read the arguments of a call, and mend them if they are broken.

    `finish`: why the model stopped. `complete_truncated`: close arguments that were cut off. Raises nothing but
    `TooMuchWork`, and that only if `work` sets a limit.
    """
    steps: dict[str, None] = {}
    options = ReadOptions(finish, complete_truncated, work or Work())
    try:
        if work is not None:
            work.read_json(text)
        value = _strict(text)
        if type(value) is dict:
            return Mended("valid", text, value)
        if work is not None:
            work.spend(len(text) // _PER_STEP)
        value = _mend(text, value, options, steps, level=0)
        return Mended("repaired", write(value), value, tuple(steps))
    except Refusal as refusal:
        # The traceback's frames refer to the refusal, the answer and the flow: a cycle that keeps their bytes alive.
        refusal.__traceback__ = refusal.__context__ = None
        return Mended("refused", None, None, reason=refusal.reason)
    except RecursionError:
        return Mended("refused", None, None, reason="the arguments are nested too deeply")


@dataclass(slots=True, frozen=True)
class ReadOptions:
    finish: Finish
    complete: bool
    work: Work

    @property
    def may_add_missing(self) -> bool:
        """Whether something missing may be added: the answer is complete, or the user wants it closed."""
        return self.complete or self.finish is Finish.COMPLETE


def _strict(text: str, *, control_characters: bool = False) -> Any:
    """The value of strict JSON, or the error that says where the text stops being JSON."""
    try:
        return read(text, control_characters=control_characters)
    except json.JSONDecodeError as error:
        # The error is returned as a value; the frames of its traceback would keep the callers and their bytes alive.
        error.__traceback__ = error.__context__ = None
        return error


def _mend(text: str, value: Any, options: ReadOptions, steps: dict[str, None], level: int) -> dict[str, Any]:
    """The object that a text means although it is no strict object. `value`: its strict value, or the error."""
    if _is_nothing(text):
        if not options.may_add_missing:
            raise Refusal("there are no arguments, and the answer may have been cut off before them")
        steps["no arguments"] = None
        return {}
    if isinstance(value, json.JSONDecodeError):
        value = _lax(text, value, options, steps)
    match value:
        case dict():
            return value
        case [dict() as only]:
            steps[LIST_INPUT] = None
            return only
        case str():
            _check_paths(text)
            return _unwrap(value, options, steps, level)
        case json.JSONDecodeError():
            return _tolerant(text, value, options, steps, level)
    raise Refusal(f"the arguments are {kind(value)}, not an object")


def _tolerant(
    text: str, error: json.JSONDecodeError, options: ReadOptions, steps: dict[str, None], level: int
) -> dict[str, Any]:
    """The object in a text that is no JSON, by the first repair that fits."""
    listed = _only_item(text)
    if listed is not None:
        return _mend_item(listed, options, steps, level)
    encoded = _encoded_inside(text, steps)
    if encoded is not None:
        return _unwrap(encoded, options, steps, level)
    unescaped = _unescaped(text, options)
    if unescaped is not None:
        return _unwrap(unescaped, options, steps, level)
    pairs = _without_braces(text, options)
    if pairs is not None:
        steps[MISSING_BRACES] = None
        return pairs
    entity = _ENTITY_QUOTED.match(text)
    if entity and html.unescape(entity[1]) not in text and not _TYPOGRAPHIC.search(text):
        # Only an entity with its semicolon counts: `?a=1&copy=2` has none.
        text = _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)
        steps["HTML entities"] = None
    source = Source(text, options.finish, options.complete)
    source.steps = steps
    source.tried = error.msg != "Extra data"
    try:
        return read_document(source)
    finally:
        options.work.spend(MENDING * (MAX_WORK - max(source.work, 0)))


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


def _lax(text: str, error: json.JSONDecodeError, options: ReadOptions, steps: dict[str, None]) -> Any:
    """Read JSON whose only faults are raw control characters in strings and trailing commas, at C speed.

    Returns an error if there are other faults. A Windows path with single backslashes is left to the grammar.
    """
    value: Any = error
    done: list[str] = []
    rewritten = text
    for _ in range(2):
        if not isinstance(value, json.JSONDecodeError):
            break
        if _trailing_comma_at(rewritten, value.pos):
            done.append("trailing comma")
            options.work.spend(COMMA * text.count(","))
            rewritten = _TRAILING_COMMA.sub(r"\1", rewritten)
        elif value.msg.startswith("Invalid control character"):
            done.append("raw control characters")
        else:
            break
        value = _strict(rewritten, control_characters="raw control characters" in done)
    if not isinstance(value, dict):
        return value if rewritten is text else error
    if may_have_path(text):
        return error
    json.loads(rewritten, strict=False, parse_int=str, parse_float=str, object_pairs_hook=_with_one_value_each)
    steps.update(dict.fromkeys(done))
    return value


def _check_paths(text: str) -> None:
    """Refuse a text whose escapes were decoded as JSON's if a Windows path in it may have some of them."""
    if may_have_path(text):
        raise Refusal(UNCLEAR_PATH)


def _with_one_value_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these pairs; refuses a key with two values."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found and found[key] != value:
            raise Refusal(f"`{key[:60]}` has two values")
        found[key] = value
    return found


def _trailing_comma_at(text: str, at: int) -> bool:
    return (
        len(text) <= MAX_REWRITTEN
        and _TRAILING_COMMA_HERE.match(text, at) is not None
        and _LONELY_COMMA.search(text) is None
    )


def _unwrap(inner: str, options: ReadOptions, steps: dict[str, None], level: int) -> dict[str, Any]:
    if level == MAX_LEVELS:
        raise Refusal(f"the arguments are encoded more than {MAX_LEVELS} times")
    if not _is_nothing(inner) and not _LIKE_AN_OBJECT.match(inner) and not _LIKE_A_LIST.match(inner):
        raise Refusal("the arguments are a text, not an object")
    steps["double-encoded"] = None
    value = _strict(inner)
    if isinstance(value, dict):
        _check_paths(inner)
        return value
    return _mend(inner, value, options, steps, level + 1)


_LIKE_A_LIST = re.compile(r"\s*+\[\s*+\{")
_SEVERAL = frozenset({"repeated object", "empty object beside the real one"})


def _only_item(text: str) -> str | None:
    """The content of a list that begins and ends with an object: GLM's endpoints put the arguments in a list."""
    text = text.strip()
    if not _LIKE_A_LIST.match(text) or not text.endswith("]"):
        return None
    item = text[1:-1].strip()
    return item if item.endswith("}") else None


def _mend_item(item: str, options: ReadOptions, steps: dict[str, None], level: int) -> dict[str, Any]:
    value = _strict(item)
    if isinstance(value, dict):
        _check_paths(item)
    value = _mend(item, value, options, steps, level)
    if not steps.keys().isdisjoint(_SEVERAL):
        raise Refusal("the arguments are a list of several objects")
    steps[LIST_INPUT] = None
    return value


def _encoded_inside(text: str, steps: dict[str, None]) -> str | None:
    """The content of a JSON string that holds an object, between a fence, markers or a label in front."""
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
    steps.update(dict.fromkeys(step for step in (before, after) if step))
    return inner


def _step_for(around: str, kind: str | None) -> str | None:
    """The step that drops this text around the arguments; empty if there is none, None if it may say something."""
    return "invisible characters" if around and chars.blanks.fullmatch(around) else around and kind


def _unescaped(text: str, options: ReadOptions) -> str | None:
    r"""Remove one level of escaping from `{\"a\": \"b\"}`: from the whole text, or else from its quotes only."""
    if not _ESCAPED_BRACE.match(text):
        return None
    body = text.strip()
    if body.startswith('"'):
        if not options.may_add_missing:
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
        if text is not whole and _ESCAPED_TWICE in body and not options.may_add_missing:
            raise Refusal("a quote inside a text may be the end of it, and the answer may have been cut off")
        return text
    value = _strict(quotes_only, control_characters=True)
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


def _without_braces(text: str, options: ReadOptions) -> dict[str, Any] | None:
    """The object of pairs whose braces, or whose first brace, were lost: `"a": 1, "b": 2`."""
    if not options.may_add_missing or not _BRACELESS.match(text):
        return None
    for candidate in ("{" + text + "}", "{" + text):
        try:
            value = read(candidate, control_characters=True)
        except json.JSONDecodeError:
            continue
        if isinstance(value, dict):
            _check_paths(text)
            return value
    return None
