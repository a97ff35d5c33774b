"""DeepSeek V3 and R1: `function<｜tool▁sep｜>N`, then a json fence; V3.1: `N<｜tool▁sep｜>{…}`.

Step3 uses the same tokens, with plain underscores, around a `<steptml:invoke>`.
"""

from __future__ import annotations

from ..cursor import NotACall, Step
from ..jsontext import read_json
from ..region import Format, Region
from ..sections import read_section
from . import invoke


def _spelled(*words: str) -> tuple[str, ...]:
    """All spellings of a token: with fullwidth or ASCII bars, and with what renderers turn U+2581 into."""
    return tuple(f"<{bar}{join.join(words)}{bar}>" for bar in "｜|" for join in ("▁", "_", " ", "\\_"))


_SECTION = _spelled("tool", "calls", "begin")
_CALL = tuple(token for token in _spelled("tool", "call", "begin") if token != "<|tool_call_begin|>")
_SEPARATOR = _spelled("tool", "sep")
_CALL_END = _spelled("tool", "call", "end")
_SECTION_END = _spelled("tool", "calls", "end")
_ENDS = (*_CALL_END, *_SECTION_END)


def read(region: Region) -> Step[None]:
    yield from read_section(region, _SECTION, _CALL, _SECTION_END, _call)


def _call(region: Region) -> Step[None]:
    written = yield from region.word("<")
    yield from region.expect(_SEPARATOR)
    format = "deepseek-v3.1"
    if written.strip() == "function":
        inner, _ = yield from region.ahead(("<steptml:invoke ", "<invoke "))
        if inner:
            yield from invoke.read_inside(region, "step3")
            yield from region.optional(_CALL_END)
            return
        format = "deepseek-v3"
        written = yield from region.word("`{")
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


FORMATS = (Format("deepseek-v3", (*_SECTION, *_CALL), read),)
