"""Calls in JSON: `{"name": …, "arguments": {…}}` and its relatives, or arguments alone behind a name in the markup.

Where a value ends is asked of the standard library's parser first. Broken JSON is only followed: a quote inside a
string ends it only if `,`, `:`, `}`, `]`, the end of the call or of the text follows. Nothing is mended here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from .known import Call, CutOff, Known
from .python_calls import decode_string as decode_python

if TYPE_CHECKING:
    from .formats import Row

NAME_KEYS = ("name", "tool_name", "function_name", "function", "tool", "recipient_name")
ARGUMENT_KEYS = ("arguments", "parameters", "args", "input", "params", "tool_input", "tool_args", "kwargs")
INNER_KEYS = ("function", "function_call", "tool_call", "call")
LIST_KEY = "tool_calls"
OTHER_KEYS = ("id", "type", "tool_call_id", "call_id", "index", "role", "namespace")
_OF_A_CALL = frozenset((*NAME_KEYS, *ARGUMENT_KEYS, *OTHER_KEYS))
TYPES = ("", "function", "function_call", "tool", "tool_call", "tool_use", "custom", "mcp")
_QUOTES = "\"'"
_STRUCTURE = re.compile(r"[\"'{}\[\]<`]")
_INSIDE = {mark: re.compile(rf"[^{mark}\\]*+(?>\\.[^{mark}\\]*+)*+", re.DOTALL) for mark in _QUOTES}
"""A string up to its next quote, or up to a backslash with nothing after it."""
_SPACE = re.compile(r"\s*+")
_BARE = re.compile(r"[^,}\]\s]*+")
_KEY = re.compile(r"""[^\s:,{}\[\]"']++""")
_NEXT = re.compile(r"\s*+[;,]?\s*+(?=\{|\[\s*[{\[])")
_SURPLUS = re.compile(r"\s*+[}\]]{1,4}+")
_FENCE = re.compile(r"\s*+(?:```\w*+\s*+)?")
_NO_STOP = re.compile(r"(?!)")
_decode = json.JSONDecoder(strict=False).raw_decode


def read_json(row: Row, head: re.Match[str], known: Known, final: bool) -> tuple[list[Call], int] | None:
    """The calls behind a head: arguments, if the head named the tool; else objects or lists of them."""
    text, at = head.string, head.end()
    written = head.groupdict().get("name")
    if written is not None:
        return _read_arguments(row, text, at, written, known, final)
    calls: list[Call] = []
    while True:
        fence = _FENCE.match(text, at) if "`" not in row.end else None
        at = fence.end() if fence else at
        end = value_end(text, at, row.closer, final=final, outer=known.forgives and not (row.weak or row.keyed))
        found = (keyed_calls_of if row.keyed else calls_of)(text[at:end]) if end is not None else None
        if end is None or found is None:
            return None
        for name, arguments in found:
            call = known.strict(name) if row.weak else known.resolve(name)
            keys = keys_of(arguments)
            if keys is None or (row.weak and call is None) or not known.takes(call, keys, weak=row.weak):
                return None
            calls.append((call, arguments))
        if fence and fence[0].strip():
            end = _over(text, end, "```")
        surplus = _SURPLUS.match(text, end)
        at = surplus.end() if surplus and row.closer.match(text, surplus.end()) else end
        again = _NEXT.match(text, at)
        if again is None:
            break
        at = again.end()
    return _ended(row, text, at, calls, final)


def _read_arguments(
    row: Row, text: str, at: int, written: str, known: Known, final: bool
) -> tuple[list[Call], int] | None:
    at = skip_space(text, at)
    name = known.strict(written) if row.weak else known.resolve(written)
    if name is None and not written.strip(": ").isdigit():
        return None
    if row.closer.match(text, at):
        return _ended(row, text, at, [(name, "{}")], final)
    end = value_end(text, at, row.closer, final=final, outer=False)
    arguments = object_of(text[at:end]) if end is not None else None
    if end is None or arguments is None:
        return None
    name = name or known.by_arguments(arguments)
    keys = keys_of(arguments)
    if name is None or keys is None or not known.takes(name, keys, weak=row.weak):
        return None
    return _ended(row, text, _over(text, end, "```") if row.fenced else end, [(name, arguments)], final)


def _ended(row: Row, text: str, at: int, calls: list[Call], final: bool) -> tuple[list[Call], int] | None:
    """The calls, and where they end: behind the closer, which may be missing at the end or before a token."""
    end = row.end_at(text, at, final)
    return None if end is None else (calls, end)


def _over(text: str, at: int, mark: str) -> int:
    behind = skip_space(text, at)
    return behind + len(mark) if text.startswith(mark, behind) else at


# What an object says.


def calls_of(text: str) -> list[tuple[str, str]] | None:
    """The names and arguments of an object or a list of objects; None if one of them is not a call."""
    if text[:1] in _QUOTES:
        text = decode_string(text).strip()
    if text[:1] == "{":
        members = members_of(text)
        if members is None or list(members) != [LIST_KEY]:
            call = _call_with(members, 0) if members is not None else None
            return None if call is None else [call]
        text = members[LIST_KEY]
    calls = [call_of(part) for part in entries(text)]
    found = [call for call in calls if call is not None]
    return found if found and len(found) == len(calls) else None


