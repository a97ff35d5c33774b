"""Qwen3-Coder: `<tool_call>\\n<function=N>\\n<parameter=K>\\nV\\n</parameter>\\n</function>\\n</tool_call>`.

Also Step-3.5, Seed-OSS (with its own wrapper), and Llama's `<function=N>{json}</function>`. Without the wrapper
the marker is weak (`#include <functional>`), so it is a call only if the name is declared.
"""

from __future__ import annotations

from ..cursor import CutOff, NotACall, Step
from ..region import Format, Region
from ..tags import Tags, read_block, read_body, read_name

WRAPPER_END = ("</tool_call>", "</toolcall>", "</seed:tool_call>")


def _tags(name: str) -> Tags:
    return Tags(
        name,
        block=("<function=", "<function "),
        block_end=("</function>",),
        parameter=("<parameter=", "<parameter "),
        parameter_end=("</parameter>",),
        wrapper_end=WRAPPER_END,
        trim=True,
        children=False,
    )


_QWEN = _tags("qwen3-coder")
_SEED = _tags("seed-oss")
_LLAMA = _tags("llama3")
_MINICPM = Tags(
    "minicpm5",
    block=("<function ", "<function="),
    block_end=("</function>",),
    parameter=("<param ", "<parameter "),
    parameter_end=("</param>", "</parameter>"),
    wrapper_end=WRAPPER_END,
)


def read_functions(region: Region, tags: Tags = _QWEN, *, wrapped: bool) -> Step[None]:
    count = 0
    while True:
        opener = yield from region.optional(("<function",)) if count or wrapped else region.expect(("<function",))
        if opener is None:
            break
        yield from _function(region, tags, known=not wrapped)
        count += 1
    if not count:
        raise CutOff if not (yield from region.peek()) else NotACall
    yield from region.optional(WRAPPER_END)


def _function(region: Region, tags: Tags, *, known: bool) -> Step[None]:
    equals, _ = yield from region.ahead(("=", " name=", " "), space=False)
    if equals == " name=":
        region.pos += 1
        yield from read_block(region, _MINICPM, "<function ", known=known)
        return
    if equals:
        region.pos += 1
    # `<function N>` and `<functionN>` lost the `=`, so they are calls only if the name is declared.
    weak = known or equals != "="
    written = yield from read_name(region, ">", known=weak)
    name = region.names.resolve(written)
    if weak and name is None:
        raise NotACall
    yield from region.space()
    json = (yield from region.peek()) == "{"
    yield from read_body(region, _LLAMA if json and known else tags, name, must_close=known)


def read_bare(region: Region) -> Step[None]:
    yield from read_functions(region, wrapped=False)


def read_seed(region: Region) -> Step[None]:
    yield from region.expect(("<seed:tool_call>",))
    yield from read_functions(region, _SEED, wrapped=True)


FORMATS = (
    Format("qwen3-coder", ("<function",), read_bare),
    Format("seed-oss", ("<seed:tool_call>",), read_seed),
)
