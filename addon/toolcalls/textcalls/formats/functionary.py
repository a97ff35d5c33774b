"""Functionary 3.2: `>>>N\\n{json}`, one after the other, as the entire message."""

from __future__ import annotations

from ..cursor import NotACall, Step
from ..envelope import keys_of
from ..jsontext import read_json
from ..region import Region
from ..tags import read_name


def read(region: Region) -> Step[None]:
    yield from region.expect((">>>",))
    while True:
        if (yield from region.peek()) in (" ", ">"):
            raise NotACall  # the prompt of a Python session, a block quote
        written = yield from read_name(region, "\n", known=True)
        name = region.names.strict(written)
        if name is None:
            raise NotACall
        yield from region.space()
        body = yield from read_json(region, (">>>",))
        if not region.fits(name, keys_of(body)):
            raise NotACall
        region.add(name, body, "functionary")
        if not (yield from region.optional((">>>",))):
            return
