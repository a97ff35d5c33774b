"""Kimi K2: `<|tool_call_begin|>functions.N:IDX<|tool_call_argument_begin|>{json}<|tool_call_end|>`."""

from __future__ import annotations

from ..cursor import NotACall, Step
from ..envelope import object_of
from ..jsontext import read_json
from ..region import Format, Region
from .token_section import TokenSection

_SECTION = TokenSection(
    begin=("<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"),
    call=("<|tool_call_begin|>",),
    call_end=("<|tool_call_end|>",),
    end=("<|tool_calls_section_end|>", "<|tool_call_section_end|>"),
)
_ARGUMENTS = ("<|tool_call_argument_begin|>", "<|tool_call_arguments_begin|>")


def read(region: Region) -> Step[None]:
    yield from _SECTION.read(region, _call)


def _call(region: Region) -> Step[None]:
    written = yield from region.word("<{")
    body = "{}"
    begun = yield from region.optional(_ARGUMENTS)
    yield from region.space()
    if begun or (yield from region.peek()) == "{":
        body = yield from read_json(region, _SECTION.behind_a_call)
    yield from _SECTION.end_call(region)
    arguments = object_of(body)
    if arguments is None:
        raise NotACall
    name = region.names.resolve(written)
    if name is None and written.strip().lstrip(":").isdigit():
        name = region.by_arguments(arguments)
    region.add(name, arguments, "kimi-k2")


FORMATS = (Format("kimi-k2", _SECTION.openers, read),)
