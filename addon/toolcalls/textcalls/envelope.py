"""`{"name": …, "arguments": …}` and its relatives: the call that a JSON object describes."""

from __future__ import annotations

from collections.abc import Sequence

from .cursor import NotACall, Step
from .jsontext import all_members, decode_string, elements, members, once, read_json
from .region import Region, is_tool_definition
from .tokens import ENDS_OF_TURN
from .values import properties

NAME_KEYS = ("name", "tool_name", "function_name", "function", "tool", "recipient_name")
ARGUMENT_KEYS = ("arguments", "parameters", "args", "input", "params", "tool_input", "tool_args", "kwargs")
INNER_KEYS = ("function", "function_call", "tool_call", "call")
LIST_KEY = "tool_calls"
"""`{"tool_calls": […]}` around the calls."""
OTHER_KEYS = ("id", "type", "tool_call_id", "call_id", "index", "role", "namespace")
_TYPES = ("", "function", "function_call", "tool", "tool_call", "tool_use", "custom", "mcp")
_WALKED = 4
"""A step pays for two to the power of this many characters, which are walked over two or three times."""
_OF_A_CALL = frozenset((*NAME_KEYS, *ARGUMENT_KEYS, *OTHER_KEYS))


def call_of(text: str, depth: int = 0) -> tuple[str, str] | None:
    """The name and the arguments of a call written as an object; None if it is not a call."""
    return _call_with(once(all_members(text)), depth) if text[:1] == "{" and depth <= 2 else None


def _call_with(found: dict[str, str], depth: int = 0) -> tuple[str, str] | None:
    """The name and the arguments of a call written as an object with these members."""
    written = [found[key] for key in ARGUMENT_KEYS if key in found]
    for key in INNER_KEYS:
        if found.get(key, "")[:1] == "{" and not any(k in found for k in ("name", "tool_name")):
            return None if written else call_of(found[key], depth + 1)
    if not found.keys() <= _OF_A_CALL:
        return None  # `"execute": false` beside a call may mean that it must not run
    if _word(found.get("type")) not in _TYPES or _word(found.get("role")) not in ("", "assistant", "model"):
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
    """The value of a member: a string decoded and in lower case, anything else unchanged."""
    return decode_string(value).strip().lower() if value and value[:1] in ("'", '"') else (value or "")


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


def keys_of(arguments: str) -> dict[str, str]:
    return once(members(arguments)) if arguments[:1] == "{" else {}


def calls_of(text: str) -> list[tuple[str, str]]:
    """The calls of an object or a list of objects. Raises NotACall if one of them is not a call."""
    if text[:1] in ("'", '"'):
        text = decode_string(text).strip()
    if text[:1] == "{":
        found = once(all_members(text))
        if list(found) != [LIST_KEY]:
            call = _call_with(found)
            if call is None:
                raise NotACall
            return [call]
        text = found[LIST_KEY]
    parts = elements(text) if text[:1] == "[" else [text]
    calls = [call for part in parts if (call := call_of(part)) is not None]
    if not calls or len(calls) != len(parts):
        raise NotACall
    return calls


def add_calls(region: Region, text: str, format: str) -> None:
    """Add to the region the calls of a JSON text that ends at its position."""
    region.work.spend(len(text) >> _WALKED)
    found = calls_of(text)
    calls = []
    for written, arguments in found:
        name = region.names.resolve(written)
        if name is not None and is_tool_definition(keys_of(arguments), properties(region.schema(name))):
            raise NotACall
        calls.append((name, arguments))
    for name, arguments in calls:
        region.add(name, arguments, format)


def read_calls(
    region: Region, format: str, closers: Sequence[str], *, must_close: bool = False, ends: Sequence[str] = ()
) -> Step[None]:
    """Read JSON objects, or lists of them, up to a closer. `;`, `,` and white space may be between them.

    With `must_close` the closer may be missing only at the end of the answer, before a token that ends the turn, or
    before one of `ends`, which begin another call.
    """
    while True:
        yield from region.space()
        fence = yield from region.optional(("```json", "```tool_call", "```"))
        yield from region.space()
        body = yield from read_json(region, closers, openers=ends, outer=True)
        if fence:
            yield from region.optional(("```",))
        yield from _surplus(region, closers)
        add_calls(region, body, format)
        separator, length = yield from region.ahead((";", ",", "{", "["))
        if separator in (";", ","):
            after, _ = yield from region.ahead(("{", "["), skip=length)
            if after:
                region.pos += length
                continue
        elif separator and (yield from _another(region, closers, length)):
            continue
        break
    if not closers:
        return
    found, length = yield from region.ahead((*closers, *ends, *ENDS_OF_TURN))
    if found in closers:
        region.pos += length
    elif must_close and found is None:
        raise NotACall


def _surplus(region: Region, closers: Sequence[str]) -> Step[None]:
    """Skip surplus brackets between the JSON and its closer."""
    length = 0
    while length < 4 and (yield from region.character(length)) in ("}", "]"):
        length += 1
    if length and (yield from region.ahead(closers, skip=length))[0]:
        region.pos += length


def _another(region: Region, closers: Sequence[str], length: int) -> Step[bool]:
    """Whether another object comes next, rather than a closer that begins with a bracket."""
    closer, _ = yield from region.ahead(closers or ("\0",))
    if closer:
        return False
    window = region.window[region.pos : region.pos + length]
    if window[-1] == "{":
        return True
    after, _ = yield from region.ahead(("{",), skip=length)
    return bool(after)
