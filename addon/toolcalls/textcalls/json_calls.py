"""Calls in JSON: `{"name": …, "arguments": {…}}` and its relatives, or arguments alone behind a name in the markup.

Where a value ends is asked of the standard library's parser first. Broken JSON is only followed: a quote inside a
string ends it only if `,`, `:`, `}`, `]`, the end of the call or of the text follows. Nothing is mended here.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..mend import strict
from ..mend.lexer import end_of, next_quote
from ..mend.names import tool_that_fits
from ..reasons import Refusal
from .known import CutOff, ReadCall, WrittenTools, accepts
from .literals import decode_string as decode_python

if TYPE_CHECKING:
    from .formats import Row

NAME_KEYS = ("name", "tool_name", "function_name", "function", "tool", "recipient_name")
ARGUMENT_KEYS = ("arguments", "parameters", "args", "input", "params", "tool_input", "tool_args", "kwargs")
INNER_KEYS = ("function", "function_call", "tool_call", "call")
LIST_KEY = "tool_calls"
OTHER_KEYS = ("id", "type", "tool_call_id", "call_id", "index", "role", "namespace")
_OF_A_CALL = frozenset((*NAME_KEYS, *ARGUMENT_KEYS, *OTHER_KEYS))
TYPES = ("", "function", "function_call", "tool", "tool_call", "tool_use", "custom", "mcp")
_ITS_WORDS = {"type": TYPES, "role": ("", "assistant", "model")}
_QUOTES = "\"'"
_STRUCTURE = re.compile(r"[\"'{}\[\]<`]")
_SPACE = re.compile(r"\s*+")
_BETWEEN, _COLON = re.compile(r"[\s,;]*+"), re.compile(r"\s*+:\s*+")
_BARE = re.compile(r"[^,}\]\s]*+")
_KEY = re.compile(r"""[^\s:,{}\[\]"']++""")
_NEXT = re.compile(r"\s*+[;,]?\s*+(?=\{|\[\s*[{\[])")
_SURPLUS = re.compile(r"\s*+[}\]]{1,4}+")
_FENCE, _FENCE_END = re.compile(r"\s*+(?:```\w*+\s*+)?"), re.compile(r"(?:\s*+```)?")
_NO_STOP = re.compile(r"(?!)")
_decode = json.JSONDecoder(strict=False).raw_decode


def read_json(row: Row, head: re.Match[str], known: WrittenTools, final: bool) -> tuple[list[ReadCall], int] | None:
    """The calls behind a head: arguments, if the head named the tool; else objects or lists of them."""
    text, at, written = head.string, head.end(), head.groupdict().get("name")
    named = known.resolve(written) if written is not None else None
    if written is not None and named is None and not written.strip(": ").isdigit():
        return None
    calls: list[ReadCall] = []
    found: list[tuple[str, str]] | None
    while True:
        begin, at = at, end_of(_FENCE if written is None and "`" not in row.end else _SPACE, text, at)
        if written is not None and row.closer.match(text, at):
            found, end = [(written, "{}")], at
        else:
            outer = written is None and known.closers_may_be_missing and not (row.weak or row.keyed)
            end = value_end(text, at, row.shut, final=final, outer=outer) or at
            if written is None:
                found = (keyed_calls_of if row.keyed else calls_of)(text[at:end])
            else:
                arguments = object_of(text[at:end])
                found = [(written, arguments)] if arguments is not None and end > at else None
        if not found:
            return None
        for name, arguments in found:
            keys = keys_of(arguments)
            tool = known.resolve(name) if written is None else named or tool_that_fits(keys, known.tools)
            no_tool = tool is None and (row.weak or written is not None)
            if keys is None or no_tool or not accepts(tool, keys, weak=row.weak):
                return None
            calls.append((tool, arguments))
        if row.fenced or "`" in text[begin:at]:
            end = end_of(_FENCE_END, text, end)
        surplus = _SURPLUS.match(text, end) if written is None else None
        at = surplus.end() if surplus and row.closer.match(text, surplus.end()) else end
        again = _NEXT.match(text, at) if written is None else None
        if again is None:
            behind = row.end_at(text, at, final)
            return None if behind is None else (calls, behind)
        at = again.end()


# What an object says.


def keyed_calls_of(text: str) -> list[tuple[str, str]] | None:
    """The calls of objects whose keys are the names of tools: `[{"f": {…}}]`."""
    members = [members_of(entry) if entry[:1] == "{" else None for entry in entries(text)]
    found = [(name, object_of(value)) for each in members for name, value in (each or {}).items()]
    calls = [(name, arguments) for name, arguments in found if arguments is not None]
    return calls if all(members) and len(calls) == len(found) else None


def calls_of(text: str) -> list[tuple[str, str]] | None:
    """The names and arguments of an object or a list of objects; None if one of them is not a call."""
    if text[:1] in _QUOTES:
        text = decode_string(text).strip()
    if text[:1] == "{":
        call = call_of(text)
        members = (members_of(text) or {}) if call is None else {}
        if list(members) != [LIST_KEY]:
            return None if call is None else [call]
        text = members[LIST_KEY]
    calls = [call_of(part) for part in entries(text)]
    found = [call for call in calls if call is not None]
    return found if found and len(found) == len(calls) else None


