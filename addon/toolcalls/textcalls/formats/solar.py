"""Solar Open: `<|tool_call:begin|>ID<|tool_call:name|>N<|tool_call:args|>{…}<|tool_call:end|>`."""

from __future__ import annotations

from toolcalls.textcalls.cursor import CutOff, NotACall, Step
from toolcalls.textcalls.jsontext import read_json
from toolcalls.textcalls.region import Format, Region

_BEGIN, _NAME, _ARGS, _END = (f"<|tool_call:{part}|>" for part in ("begin", "name", "args", "end"))


def read(region: Region) -> Step[None]:
    yield from region.expect((_BEGIN,))
    written = yield from _field(region, _NAME)
    written = yield from _field(region, _ARGS)
    yield from region.space()
    body = yield from read_json(region, (_END, _BEGIN))
    found, length = yield from region.ahead((_END, _BEGIN))
    if found == _END:
        region.pos += length
    elif found is None:
        raise NotACall
    region.add(region.names.resolve(written), body, "solar")


def _field(region: Region, end: str) -> Step[str]:
    text, found = yield from region.until((end, "\n"), 160)
    if found != end:
        raise CutOff if not (yield from region.peek()) else NotACall
    region.pos += len(end)
    return text


FORMATS = (Format("solar", (_BEGIN,), read, tokens=True),)
