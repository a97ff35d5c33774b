"""LFM2: `<|tool_call_start|>[f(a="x")]<|tool_call_end|>`, or JSON between the same tokens."""

from __future__ import annotations

from ..cursor import NotACall, Step
from ..envelope import read_calls
from ..region import Format, Region
from .pythonic import read_list

_CLOSER = ("<|tool_call_end|>",)


def read(region: Region) -> Step[None]:
    yield from region.expect(("<|tool_call_start|>",))
    yield from region.space()
    char = yield from region.peek()
    inner, _ = yield from region.ahead(("{",), skip=1)
    if char == "{" or (char == "[" and inner):
        yield from read_calls(region, "lfm2", _CLOSER)
    elif char == "[":
        yield from read_list(region, known=False, format="lfm2")
        yield from region.optional(_CLOSER)
    else:
        raise NotACall


FORMATS = (Format("lfm2", ("<|tool_call_start|>",), read, text_follows=True),)
