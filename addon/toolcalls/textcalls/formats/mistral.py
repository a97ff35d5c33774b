"""Mistral: `[TOOL_CALLS] [{…}]`, or `[TOOL_CALLS]N[ARGS]{…}` with `[CALL_ID]` between. No end token."""

from __future__ import annotations

from toolcalls.textcalls.cursor import CutOff, NotACall, Step
from toolcalls.textcalls.envelope import read_calls
from toolcalls.textcalls.jsontext import read_json
from toolcalls.textcalls.region import Format, Region

_OPENER = ("[TOOL_CALLS]",)
_CLOSER = ("[/TOOL_CALLS]", "</s>")


def read(region: Region) -> Step[None]:
    yield from region.expect(_OPENER)
    yield from region.space()
    if (yield from region.peek()) in ("{", "["):
        yield from read_calls(region, "mistral", _CLOSER)
        return
    written, mark = yield from region.until(("[ARGS]", "[CALL_ID]", "{", "\n"), 160)
    if mark == "[CALL_ID]":
        region.pos += len(mark)
        _, mark = yield from region.until(("[ARGS]", "{", "\n"), 80)
    if mark is None or mark == "\n":
        raise CutOff if not (yield from region.peek()) else NotACall
    if mark == "[ARGS]":
        region.pos += len(mark)
    yield from region.space()
    body = yield from read_json(region, _CLOSER)
    region.add(region.names.resolve(written), body, "mistral")
    yield from region.optional(_CLOSER)


FORMATS = (Format("mistral", _OPENER, read, tokens=True),)
