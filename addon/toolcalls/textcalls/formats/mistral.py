"""Mistral: `[TOOL_CALLS] [{…}]`, or `[TOOL_CALLS]N[ARGS]{…}` with `[CALL_ID]` between. No end token."""

from __future__ import annotations

from ..cursor import Step
from ..envelope import read_calls
from ..jsontext import read_json
from ..region import Format, Region

_OPENER = ("[TOOL_CALLS]",)
_CLOSER = ("[/TOOL_CALLS]", "</s>")


def read(region: Region) -> Step[None]:
    yield from region.expect(_OPENER)
    yield from region.space()
    if (yield from region.peek()) in ("{", "["):
        yield from read_calls(region, "mistral", _CLOSER)
        return
    written = yield from region.word("[{")
    if (yield from region.optional(("[CALL_ID]",))):
        yield from region.word("[{")
    yield from region.optional(("[ARGS]",))
    yield from region.space()
    body = yield from read_json(region, _CLOSER)
    region.add(region.names.resolve(written), body, "mistral")
    yield from region.optional(_CLOSER)


FORMATS = (Format("mistral", _OPENER, read, tokens=True),)
