"""`<tool_call>`: the opener that several formats share. What comes next decides which one it is.

`{` or `[` is Hermes JSON (Qwen2.5, Granite 3.1 and 4), `<function` is Qwen3-Coder, `<invoke` is Claude's, a name is
GLM.
"""

from __future__ import annotations

from ..cursor import NotACall, Step
from ..envelope import read_calls
from ..region import Format, Region
from . import invoke, qwen_coder
from .glm import read_pairs

OPENERS = ("<tool_call>", "<toolcall>")
_CLOSERS = ("</tool_call>", "</toolcall>")


def read(region: Region) -> Step[None]:
    yield from region.expect(OPENERS)
    while (yield from region.optional(OPENERS)):
        pass  # the opener written twice
    yield from region.space()
    char = yield from region.peek()
    if char in ("{", "[", "`"):
        yield from read_calls(region, "hermes", _CLOSERS, must_close=True, ends=OPENERS)
    elif char == "<":
        found, _ = yield from region.ahead(("<function", "<invoke "))
        if found == "<invoke ":
            yield from invoke.read_inside(region, "invoke")
        elif found:
            yield from qwen_coder.read_functions(region, wrapped=True)
        else:
            raise NotACall
    else:
        yield from read_pairs(region)


def read_tools(region: Region) -> Step[None]:
    yield from region.expect(("<tools>",))
    yield from region.space()
    if (yield from region.peek()) not in ("{", "["):
        raise NotACall
    yield from read_calls(region, "hermes", ("</tools>",), must_close=True)


FORMATS = (
    Format("tool_call", OPENERS, read),
    Format("hermes", ("<tools>",), read_tools),
)
