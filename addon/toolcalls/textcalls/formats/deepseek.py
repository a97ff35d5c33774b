"""DeepSeek V3 and R1: `function<｜tool▁sep｜>N`, then a json fence; V3.1: `N<｜tool▁sep｜>{…}`.

Step3 has the same tokens with plain underscores around a `<steptml:invoke>`.
"""

from __future__ import annotations

from toolcalls.textcalls.cursor import CutOff, NotACall, Step
from toolcalls.textcalls.formats import invoke
from toolcalls.textcalls.jsontext import read_json
from toolcalls.textcalls.region import Format, Region

_SECTION = ("<｜tool▁calls▁begin｜>", "<｜tool_calls_begin｜>")
_CALL = ("<｜tool▁call▁begin｜>", "<｜tool_call_begin｜>")
_SEPARATOR = ("<｜tool▁sep｜>", "<｜tool_sep｜>")
_CALL_END = ("<｜tool▁call▁end｜>", "<｜tool_call_end｜>")
_SECTION_END = ("<｜tool▁calls▁end｜>", "<｜tool_calls_end｜>")
_ENDS = (*_CALL_END, *_SECTION_END)


def read(region: Region) -> Step[None]:
    yield from region.optional(_SECTION)
    count = 0
    while True:
        begun = yield from region.optional(_CALL)
        if begun is None:
            break
        yield from _call(region)
        count += 1
    if not count:
        raise CutOff if not (yield from region.peek()) else NotACall
    yield from region.optional(_SECTION_END)


def _call(region: Region) -> Step[None]:
    written, mark = yield from region.until((*_SEPARATOR, *_ENDS, "\n"), 160)
    if mark is None or mark not in _SEPARATOR:
        raise CutOff if not (yield from region.peek()) else NotACall
    region.pos += len(mark)
    format = "deepseek-v3.1"
    if written.strip() == "function":
        inner, _ = yield from region.ahead(("<steptml:invoke ", "<invoke "))
        if inner:
            yield from invoke.read_inside(region, "step3")
            yield from region.optional(_CALL_END)
            return
        format = "deepseek-v3"
        written, mark = yield from region.until(("\n", "```", "{"), 160)
        if mark is None:
            raise CutOff if not (yield from region.peek()) else NotACall
    yield from region.space()
    fence = yield from region.optional(("```json", "```"))
    yield from region.space()
    body = yield from read_json(region, _ENDS)
    if fence:
        yield from region.optional(("```",))
    found, length = yield from region.ahead((*_ENDS, *_CALL))
    if found in _CALL_END:
        region.pos += length
    elif found is None:
        raise NotACall
    region.add(region.names.resolve(written), body, format)


FORMATS = (Format("deepseek-v3", (*_SECTION, *_CALL), read, tokens=True),)
