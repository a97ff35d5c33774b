"""LongCat: `<longcat_tool_call>` around JSON, or around a name and pairs of keys and values."""

from __future__ import annotations

from toolcalls.textcalls.cursor import Step
from toolcalls.textcalls.envelope import read_calls
from toolcalls.textcalls.formats.glm import LONGCAT, read_pairs
from toolcalls.textcalls.region import Format, Region


def read(region: Region) -> Step[None]:
    yield from region.expect((LONGCAT.again,))
    yield from region.space()
    if (yield from region.peek()) in ("{", "[", "`"):
        yield from read_calls(region, "longcat", (LONGCAT.end,), must_close=True, ends=(LONGCAT.again,))
    else:
        yield from read_pairs(region, LONGCAT)


FORMATS = (Format("longcat", (LONGCAT.again,), read),)
