"""Kimi K2: `<|tool_call_begin|>functions.N:IDX<|tool_call_argument_begin|>{json}<|tool_call_end|>`."""

from __future__ import annotations

from ..cursor import NotACall, Step
from ..envelope import object_of
from ..jsontext import read_json
from ..region import Format, Region
from ..sections import read_section

_SECTION = ("<|tool_calls_section_begin|>", "<|tool_call_section_begin|>")
_CALL = ("<|tool_call_begin|>",)
_ARGUMENTS = ("<|tool_call_argument_begin|>", "<|tool_call_arguments_begin|>")
_CALL_END = ("<|tool_call_end|>",)
_SECTION_END = ("<|tool_calls_section_end|>", "<|tool_call_section_end|>")


def read(region: Region) -> Step[None]:
    yield from read_section(region, _SECTION, _CALL, _SECTION_END, _call)


def _call(region: Region) -> Step[None]:
    written = yield from region.word("<{")
    body = "{}"
    begun = yield from region.optional(_ARGUMENTS)
    yield from region.space()
    if begun or (yield from region.peek()) == "{":
        body = yield from read_json(region, (*_CALL_END, *_SECTION_END, *_CALL))
    found, length = yield from region.ahead((*_CALL_END, *_SECTION_END, *_CALL))
    if found in _CALL_END:
        region.pos += length
    elif found is None:
        raise NotACall
    arguments = object_of(body)
    if arguments is None:
        raise NotACall
    name = region.names.resolve(written)
    if name is None and written.strip().lstrip(":").isdigit():
        name = region.by_arguments(arguments)
    region.add(name, arguments, "kimi-k2")


FORMATS = (Format("kimi-k2", (*_SECTION, *_CALL), read),)
