"""`<tool><name>N</name><arguments>{…}</arguments></tool>`.

The marker is weak, so it is a call only if the name is declared and every tag is closed.
"""

from __future__ import annotations

from ..cursor import CutOff, NotACall, Step
from ..jsontext import read_json
from ..region import Format, Region
from ..tags import read_name

_NAMES = ("name", "tool_name")
_ARGUMENTS = ("arguments", "parameters", "args", "input")


def read(region: Region) -> Step[None]:
    yield from region.expect(("<tool>",))
    tag = yield from region.expect(tuple(f"<{key}>" for key in _NAMES))
    written = yield from read_name(region, "<", known=True)
    name = region.names.strict(written)
    if name is None:
        raise NotACall
    yield from region.expect((f"/{tag[1:]}",))
    found = yield from region.expect((*(f"<{key}>" for key in _ARGUMENTS), "</tool>"))
    if found == "</tool>":
        region.add(name, "{}", "tool-tag")
        return
    yield from region.space()
    closer = f"</{found[1:]}"
    body = yield from _body(region, closer)
    yield from region.expect((closer,))
    yield from region.expect(("</tool>",))
    region.add(name, body, "tool-tag")


def _body(region: Region, closer: str) -> Step[str]:
    char = yield from region.peek()
    if char != "{":
        if not char:
            raise CutOff
        raise NotACall
    return (yield from read_json(region, (closer,)))


FORMATS = (Format("tool-tag", ("<tool>",), read),)
