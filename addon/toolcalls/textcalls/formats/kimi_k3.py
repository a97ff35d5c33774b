"""Kimi K3: `<|open|>call tool="N"<|sep|>` around `<|open|>argument key="K" type="T"<|sep|>V…`.

String values are raw, others JSON; attributes write `&` and `"` as entities.
"""

from __future__ import annotations

import re
from typing import Any

from ..cursor import CutOff, NotACall, Step
from ..region import Format, Region
from ..values import properties, read, types

_TOOLS = "<|open|>tools<|sep|>"
_TOOLS_END = "<|close|>tools<|sep|>"
_CALL = "<|open|>call "
_CALL_END = "<|close|>call<|sep|>"
_ARGUMENT = "<|open|>argument "
_ARGUMENT_END = "<|close|>argument<|sep|>"
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')


def read_tools(region: Region) -> Step[None]:
    yield from region.optional((_TOOLS,))
    count = 0
    while (yield from region.optional((_CALL,))):
        yield from _call(region)
        count += 1
    if not count:
        raise CutOff if not (yield from region.peek()) else NotACall
    yield from region.optional((_TOOLS_END,))


def _call(region: Region) -> Step[None]:
    attributes = yield from _attributes(region)
    name = region.names.resolve(attributes.get("tool") or attributes.get("name") or "")
    declared = properties(region.schema(name))
    values: dict[str, Any] = {}
    while True:
        found, length = yield from region.ahead((_ARGUMENT, _CALL_END, _TOOLS_END))
        if found is None:
            raise NotACall
        if found == "":
            if region.finished and values and region.complete(name, values):
                break
            raise CutOff
        if found == _TOOLS_END:
            break
        region.pos += length
        if found == _CALL_END:
            break
        argument = yield from _attributes(region)
        raw, end = yield from region.until((_ARGUMENT_END,))
        if end is None:
            raise CutOff
        region.pos += len(end)
        key = argument.get("key") or argument.get("name")
        if not key:
            raise NotACall
        values[key] = raw
        if argument.get("type", "string") != "string" and types(declared.get(key)) != {"string"}:
            value = read(raw)
            values[key] = raw if value is None and raw.strip() != "null" else value
    region.add(name, region.typed(name, values), "kimi-k3")


def _attributes(region: Region) -> Step[dict[str, str]]:
    text, end = yield from region.until(("<|sep|>",), 512)
    if end is None:
        raise CutOff if not (yield from region.peek()) else NotACall
    region.pos += len(end)
    return {m[1]: m[2].replace("&quot;", '"').replace("&amp;", "&") for m in _ATTRIBUTE.finditer(text)}


FORMATS = (Format("kimi-k3", (_TOOLS, _CALL), read_tools, tokens=True),)