def keyed_calls_of(text: str) -> list[tuple[str, str]] | None:
    """The calls of objects whose keys are the names of tools: `[{"f": {…}}]`."""
    members = [members_of(entry) if entry[:1] == "{" else None for entry in entries(text)]
    calls = [(name, object_of(value)) for each in members for name, value in (each or {}).items()]
    found = [(name, arguments) for name, arguments in calls if arguments is not None]
    return found if all(members) and found and len(found) == len(calls) else None


def call_of(text: str, depth: int = 0) -> tuple[str, str] | None:
    """The name and the arguments of a call written as an object; None if it is not a call."""
    members = members_of(text) if text[:1] == "{" and depth <= 2 else None
    return None if members is None else _call_with(members, depth)


def _call_with(found: Mapping[str, str], depth: int) -> tuple[str, str] | None:
    written = [found[key] for key in ARGUMENT_KEYS if key in found]
    for key in INNER_KEYS:
        if found.get(key, "")[:1] == "{" and not any(k in found for k in ("name", "tool_name")):
            return None if written else call_of(found[key], depth + 1)
    if not found.keys() <= _OF_A_CALL:
        return None  # `"execute": false` beside a call may mean that it must not run
    if _word(found.get("type")) not in TYPES or _word(found.get("role")) not in ("", "assistant", "model"):
        return None
    named = [key for key in NAME_KEYS if found.get(key, "")[:1] in ("'", '"') and found.get(key)]
    names = {decode_string(found[key]) for key in named}
    if len(names) != 1:
        return None
    if not written:
        bare = all(key in named or key in OTHER_KEYS for key in found)
        return (names.pop(), "{}") if bare else None
    arguments = object_of(written[0])
    if arguments is None or any(object_of(other) != arguments for other in written):
        return None
    return names.pop(), arguments


def _word(value: str | None) -> str:
    return decode_string(value).strip().lower() if value and value[:1] in _QUOTES else (value or "")


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


def keys_of(arguments: str) -> dict[str, str] | None:
    """The members of arguments; None if a name has two values, further inside too."""
    try:
        json.loads(arguments, object_pairs_hook=_with_one_value_each)
    except _TwoValues:
        return None
    except (ValueError, RecursionError):
        pass
    return members_of(arguments, whole=False)


class _TwoValues(Exception):
    """A name has two values in an object."""


def _with_one_value_each(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs) and any(found[key] != value for key, value in pairs):
        raise _TwoValues
    return found


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
    while True:
        at = _INSIDE[quote].match(text, at + 1).end()  # type: ignore[union-attr]
        if not text.startswith(quote, at):
            raise CutOff
        behind = skip_space(text, at + 1)
        if behind == len(text):
            if final:
                return at + 1
            raise CutOff
        if text[behind] in ",:}]" or stop.match(text, behind):
            return at + 1


def skip_space(text: str, at: int) -> int:
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]


def members_of(text: str, *, whole: bool = True) -> dict[str, str] | None:
    """The members of an object, each with its text; None if a name has two values, or if one cannot be read.

    Not `whole`: what stands behind a fault is left out.
    """
    found: dict[str, str] = {}
    at = skip_space(text, 1)
    while at < len(text) and text[at] != "}":
        if text[at] == ",":
            at = skip_space(text, at + 1)
            continue
        if text[at] in _QUOTES:
            end = _member_end(text, at)
            key = decode_string(text[at:end])
        else:
            match = _KEY.match(text, at)
            if match is None:
                return None if whole else found
            end, key = match.end(), match[0]
        at = skip_space(text, end)
        if at >= len(text) or text[at] != ":":
            return None if whole else found
        at = skip_space(text, at + 1)
        end = _member_end(text, at)
        if found.setdefault(key, text[at:end].strip()) != text[at:end].strip():
            return None
        at = skip_space(text, end)
    return found


def entries(text: str) -> list[str]:
    """The texts of the elements of an array; of anything else, the text itself."""
    if text[:1] != "[":
        return [text]
    found: list[str] = []
    at = skip_space(text, 1)
    while at < len(text) and text[at] != "]":
        if text[at] in ",;":
            at = skip_space(text, at + 1)
            continue
        end = _member_end(text, at)
        if end == at:
            break
        found.append(text[at:end])
        at = skip_space(text, end)
    return found


def _member_end(text: str, at: int) -> int:
    try:
        end = value_end(text, at, final=True, outer=False) if at < len(text) else at
    except CutOff:
        return len(text)
    return _BARE.match(text, at).end() if end is None else end  # type: ignore[union-attr]


def decode_string(text: str) -> str:
    """The value of a quoted string; if it cannot be decoded, the text between its quotes."""
    with suppress(ValueError, RecursionError):
        value = decode_python(text) if text[:1] == "'" else json.loads(text, strict=False)
        if isinstance(value, str):
            return value
    return text[1:-1] if len(text) > 1 and text[-1] == text[0] else text[1:]
