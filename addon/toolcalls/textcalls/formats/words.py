"""Formats that begin with a word: `functools[{…}]` (Phi-4-mini, FireFunction), `Action:` and a json fence
(Command R+), `N {…}[TOOL_REQUEST_END]` (LM Studio), and what is left if a server removed the token at the beginning:
`N[ARGS]{…}` (Mistral), `assistant…` (Harmony)."""

from __future__ import annotations

from ...tools.declared import Tools
from ..cursor import NotACall, Step
from ..envelope import add_calls
from ..jsontext import read_json
from ..region import Format, Region
from . import harmony, mistral
from .bare import read_objects

ACTION = "Action:"
_FUNCTOOLS = "functools["
_INITIALS = frozenset(word[:2] for word in (_FUNCTOOLS, *harmony.GLUED))
_REQUEST_END = ("[TOOL_REQUEST_END]", "[END_TOOL_REQUEST]")


def may_be_word(begins: str, tools: Tools) -> bool:
    """Whether a message with these first two characters can begin with one of the words. Most cannot."""
    if len(begins) < 2 or begins in _INITIALS:
        return True
    return begins in tools.initials or begins[0] in tools.initials


def read_word(region: Region) -> Step[None]:
    """Read the calls of a message that begins with a word."""
    word, _ = yield from region.ahead((_FUNCTOOLS, *harmony.GLUED), space=False)
    if word == _FUNCTOOLS:
        region.pos += len(word) - 1
        yield from read_objects(region, "functools")
        return
    if word:
        yield from harmony.read_stripped(region)
        return
    written = ""
    while (char := (yield from region.peek())) and (char.isalnum() or char in "_-."):
        written += char
        if not any(tool.name.startswith(written) for tool in region.tools):
            raise NotACall
        region.pos += 1
    name = written
    if region.tools.get(name) is None:
        raise NotACall
    found, _ = yield from region.ahead(mistral.ARGUMENTS, space=False)
    if found:
        yield from mistral.read_call(region, name)
        while (yield from region.ahead(mistral.OPENER))[0]:
            yield from mistral.read(region)
        return
    yield from region.space(" ")
    if (yield from region.peek()) != "{":
        raise NotACall
    body = yield from read_json(region, _REQUEST_END)
    yield from region.expect(_REQUEST_END)
    region.add(name, body, "lmstudio")


def read_action(region: Region) -> Step[None]:
    """Read `Action:` and its fence, at the beginning of a line."""
    yield from region.expect((ACTION,))
    yield from region.expect(("```json", "```"))
    yield from region.space()
    body = yield from read_json(region)
    yield from region.expect(("```",))
    add_calls(region, body, "command-r")


LINE_HEAD = (Format("command-r", (ACTION,), read_action),)
