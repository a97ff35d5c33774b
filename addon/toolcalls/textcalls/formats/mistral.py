"""Mistral: `[TOOL_CALLS] [{…}]`, or `[TOOL_CALLS]N[ARGS]{…}` with `[CALL_ID]` between. There is no end token."""

from __future__ import annotations

from ..cursor import NotACall, Step
from ..envelope import keys_of, read_calls
from ..jsontext import read_json
from ..region import Format, Region

OPENER = ("[TOOL_CALLS]",)
ARGUMENTS = ("[CALL_ID]", "[ARGS]")
"""What may follow a name."""
_CLOSER = ("[/TOOL_CALLS]", "</s>")


def read(region: Region) -> Step[None]:
    yield from region.expect(OPENER)
    yield from region.space()
    if (yield from region.peek()) in ("{", "["):
        yield from read_calls(region, "mistral", _CLOSER, ends=OPENER)
        return
    written = yield from region.word("[{")
    body = yield from _arguments(region)
    region.add(region.names.resolve(written), body, "mistral")
    yield from region.optional(_CLOSER)


def read_call(region: Region, name: str) -> Step[None]:
    """Read a call from after its name. The server removed the opener, so its arguments have to fit the tool."""
    body = yield from _arguments(region)
    if not region.fits(name, keys_of(body)):
        raise NotACall
    region.add(name, body, "mistral")
    yield from region.optional(_CLOSER)


def _arguments(region: Region) -> Step[str]:
    if (yield from region.optional(ARGUMENTS[:1])):
        yield from region.word("[{")
    yield from region.optional(ARGUMENTS[1:])
    yield from region.space()
    return (yield from read_json(region, _CLOSER, openers=OPENER))


FORMATS = (Format("mistral", OPENER, read),)
