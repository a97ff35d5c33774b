"""Harmony (gpt-oss): `<|channel|>commentary to=functions.N <|constrain|>json<|message|>{json}<|call|>`.

The recipient may be in the role instead, and the special tokens may be stripped. An analysis message that leads to
a call belongs to the call's region; any other message is text.
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
_ASSISTANT = "assistant"
GLUED = tuple(_ASSISTANT + rest for rest in (_STRIPPED, " to=functions.", "<|channel|>"))
"""The role without its `<|start|>`, glued to the end of a sentence."""


def read(region: Region) -> Step[None]:
    while True:
        yield from region.expect(_START)
        header, mark = yield from region.until(("<|message|>", "\n"), 200)
        if mark != "<|message|>":
            raise CutOff if not (yield from region.peek()) else NotACall
        recipient = _RECIPIENT.search(header.replace("<|", " <|"))
        region.pos += len(mark)
        if recipient is None and "analysis" not in header:
            yield from region.expect((_STRIPPED,))  # a message that begins with a header without tokens
            yield from _stripped(region)
            return
        if recipient is not None:
            if "analysis" in header:
                raise NotACall  # Reasoning about a call.
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
        if mark == "<|channel|>":
            raise NotACall  # Reasoning has to end before anything else begins.
        if mark in _END:
            region.pos += len(mark)


def read_stripped(region: Region) -> Step[None]:
    """Read `commentary to=functions.N json{…}`, one or several, with or without the name of the role before it."""
    count = 0
    while True:
        found, _ = yield from region.ahead((_STRIPPED, *GLUED))
        if not found:
            break
        yield from region.space()
        count += 1
        if found.endswith("<|channel|>"):
            region.pos += len(_ASSISTANT)
            yield from read(region)
        else:
            region.pos += len(found)
            yield from _stripped(region)
    if not count:
        raise NotACall


def _stripped(region: Region) -> Step[None]:
    written = ""
    while (char := (yield from region.peek())) and (char.isalnum() or char in "_-.:"):
        written += char
        region.pos += 1
        if len(written) > 128:
            raise NotACall
    spelled = (written.removesuffix(glued) for glued in ("", "json", "commentary", "commentaryjson"))
    name = next((name for each in spelled if (name := region.names.strict(each))), None)
    if name is None:
        raise NotACall if char else CutOff
    if (yield from region.optional(("<|channel|>",))):
        yield from region.expect(("commentary",))
    yield from region.optional(("commentary",))
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
    Format("harmony", _START, read),
    Format("harmony", GLUED, read_stripped, preceded_by="."),
)
LINE_HEAD = (Format("harmony", (_STRIPPED,), read_stripped),)
