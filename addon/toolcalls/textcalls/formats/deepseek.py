"""DeepSeek V3 and R1: `function<｜tool▁sep｜>N`, then a json fence; V3.1: `N<｜tool▁sep｜>{…}`.

Step3 uses the same tokens, with plain underscores, around a `<steptml:invoke>`.
"""

from __future__ import annotations

from ..cursor import Step
from ..jsontext import read_json
from ..region import Format, Region
from . import invoke
from .token_section import TokenSection


def _spelled(*words: str) -> tuple[str, ...]:
    """All spellings of a token: with fullwidth or ASCII bars, and with what renderers turn U+2581 into."""
    return tuple(f"<{bar}{join.join(words)}{bar}>" for bar in "｜|" for join in ("▁", "_", " ", "\\_"))


_SECTION = TokenSection(
    begin=_spelled("tool", "calls", "begin"),
    # Kimi K2 has this spelling too, and other tokens around it.
    call=tuple(token for token in _spelled("tool", "call", "begin") if token != "<|tool_call_begin|>"),
    call_end=_spelled("tool", "call", "end"),
    end=_spelled("tool", "calls", "end"),
)
_SEPARATOR = _spelled("tool", "sep")


def read(region: Region) -> Step[None]:
    yield from _SECTION.read(region, _call)


def _call(region: Region) -> Step[None]:
    written = yield from region.word("<")
    yield from region.expect(_SEPARATOR)
    format = "deepseek-v3.1"
    if written.strip() == "function":
        inner, _ = yield from region.ahead(("<steptml:invoke ", "<invoke "))
        if inner:
            yield from invoke.read_inside(region, "step3")
            yield from region.optional(_SECTION.call_end)
            return
        format = "deepseek-v3"
        written = yield from region.word("`{")
    yield from region.space()
    fence = yield from region.optional(("```json", "```"))
    yield from region.space()
    body = yield from read_json(region, (*_SECTION.call_end, *_SECTION.end))
    if fence:
        yield from region.optional(("```",))
    yield from _SECTION.end_call(region)
    region.add(region.names.resolve(written), body, format)


FORMATS = (Format("deepseek-v3", _SECTION.openers, read),)
