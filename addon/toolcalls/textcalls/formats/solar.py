"""Solar Open: `<|tool_call:begin|>ID<|tool_call:name|>N<|tool_call:args|>{…}<|tool_call:end|>`."""

from __future__ import annotations

from ..cursor import NotACall, Step
from ..jsontext import read_json
from ..region import Format, Region

_BEGIN, _NAME, _ARGS, _END = (f"<|tool_call:{part}|>" for part in ("begin", "name", "args", "end"))


def read(region: Region) -> Step[None]:
    yield from region.expect((_BEGIN,))
    yield from region.word("<")
    yield from region.expect((_NAME,))
    written = yield from region.word("<")
    yield from region.expect((_ARGS,))
    yield from region.space()
    body = yield from read_json(region, (_END, _BEGIN))
    found, length = yield from region.ahead((_END, _BEGIN))
    if found == _END:
        region.pos += length
    elif found is None:
        raise NotACall
    region.add(region.names.resolve(written), body, "solar")


FORMATS = (Format("solar", (_BEGIN,), read),)
