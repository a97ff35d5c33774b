"""Kimi K3: `<|open|>call tool="N"<|sep|>` around `<|open|>argument key="K" type="T"<|sep|>V…`.

Strings are raw text, other values JSON; attributes write `&` and `"` as entities.
"""

from __future__ import annotations

import re

from ..cursor import CutOff, NotACall, Step
from ..nesting import Markup, read_value
from ..parameters import Parameters
from ..region import Format, Region
from ..values import read, types
from .token_section import TokenSection

_TOOLS = "<|open|>tools<|sep|>"
_TOOLS_END = "<|close|>tools<|sep|>"
_CALL = "<|open|>call "
_CALL_END = "<|close|>call<|sep|>"
_SECTION = TokenSection(begin=(_TOOLS,), call=(_CALL,), call_end=(_CALL_END,), end=(_TOOLS_END,))
_ARGUMENT = "<|open|>argument "
_ARGUMENT_END = "<|close|>argument<|sep|>"
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')


def read_tools(region: Region) -> Step[None]:
    yield from _SECTION.read(region, _call)


def _call(region: Region) -> Step[None]:
    attributes = yield from _attributes(region)
    name = region.names.resolve(attributes.get("tool") or attributes.get("name") or "")
    parameters = Parameters(region.schema(name))
    kinds: dict[str, str] = {}
    while True:
        found, length = yield from region.ahead((_ARGUMENT, _CALL_END, _TOOLS_END))
        if found is None:
            raise NotACall
        if found == "":
            if region.finished and parameters.values and region.complete(name, parameters.values):
                break
            raise CutOff
        if found == _TOOLS_END:
            break
        region.pos += length
        if found == _CALL_END:
            break
        region.inside = True
        argument = yield from _attributes(region)
        key = argument.get("key") or argument.get("name")
        if not key:
            raise NotACall
        parameters.begin(key)
        kinds[key] = argument.get("type", "string")
        yield from read_value(region, _MARKUP, key, parameters)
    values = parameters.finish()
    for key, kind in kinds.items():
        if kind != "string" and types(parameters.declared.get(key)) != {"string"}:
            value = read(values[key])
            if value is not None or values[key].strip() == "null":
                values[key] = value
    region.add(name, region.typed(name, values), "kimi-k3")
    region.inside = False


def _attributes(region: Region) -> Step[dict[str, str]]:
    attributes = yield from _inner(region)
    if attributes is None:
        raise CutOff if not (yield from region.peek()) else NotACall
    return attributes


def _inner(region: Region) -> Step[dict[str, str] | None]:
    """Read a tag from after its beginning: its attributes, or None if it is not a tag."""
    text, _ = yield from region.until(("<",), 512)
    if not (yield from region.optional(("<|sep|>",), space=False)):
        return None
    return {m[1]: m[2].replace("&quot;", '"').replace("&amp;", "&") for m in _ATTRIBUTE.finditer(text)}


def _inner_key(region: Region, opener: str) -> Step[str | None]:
    attributes = yield from _inner(region)
    return None if attributes is None else attributes.get("key") or attributes.get("name") or ""


def _inner_call(region: Region, opener: str) -> Step[bool]:
    return (yield from _inner(region)) is not None


_MARKUP = Markup(
    parameter=(_ARGUMENT,),
    parameter_end=(_ARGUMENT_END,),
    block=(_CALL,),
    block_end=(_CALL_END,),
    key=_inner_key,
    opened=_inner_call,
    wrapper=(_TOOLS,),
    wrapper_end=(_TOOLS_END,),
)

FORMATS = (Format("kimi-k3", _SECTION.openers, read_tools),)
