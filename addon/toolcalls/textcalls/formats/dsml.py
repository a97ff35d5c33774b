"""DeepSeek DSML: `<｜DSML｜invoke name="N">` and `<｜DSML｜parameter name="K" string="true|false">`.

The section is `function_calls` (V3.2), `tool_calls` (V4) or missing. The bars are fullwidth, ASCII or doubled, and
may have spaces around them. `string="true"` means raw text, `"false"` JSON; the schema overrides both.
"""

from __future__ import annotations

from functools import lru_cache

from ..cursor import CutOff, NotACall, Step
from ..envelope import read_calls
from ..region import Format, Region
from ..tags import Tags, read_blocks

_BARS = ("｜", "|", "||", "｜｜", "‖", "∥")
OPENERS = tuple(f"<{before}{bar}{after}DSML" for before in ("", " ") for bar in _BARS for after in ("", " "))
_SECTIONS = ("function_calls", "tool_calls", "calls", "tool_use", "tool_call", "function_call")


@lru_cache(maxsize=64)
def _tags(head: str) -> Tags:
    """The tags of an answer that spells `<｜DSML｜` as `head`."""
    heads = {head, head.rstrip(), "<｜DSML｜"}
    opens = tuple(sorted({f"{spelling}{gap}" for spelling in heads for gap in ("", " ")}))
    closes = tuple(sorted({spelling.replace("<", slash, 1) for spelling in opens for slash in ("</", "< /")}))
    return Tags(
        "deepseek-dsml",
        block=tuple(f"{spelling}invoke " for spelling in opens),
        block_end=tuple(f"{spelling}invoke>" for spelling in closes),
        parameter=tuple(f"{spelling}parameter " for spelling in opens),
        parameter_end=tuple(f"{spelling}parameter>" for spelling in closes),
        wrapper_end=tuple(f"{spelling}{section}>" for spelling in closes for section in _SECTIONS),
        children=False,
    )


def read(region: Region) -> Step[None]:
    region.record()
    yield from region.expect(OPENERS)
    while (char := (yield from region.peek())) and char in "｜|‖∥ ":
        region.pos += 1
    head = region.recorded()
    if len(head) > 16:
        raise NotACall
    tags = _tags(head)
    section = yield from region.optional((*(f"{name}>" for name in _SECTIONS), "invoke "), space=False)
    if section is None:
        raise CutOff if not (yield from region.peek()) else NotACall
    if section == "invoke ":
        yield from _first(region, tags)
        return
    yield from region.space()
    if (yield from region.peek()) in ("{", "["):
        yield from read_calls(region, tags.format, tags.wrapper_end)
        return
    yield from read_blocks(region, tags, wrapped=True)


def _first(region: Region, tags: Tags) -> Step[None]:
    from ..tags import read_block

    yield from read_block(region, tags, "invoke ", known=False)
    found, _ = yield from region.ahead(tags.block)
    if found:
        yield from read_blocks(region, tags, wrapped=True)
    else:
        yield from region.optional(tags.wrapper_end)


FORMATS = (Format("deepseek-dsml", OPENERS, read),)
