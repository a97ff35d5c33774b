"""`<invoke name="N"><parameter name="K">V</parameter></invoke>`: Claude, and models that imitate it.

The same block appears bare, in `<function_calls>`, with a namespace (which some of the tags may lack), in
`<minimax:tool_call>` (MiniMax M2), and as `<steptml:invoke>` between the tokens of Step3.
"""

from __future__ import annotations

from ..cursor import Step
from ..region import Format, Region
from ..tags import Tags, read_blocks

_ANTML = "antml" + ":"
_NAMESPACES = ("", _ANTML, "atem:", "minimax:", "steptml:")
_WRAPPERS = ("function_calls", "tool_calls", "tool_call", "minimax:tool_call")

_TAGS = {
    name: Tags(
        name,
        block=tuple(f"<{space}invoke " for space in _NAMESPACES),
        block_end=tuple(f"</{space}invoke>" for space in _NAMESPACES),
        parameter=tuple(f"<{space}parameter " for space in _NAMESPACES),
        parameter_end=tuple(f"</{space}parameter>" for space in _NAMESPACES),
        wrapper_end=(
            *(f"</{space}{wrapper}>" for space in ("", _ANTML, "atem:") for wrapper in _WRAPPERS),
            "<｜tool_call_end｜>",
        ),
    )
    for name in ("invoke", "atem", "minimax-m2", "step3")
}

WRAPPERS = {
    "<function_calls>": "invoke",
    f"<{_ANTML}function_calls>": "invoke",
    "<atem:function_calls>": "atem",
    "<minimax:tool_call>": "minimax-m2",
}
BARE = {
    "<invoke name=": "invoke",
    f"<{_ANTML}invoke name=": "invoke",
    "<atem:invoke name=": "atem",
}


def read_wrapped(region: Region) -> Step[None]:
    opener = yield from region.expect(tuple(WRAPPERS))
    yield from region.optional((opener,))  # the opener written twice
    yield from read_blocks(region, _TAGS[WRAPPERS[opener]], wrapped=True)


def read_bare(region: Region) -> Step[None]:
    opener, _ = yield from region.ahead(tuple(BARE), space=False)
    yield from read_blocks(region, _TAGS[BARE.get(opener or "", "invoke")], wrapped=False)


_XAI = Tags(
    "xai",
    block=("<xai:function_call ",),
    block_end=("</xai:function_call>",),
    parameter=("<parameter ", "<xai:parameter "),
    parameter_end=("</parameter>", "</xai:parameter>"),
)


def read_xai(region: Region) -> Step[None]:
    yield from read_blocks(region, _XAI, wrapped=False)


def read_inside(region: Region, format: str) -> Step[None]:
    """Read the blocks after a wrapper that another format has read."""
    yield from read_blocks(region, _TAGS[format], wrapped=True)


FORMATS = (
    Format("invoke", tuple(WRAPPERS), read_wrapped),
    Format("invoke", tuple(BARE), read_bare),
    Format("xai", ("<xai:function_call name=",), read_xai),
)
