"""`<tool_calls>`: the section that Hunyuan, Jamba, Apriel and MiniMax M1 share.

Inside is a list in JSON (Hunyuan A13B, Jamba, Apriel), JSON objects (M1), `<tool_call>` (Hunyuan HY-V3, whose tags
may all have a `:NONCE`), or `<invoke` (MiniMax M2 with the wrong wrapper).
"""

from __future__ import annotations

from ..cursor import NotACall, Step
from ..envelope import read_calls
from ..region import Format, Region
from . import invoke
from .glm import hunyuan, read_pairs


def read(region: Region) -> Step[None]:
    opener = yield from region.expect(("<tool_calls>", "<tool_calls:"))
    nonce = ""
    if opener.endswith(":"):
        nonce = ":" + (yield from _nonce(region))
    closer = f"</tool_calls{nonce}>"
    yield from region.space()
    char = yield from region.peek()
    if char in ("{", "[", "`"):
        yield from read_calls(region, "hunyuan", (closer,), must_close=True)
        return
    tags = hunyuan(nonce)
    inner, _ = yield from region.ahead((tags.again, "<invoke ", "<tool_call:"))
    if inner == "<invoke ":
        yield from invoke.read_inside(region, "minimax-m2")
        return
    if inner != tags.again:
        raise NotACall
    while (yield from region.optional((tags.again,))):
        yield from read_pairs(region, tags)
    yield from region.optional((closer,))


def read_call(region: Region) -> Step[None]:
    """Read a call of HY-V3 that has no section around it."""
    yield from region.expect(("<tool_call:",))
    tags = hunyuan(":" + (yield from _nonce(region)))
    yield from read_pairs(region, tags)
    yield from region.optional((tags.end.replace("tool_call", "tool_calls"),))


def _nonce(region: Region) -> Step[str]:
    nonce = ""
    while (char := (yield from region.peek())) != ">":
        if (not char.isalnum() and char not in ("_", "-")) or len(nonce) > 64:
            raise NotACall
        nonce += char
        region.pos += 1
    region.pos += 1
    return nonce


FORMATS = (
    Format("hunyuan", ("<tool_calls>", "<tool_calls:"), read),
    Format("hunyuan", ("<tool_call:",), read_call),
)