def call_of(text: str, depth: int = 0) -> tuple[str, str] | None:
    """The name and the arguments of a call written as an object; None if it is not a call."""
    found = members_of(text) if text[:1] == "{" and depth <= 2 else None
    if found is None:
        return None
    written = [found[key] for key in ARGUMENT_KEYS if key in found]
    for key in INNER_KEYS:
        if found.get(key, "")[:1] == "{" and not any(k in found for k in ("name", "tool_name")):
            return None if written else call_of(found[key], depth + 1)
    if not found.keys() <= _OF_A_CALL:
        return None  # `"execute": false` beside a call may mean that it must not run
    for key, words in _ITS_WORDS.items():
        if key in found and decode_string(found[key]).strip().lower() not in words:
            return None
    named = [key for key in NAME_KEYS if found.get(key, "")[:1] in ("'", '"') and found.get(key)]
    names = {decode_string(found[key]) for key in named}
    if len(names) != 1:
        return None
    if not written:
        bare = all(key in named or key in OTHER_KEYS for key in found)
        return (names.pop(), "{}") if bare else None
    arguments = object_of(written[0])
    if arguments is None or any(object_of(other) != arguments for other in written[1:]):
        return None
    return names.pop(), arguments


def object_of(value: str) -> str | None:
    """The text of an object, decoded if it is in a string; `{}` for null and empty text, None for anything else."""
    value = value.strip()
    for _ in range(2):
        if value[:1] not in ("'", '"'):
            break
        value = decode_string(value).strip()
    if value in ("", "null", "None"):
        return "{}"
    return value if value[:1] == "{" else None


def keys_of(arguments: str) -> dict[str, Any] | None:
    """The members of arguments; None if a name has two values, further inside too."""
    try:
        value = strict.read(arguments, lax=True)
    except Refusal:
        return None
    except ValueError:
        return members_of(arguments, whole=False)
    return value if isinstance(value, dict) else {}


# Where a value ends.


def value_end(text: str, at: int, stop: re.Pattern[str] = _NO_STOP, *, final: bool, outer: bool) -> int | None:
    """The index behind the value that begins at `at`; None if none begins there, or if a string has swallowed the
    end of its call. A `stop` outside any string ends a value with unclosed brackets.

    `outer`: the value is the envelope of a call, whose own brackets may be missing at the end of the answer.
    """
    if at >= len(text):
        raise CutOff
    if text[at] not in "{[\"'":
        return None
    try:
        return _decode(text, at)[1]
    except (ValueError, RecursionError):
        pass
    end = _followed(text, at, stop, final, outer)
    return None if stop.search(text, at, end) else end


def _followed(text: str, at: int, stop: re.Pattern[str], final: bool, outer: bool) -> int:
    begin, depth, last = at, 0, ""
    while (match := _STRUCTURE.search(text, at)) is not None:
        char, at = match[0], match.start()
        if char in "<[`" and depth and stop.match(text, at):
            return at
        if char in _QUOTES:
            at = _string_end(text, at, stop, final)
            if not depth:
                return at
            continue
        at += 1
        if char in "{[":
            depth += 1
        elif char in "}]":
            depth, last = depth - 1, char
            if depth <= 0:
                return at
    rest = text.rstrip()
    if outer and final and rest[-1:] in "}]" and depth <= 1 + (text[begin] == "[") and last:
        return len(rest)
    raise CutOff


def _string_end(text: str, at: int, stop: re.Pattern[str], final: bool) -> int:
    quote = text[at]
    while (at := next_quote(text, at + 1, quote)) >= 0:
        behind = end_of(_SPACE, text, at + 1)
        if behind == len(text) and not final:
            break
        if behind == len(text) or text[behind] in ",:}]" or stop.match(text, behind):
            return at + 1
    raise CutOff


def members_of(text: str, *, whole: bool = True) -> dict[str, str] | None:
    """The members of an object, each with its text; None if a name has two values, or if one cannot be read.

    Not `whole`: what stands behind a fault is left out.
    """
    found: dict[str, str] = {}
    at = end_of(_BETWEEN, text, 1)
    while at < len(text) and text[at] != "}":
        end = _member_end(text, at) if text[at] in _QUOTES else end_of(_KEY, text, at)
        colon = _COLON.match(text, end)
        if colon is None or end == at:
            return None if whole else found
        key = decode_string(text[at:end]) if text[at] in _QUOTES else text[at:end]
        end = _member_end(text, colon.end())
        value = text[colon.end() : end].strip()
        if found.setdefault(key, value) != value:
            return None
        at = end_of(_BETWEEN, text, end)
    return found


def entries(text: str) -> list[str]:
    """The texts of the elements of an array; of anything else, the text itself."""
    if text[:1] != "[":
        return [text]
    found: list[str] = []
    at = end_of(_BETWEEN, text, 1)
    while at < len(text) and text[at] != "]" and (end := _member_end(text, at)) > at:
        found.append(text[at:end])
        at = end_of(_BETWEEN, text, end)
    return found


def _member_end(text: str, at: int) -> int:
    try:
        end = value_end(text, at, final=True, outer=False)
    except CutOff:
        return len(text)
    return end_of(_BARE, text, at) if end is None else end


def decode_string(text: str) -> str:
    """The value of a quoted string; if it cannot be decoded, the text between its quotes."""
    with suppress(ValueError, RecursionError):
        value = decode_python(text) if text[:1] == "'" else json.loads(text, strict=False)
        if isinstance(value, str):
            return value
    return text[1:-1] if len(text) > 1 and text[-1] == text[0] else text[1:]
