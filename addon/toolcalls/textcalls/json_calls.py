"""Calls in JSON: `{"name": …, "arguments": {…}}` and its relatives, or arguments alone behind a name in the markup.

Where a value ends is asked of the standard library's parser first. Broken JSON is only followed: a quote inside a
string ends it only if `,`, `:`, `}`, `]`, the end of the call or of the text follows. Nothing is mended here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..mend import strict
from ..mend.lexer import end_of, next_quote
from ..mend.names import tool_that_fits
from ..reasons import Refusal
from .known import SPACE, CutOff, ReadCall, WrittenTools, accepts, put
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
    while True:
        begin, at = at, end_of(_FENCE if written is None and "`" not in row.end else SPACE, text, at)
        if written is not None and row.closer.match(text, at):
            found, end = [(written, "{}")], at
        else:
            outer = written is None and known.closers_may_be_missing and not (row.weak or row.keyed)
            end = value_end(text, at, row.shut, final=final, outer=outer)
            value = text[at:end]
            found = [(written, object_of(value))] if written is not None else calls_of(value, keyed=row.keyed)
        for name, arguments in found:
            keys = keys_of(arguments)
            tool = known.resolve(name) if written is None else named or tool_that_fits(keys, known.tools)
            no_tool = tool is None and (row.weak or written is not None)
            if no_tool or not accepts(tool, keys, weak=row.weak):
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


# What an object says. Raises ValueError where it says something else.


def calls_of(text: str, *, keyed: bool = False) -> list[tuple[str, str]]:
    """The names and arguments of an object or a list of objects. `keyed`: `[{"f": {…}}]`."""
    if keyed:
        return [(name, object_of(value)) for part in entries(text) for name, value in members_of(part).items()]
    if text[:1] in _QUOTES:
        text = decode_string(text).strip()
    if text[:1] == "{":
        members = members_of(text)
        if list(members) != [LIST_KEY]:
            return [call_of(members)]
        text = members[LIST_KEY]
    return [call_of(members_of(part)) for part in entries(text)]


def call_of(members: Mapping[str, str], depth: int = 0) -> tuple[str, str]:
    """The name and the arguments of a call written as an object with these members."""
    written = [members[key] for key in ARGUMENT_KEYS if key in members]
    inner = [members[key] for key in INNER_KEYS if members.get(key, "")[:1] == "{"]
    if inner and not written and depth < 2 and members.keys().isdisjoint(("name", "tool_name")):
        return call_of(members_of(inner[0]), depth + 1)
    # `"execute": false` beside a call may mean that it must not run.
    sound = members.keys() <= _OF_A_CALL
    for key, words in _ITS_WORDS.items():
        sound = sound and (key not in members or decode_string(members[key]).strip().lower() in words)
    named = [key for key in NAME_KEYS if members.get(key, "").startswith(("'", '"'))]
    names = {decode_string(members[key]) for key in named}
    arguments = {object_of(value) for value in written} or {"{}"}
    nothing_else = bool(written) or all(key in named or key in OTHER_KEYS for key in members)
    if not (sound and nothing_else and len(names) == len(arguments) == 1):
        raise ValueError
    return names.pop(), arguments.pop()


def object_of(value: str) -> str:
    """The text of an object, decoded if it is in a string; `{}` for null and empty text."""
    value = value.strip()
    for _ in range(2):
        if value.startswith(("'", '"')):
            value = decode_string(value).strip()
    if value in ("", "null", "None"):
        return "{}"
    if value[0] != "{":
        raise ValueError
    return value


def keys_of(arguments: str) -> dict[str, Any]:
    """The members of arguments. Raises ValueError if a name has two values, further inside too."""
    try:
        value = strict.parsed(arguments, lax=True)
    except Refusal as refusal:
        raise ValueError from refusal
    if isinstance(value, ValueError):
        return members_of(arguments, whole=False)
    return value if isinstance(value, dict) else {}


# Where a value ends.


def value_end(text: str, at: int, stop: re.Pattern[str] = _NO_STOP, *, final: bool, outer: bool) -> int:
    """The index behind the value that begins at `at`. Raises ValueError if none begins there, or if a string has
    swallowed the end of its call. A `stop` outside any string ends a value with unclosed brackets.

    `outer`: the value is the envelope of a call, whose own brackets may be missing at the end of the answer.
    """
    if at >= len(text):
        raise CutOff
    if text[at] not in "{[\"'":
        raise ValueError
    try:
        return _decode(text, at)[1]
    except (ValueError, RecursionError):
        pass
    end = _followed(text, at, stop, final, outer)
    if stop.search(text, at, end):
        raise ValueError
    return end


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
        behind = end_of(SPACE, text, at + 1)
        if behind == len(text) and not final:
            break
        if behind == len(text) or text[behind] in ",:}]" or stop.match(text, behind):
            return at + 1
    raise CutOff


def members_of(text: str, *, whole: bool = True) -> dict[str, str]:
    """The members of an object, each with its text. Raises ValueError if a name has two values, or if one cannot be
    read. Not `whole`: what stands behind a fault is left out.
    """
    if text[:1] != "{":
        raise ValueError
    found: dict[str, str] = {}
    for key, value in _parts(text, "}", whole):
        put(found, key, value)
    return found


def entries(text: str) -> list[str]:
    """The texts of the elements of an array; of anything else, the text itself."""
    found = [value for _, value in _parts(text, "]", True)] if text[:1] == "[" else [text]
    if not found:
        raise ValueError
    return found


def _parts(text: str, bracket: str, whole: bool) -> Iterator[tuple[str, str]]:
    """The members of an object, or the elements of an array, whose names are empty, up to its closing bracket."""
    key, at = "", end_of(_BETWEEN, text, 1)
    while at < len(text) and text[at] != bracket:
        if bracket == "}":
            end = _member_end(text, at) if text[at] in _QUOTES else end_of(_KEY, text, at)
            colon = _COLON.match(text, end)
            if colon is None or end == at:
                if whole:
                    raise ValueError
                return
            key, at = decode_string(text[at:end]) if text[at] in _QUOTES else text[at:end], colon.end()
        end = _member_end(text, at)
        if end == at and bracket == "]":
            return
        yield key, text[at:end].strip()
        at = end_of(_BETWEEN, text, end)


def _member_end(text: str, at: int) -> int:
    try:
        return value_end(text, at, final=True, outer=False)
    except CutOff:
        return len(text)
    except ValueError:
        return end_of(_BARE, text, at)


def decode_string(text: str) -> str:
    """The value of a quoted string; if it cannot be decoded, the text between its quotes."""
    with suppress(ValueError, RecursionError):
        value = decode_python(text) if text[:1] == "'" else json.loads(text, strict=False)
        if isinstance(value, str):
            return value
    return text[1:-1] if len(text) > 1 and text[-1] == text[0] else text[1:]
