"""Functionary 3.2: `>>>N\\n{json}`, one after the other, as the entire message or after `>>>all\\ntext`."""

from __future__ import annotations

from ..cursor import NotACall, Step
from ..envelope import keys_of
from ..jsontext import read_json
from ..region import Format, Region
from ..tags import read_name

_MARK = (">>>",)
_USER = "all"
"""The recipient to whom the model addresses text for the user."""


def read(region: Region) -> Step[None]:
    """Read calls at the beginning of a message. Text for the user is not held back, although calls may follow it."""
    yield from region.expect(_MARK)
    if (yield from region.ahead((f"{_USER}\n",), space=False))[0]:
        region.names.addressed.add(_USER)
        raise NotACall
    yield from _calls(region)


def read_line(region: Region) -> Step[None]:
    """Read calls at the beginning of a later line, in a message that began with text for the user."""
    if _USER not in region.names.addressed:
        raise NotACall
    yield from region.expect(_MARK)
    yield from _calls(region)


def _calls(region: Region) -> Step[None]:
    while True:
        if (yield from region.peek()) in (" ", ">"):
            raise NotACall  # the prompt of a Python session, a block quote
        written = yield from read_name(region, "\n", known=True)
        name = region.names.strict(written)
        if name is None:
            raise NotACall
        yield from region.space()
        body = yield from read_json(region, _MARK)
        if not region.fits(name, keys_of(body)):
            raise NotACall
        region.add(name, body, "functionary")
        if not (yield from region.optional(_MARK)):
            return


LINE_HEAD = (Format("functionary", _MARK, read_line),)
