"""A call as plain JSON, bare or in a fence, if it is the entire message.

JSON alone is a weak sign of a call, so it is held back only while it can still become a call of a declared tool:
every key must be a key of calls, the name must be declared, and the tool must declare every argument.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..cursor import CutOff, NotACall, Step
from ..envelope import ARGUMENT_KEYS, LIST_KEY, NAME_KEYS, call_of, keys_of, object_of
from ..jsontext import read_json
from ..region import Region
from ..values import is_open, properties
from .pythonic import read_code, read_list

_KEYS = (*NAME_KEYS, *ARGUMENT_KEYS, "id", "type", "tool_call_id", "call_id", "tool_call", "function_call")
_TYPES = ("function", "tool_use", "tool_call", "function_call", "tool")
_LANGUAGES = ("json", "json5", "tool_call", "tool_calls", "tool", "function_call", "tool_code", "")


def read_object_or_list(region: Region) -> Step[None]:
    """Read `{…}`, several of them, or `[{…}, …]`. `[name(…)]` is left to the pythonic list."""
    if (yield from region.peek()) == "[":
        inner, _ = yield from region.ahead(("{",), skip=1)
        if not inner:
            yield from read_list(region, known=True)
            return
    yield from read_objects(region, "json")


def read_fence(region: Region) -> Step[None]:
    ticks = 0
    while (yield from region.peek()) == "`":
        region.pos += 1
        ticks += 1
        if ticks > 16:
            raise NotACall
    if ticks < 3:
        raise NotACall
    language = ""
    while (char := (yield from region.peek())) != "\n":
        language += char
        if not char:
            raise CutOff
        if not any(known.startswith(language.strip().lower()) for known in _LANGUAGES):
            raise NotACall
        region.pos += 1
        if len(language) > 24:
            raise NotACall
    language = language.strip().lower()
    if language not in _LANGUAGES:
        raise NotACall
    yield from region.space()
    char = yield from region.peek()
    if language == "tool_code" and char not in ("{", "["):
        yield from read_code(region, "```")
    elif char == "[" and (yield from region.ahead(("{",), skip=1))[0] is None:
        yield from read_list(region, known=True)
    else:
        yield from read_objects(region, "json-fence")
    if not (yield from _close(region, ("`" * ticks,))):
        raise NotACall


def read_objects(region: Region, format: str) -> Step[None]:
    yield from region.space()
    char = yield from region.peek()
    if char == "[":
        yield from _list(region, format)
        return
    found, length = None, 0
    if char == "{":
        found, length = yield from region.ahead((f'"{LIST_KEY}"', f"'{LIST_KEY}'"), skip=1)
    if found:
        region.pos += length
        yield from region.expect((":",))
        yield from region.space()
        yield from _list(region, format)
        yield from _close(region, ("}",))
        return
    while True:
        yield from region.space()
        yield from _call(region, format)
        again, length = yield from region.ahead(("{", ";", ","))
        if not again:
            return
        if again != "{":
            region.pos += length


def _list(region: Region, format: str) -> Step[None]:
    if (yield from region.peek()) != "[":
        raise NotACall
    region.pos += 1
    while True:
        yield from region.space()
        yield from _call(region, format)
        if (yield from _close(region, (",", "]"))) != ",":
            return


def _close(region: Region, literals: tuple[str, ...]) -> Step[str]:
    """Read one of the literals; empty if the answer ended here, because the outermost closer may be missing."""
    found, length = yield from region.ahead(literals)
    if found is None:
        raise NotACall
    region.pos += length
    return found


def _call(region: Region, format: str) -> Step[None]:
    region.record()
    yield from _object(region, None, 0)
    found = call_of(region.recorded())
    name = region.names.strict(found[0]) if found else None
    if found is None or name is None or not region.fits(name, keys_of(found[1])):
        raise NotACall
    region.add(name, found[1], format)


def _object(region: Region, tool: str | None, depth: int) -> Step[None]:
    """Read an object with the keys of a call. Raises NotACall at the first character that no call would have."""
    if (yield from region.peek()) != "{":
        raise NotACall
    region.pos += 1
    while True:
        yield from region.space()
        if (yield from region.peek()) == "}":
            region.pos += 1
            return
        key = yield from _quoted(region, _KEYS)
        yield from region.expect((":",))
        yield from region.space()
        char = yield from region.peek()
        if not char:
            raise CutOff
        if key in ("function", "tool_call", "function_call") and char == "{":
            if depth > 1:
                raise NotACall
            yield from _object(region, tool, depth + 1)
        elif key in NAME_KEYS:
            tool = yield from _name(region)
        elif key in ARGUMENT_KEYS:
            yield from _arguments(region, tool, char)
        elif key == "type":
            yield from _quoted(region, _TYPES)
        else:
            yield from _scalar(region, char)
        if (yield from region.expect((",", "}"))) == "}":
            return


def _arguments(region: Region, tool: str | None, char: str) -> Step[None]:
    if char in ('"', "'"):
        if object_of((yield from read_json(region))) is None:
            raise NotACall
        return
    if char != "{":
        raise NotACall
    declared = _declared(region, tool)
    if declared is None:
        yield from read_json(region)
        return
    region.pos += 1
    while True:
        yield from region.space()
        if (yield from region.peek()) == "}":
            region.pos += 1
            return
        yield from _quoted(region, declared)
        yield from region.expect((":",))
        yield from region.space()
        char = yield from region.peek()
        if char in ("{", "[", '"', "'"):
            yield from read_json(region)
        else:
            yield from _scalar(region, char)
        if (yield from region.expect((",", "}"))) == "}":
            return


def _declared(region: Region, tool: str | None) -> list[str] | None:
    """The keys that the arguments may have; None if any key is allowed."""
    schemas = [region.schema(tool)] if tool else [each.schema for each in region.tools]
    if any(is_open(schema) for schema in schemas):
        return None
    return [key for schema in schemas for key in properties(schema)]


def _quoted(region: Region, allowed: Iterable[str]) -> Step[str]:
    """Read a quoted string that is one of `allowed`. Raises NotACall as soon as it cannot be."""
    quote = yield from region.peek()
    if quote not in ('"', "'"):
        raise NotACall if quote else CutOff
    region.pos += 1
    possible = list(allowed)
    written = ""
    while True:
        char = yield from region.peek()
        if not char:
            raise CutOff
        region.pos += 1
        if char == quote and written in possible:
            return written
        written += char
        possible = [each for each in possible if each.startswith(written)]
        if not possible:
            raise NotACall


def _name(region: Region) -> Step[str]:
    quote = yield from region.peek()
    if quote not in ('"', "'"):
        raise NotACall
    region.pos += 1
    written = ""
    while True:
        char = yield from region.peek()
        if not char:
            raise CutOff
        region.pos += 1
        if char == quote:
            break
        written += char
        if len(written) > 128 or not region.names.begins(written):
            raise NotACall
    name = region.names.strict(written)
    if name is None:
        raise NotACall
    return name


def _scalar(region: Region, char: str) -> Step[None]:
    """Read a string, a number or a word (`true`, `null`)."""
    if char in ('"', "'"):
        yield from read_json(region)
        return
    length = 0
    while (char := (yield from region.peek())) and (char.isalnum() or char in "+-."):
        region.pos += 1
        length += 1
        if length > 400:
            raise NotACall
    if not length:
        raise NotACall if char else CutOff
