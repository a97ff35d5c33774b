"""LongCat: `<longcat_tool_call>` around JSON, or around a name and pairs of keys and values."""

from __future__ import annotations

from ..cursor import Step
from ..envelope import read_calls
from ..region import Format, Region
from .glm import LONGCAT, read_pairs


def read(region: Region) -> Step[None]:
    yield from region.expect((LONGCAT.again,))
    yield from region.space()
    if (yield from region.peek()) in ("{", "[", "`"):
        yield from read_calls(region, "longcat", (LONGCAT.end,), must_close=True, ends=(LONGCAT.again,))
    else:
        yield from read_pairs(region, LONGCAT)


FORMATS = (Format("longcat", (LONGCAT.again,), read),)
