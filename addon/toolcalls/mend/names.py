"""The name of a call, brought back to the one declared tool that it can only mean.

A ladder of equalities, each weaker than the one before: exact; case and separators; template tokens and
invented prefixes cut away; repetition undone; a field's name glued to the end. The first rung with a match
decides: one tool, or none when it fits several. Likeness is no rung.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from ..tools import Tool, Tools
from .fold import fold

Status = Literal["exact", "mended", "unknown", "not_a_name"]

_MAX_NAME = 512
_MAX_NAME_WITH_ARGUMENTS = 1_000_000

_LEADING_TOKENS: Final = re.compile(r"\A(?:\s*<[^<>]{0,80}>)+")
_PAIR: Final = re.compile(r"\s*<arg_key>([^<>]*)</arg_key>\s*<arg_value>", re.ASCII)
_VALUE_END: Final = "</arg_value>"
_AFTER_PAIRS: Final = re.compile(r"\s*(?:</tool_call>\s*)?\Z")
_JSON_AFTER_TOKENS: Final = re.compile(r"\A(?:<\|[^<>|]{0,80}\|>[\w\s]*)+(?=\{)")
_CALL_INDEX: Final = re.compile(r"\A(.+):\d{1,4}\Z", re.DOTALL)
_PREFIX: Final = re.compile(r"\A[\w\-]+(?:[.:/][\w\-]+)*[.:/]{1,2}\Z")
_MCP: Final = "mcp__"
# Words of the wire that servers glue to a name (`read_filearguments`, facts/zai.md section 12).
_GLUED: Final = ("arguments", "parameters")


@dataclass(slots=True, frozen=True)
class NameMended:
    name: str
    """The declared name; as it came where the status is `unknown` or `not_a_name`."""
    status: Status
    steps: tuple[str, ...] = ()
    arguments: dict[str, str] | str | None = None
    """Arguments found inside the name: raw `<arg_value>` strings, still without a type, or JSON text."""
    namespace: str | None = None
    tool: Tool | None = None


def mend_name(name: str, tools: Tools, namespace: str | None = None) -> NameMended:
    """`namespace` is the one that the call carries itself, where its protocol has such a field.

    With no declared tools at all nothing can be said: the status is `unknown` and means just that.
    """
    declared = tools.get(name, namespace)
    if declared is not None and declared.namespace == namespace:
        return NameMended(name, "exact", namespace=namespace, tool=declared)
    if not any(character.isalnum() for character in name):
        return NameMended(name, "not_a_name", namespace=namespace)
    unknown = NameMended(name, "unknown", namespace=namespace)
    if not len(tools) or len(name) > _MAX_NAME_WITH_ARGUMENTS:
        return unknown
    index = _index(tools)
    spoken = name if namespace is None else f"{namespace}.{name}"
    steps: list[str] = []
    arguments: dict[str, str] | str | None = None
    bare = spoken
    if "<" in spoken:
        cut = _without_tokens(spoken)
        if cut is None:
            return unknown
        bare, arguments = cut
        steps.append("name: template tokens cut" if arguments is None else "name: arguments taken out of it")
    if len(bare) > _MAX_NAME:
        return unknown
    for what, matches in _rungs(bare, tools, index):
        if not matches:
            continue
        if len(matches) > 1:
            return unknown
        tool = matches[0]
        if what:
            steps.append(f"name: {what}")
        if tool.namespace != namespace:
            steps.append("name: namespace set as declared")
        return NameMended(tool.name, "mended", tuple(steps), arguments, tool.namespace, tool)
    return unknown


def _rungs(name: str, tools: Tools, index: _Index) -> Iterator[tuple[str, list[Tool]]]:
    yield "", index.exact(name)
    yield "case or separators", index.folded(name)
    for rest in _without_prefix(name):
        yield "invented prefix dropped", index.exact(rest) or index.folded(rest)
    # `mcp__server__tool` is a name of its own where the client defers tools: only the exact rest will do.
    if name.startswith(_MCP):
        for match in list(re.finditer("__", name))[1:8]:
            yield "invented prefix dropped", index.exact(name[match.end() :])
    yield "repetition undone", index.repeated(name)
    yield "glued word dropped", index.glued(name)


class _Index:
    """The callable tools under the spellings that they are recognised by."""

    __slots__ = ("_exact", "_folded")

    def __init__(self, tools: Tools) -> None:
        self._exact: dict[str, list[Tool]] = {}
        self._folded: dict[str, list[Tool]] = {}
        for tool in tools:
            if tool.kind == "server":
                continue
            self._exact.setdefault(tool.name, []).append(tool)
            spellings = {fold(tool.name)}
            if tool.namespace is not None:
                whole = f"{tool.namespace}.{tool.name}"
                spellings |= {fold(whole), fold(whole.removeprefix(_MCP))}
            elif tool.name.startswith(_MCP):
                spellings.add(fold(tool.name.removeprefix(_MCP)))
            for spelling in spellings:
                if spelling:
                    self._folded.setdefault(spelling, []).append(tool)

    def exact(self, name: str) -> list[Tool]:
        found = self._exact.get(name, [])
        outside = [tool for tool in found if tool.namespace is None]
        return outside or found

    def folded(self, name: str) -> list[Tool]:
        return self._folded.get(fold(name), [])

    def repeated(self, name: str) -> list[Tool]:
        """The tools of which the name is two or more copies."""
        found: dict[int, Tool] = {}
        for size in range(1, len(name) // 2 + 1):
            if len(name) % size == 0 and name[:size] * (len(name) // size) == name:
                unit = name[:size]
                matches = self.exact(unit) or self.folded(unit)
                for rest in () if matches else _without_prefix(unit):
                    matches = matches or self.exact(rest)
                found.update((id(tool), tool) for tool in matches)
        return list(found.values())

    def glued(self, name: str) -> list[Tool]:
        found: list[Tool] = []
        for word in _GLUED:
            if name.endswith(word):
                found += self._exact.get(name.removesuffix(word), [])
        return found


def _index(tools: Tools) -> _Index:
    if tools.index is None:
        tools.index = _Index(tools)
    index: _Index = tools.index
    return index


def _without_prefix(name: str) -> Iterator[str]:
    """What is left without an invented prefix, the least cut first."""
    if name.startswith(_MCP):
        yield name.removeprefix(_MCP)
    bodies = [name]
    indexed = _CALL_INDEX.match(name)
    if indexed:
        bodies.append(indexed[1])  # Kimi's ids are `functions.read:0`
        yield indexed[1]
    for body in bodies:
        for cut in [place for place, character in enumerate(body) if character in ".:/"][:8]:
            if _PREFIX.match(body[: cut + 1]) and body[cut + 1 :]:
                yield body[cut + 1 :]


def _without_tokens(name: str) -> tuple[str, dict[str, str] | str | None] | None:
    """The name before the first template token, and the arguments behind it. None when those are cut off."""
    opened = _LEADING_TOKENS.match(name)
    rest = name[opened.end() :] if opened else name
    cut = rest.find("<")
    if cut < 0:
        return rest.strip(), None
    bare, tail = rest[:cut].strip(), rest[cut:]
    if tail.startswith("<arg_key>"):
        if not tail.removeprefix("<arg_key>").strip():
            return bare, None
        pairs = _pairs(tail)
        return None if pairs is None else (bare, pairs)
    json_text = _JSON_AFTER_TOKENS.match(tail)
    if json_text:
        return bare, tail[json_text.end() :]
    if "<arg_key>" in tail or "<arg_value>" in tail or "{" in tail:
        return None
    return bare, None


def _pairs(text: str) -> dict[str, str] | None:
    """`<arg_key>…</arg_key><arg_value>…</arg_value>` pairs and nothing else; None otherwise."""
    pairs: dict[str, str] = {}
    at = 0
    while True:
        if _AFTER_PAIRS.match(text, at):
            return pairs or None
        opened = _PAIR.match(text, at)
        if opened is None:
            return None
        end = text.find(_VALUE_END, opened.end())
        key = opened[1].strip()
        if end < 0 or not key or key in pairs:
            return None
        pairs[key] = text[opened.end() : end]
        at = end + len(_VALUE_END)
