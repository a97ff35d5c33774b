"""Harmony (gpt-oss): `<|channel|>commentary to=functions.N <|constrain|>json<|message|>{json}<|call|>`.

The recipient may stand in the role, and the special tokens may be stripped. An analysis message that leads to
a call belongs to its region; any other message is text.
"""

from __future__ import annotations

import re

from ..cursor import CutOff, NotACall, Step
from ..envelope import keys_of
from ..jsontext import read_json
from ..region import Format, Region

_START = ("<|start|>assistant", "<|channel|>")
_END = ("<|call|>", "<|end|>", "<|return|>")
_RECIPIENT = re.compile(r"(?:^|\s)to=([\w.:/-]+)")
_STRIPPED = "commentary to=functions."
_GLUED = "=functions."
"""Behind `to`."""


def read(region: Region) -> Step[None]:
    while True:
        yield from region.expect(_START)
        header, mark = yield from region.until(("<|message|>", "\n"), 200)
        if mark != "<|message|>":
            raise CutOff if not (yield from region.peek()) else NotACall
        recipient = _RECIPIENT.search(header.replace("<|", " <|"))
        if recipient is None and "analysis" not in header:
            raise NotACall
        region.pos += len(mark)
        if recipient is not None:
            yield from region.space()
            body = yield from read_json(region, (*_END, *_START))
            found, length = yield from region.ahead((*_END, *_START))
            if found in _END:
                region.pos += length
            elif found is None:
                raise NotACall
            region.add(region.names.resolve(recipient[1]), body, "harmony")
            return
        _, mark = yield from region.until((*_END, *_START))
        if mark is None:
            raise CutOff
        if mark in _END:
            region.pos += len(mark)


def read_stripped(region: Region) -> Step[None]:
    """`commentary to=functions.N json{…}` at the head of a line, `=functions.N json{…}` glued to prose."""
    yield from region.expect((_STRIPPED, _GLUED))
    written = ""
    while (char := (yield from region.peek())) and (char.isalnum() or char in "_-.:"):
        written += char
        region.pos += 1
        if len(written) > 128:
            raise NotACall
    name = region.names.strict(written) or region.names.strict(written.removesuffix("json"))
    if name is None:
        raise NotACall if char else CutOff
    yield from region.optional(("<|constrain|>",))
    yield from region.optional(("json", "code"))
    yield from region.optional(("<|message|>",))
    yield from region.space()
    body = yield from read_json(region, _END)
    yield from region.optional(_END)
    if not region.fits(name, keys_of(body)):
        raise NotACall
    region.add(name, body, "harmony")


FORMATS = (
    Format("harmony", _START, read, tokens=True),
    Format("harmony", (_GLUED,), read_stripped, behind="o"),
)
LINE_HEAD = (Format("harmony", (_STRIPPED,), read_stripped),)
