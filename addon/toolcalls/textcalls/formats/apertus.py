"""Apertus: `<|tools_prefix|>[{"N": {…}}]<|tools_suffix|>`; the tool's name is the key."""

from __future__ import annotations

from ..cursor import NotACall, Step
from ..envelope import object_of
from ..jsontext import all_members, elements, once, read_json
from ..region import Format, Region

_CLOSER = ("<|tools_suffix|>",)


def read(region: Region) -> Step[None]:
    yield from region.expect(("<|tools_prefix|>",))
    yield from region.space()
    body = yield from read_json(region, _CLOSER)
    yield from region.optional(_CLOSER)
    calls = []
    for entry in elements(body) if body[:1] == "[" else [body]:
        for written, value in once(all_members(entry) if entry[:1] == "{" else ()).items():
            arguments = object_of(value)
            if arguments is None:
                raise NotACall
            calls.append((region.names.resolve(written), arguments))
    if not calls:
        raise NotACall
    for name, arguments in calls:
        region.add(name, arguments, "apertus")


FORMATS = (Format("apertus", ("<|tools_prefix|>",), read),)
