"""When two spellings are the same name, and which declared tools a name means despite its spelling.

Names of tools, parameters and members of an enum may differ in case and separators only; mere similarity never
counts. A tool's name may also have a known prefix or the number of the call.

No part that may be a name itself is dropped: `sandbox.Bash` and `mcp__sandbox__Bash` are other tools than `Bash`.
Only the words of `PREFIXES` mean nothing; a server or a namespace counts if it is declared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from .declared import Tool, Tools

PREFIXES: Final = ("functions", "function", "tools", "tool", "default_api", "repo_browser", "paloma")
"""What models write before a tool's name (`name.namespace_prefix` of the facts): the namespaces of gpt-oss, Kimi and
Gemini, and two that models were seen to invent. Every other prefix is part of the name."""

MCP: Final = "mcp__"

_PREFIX: Final = re.compile(rf"(?:{'|'.join(PREFIXES)})(?:::|[.:/])", re.IGNORECASE)
_NUMBER: Final = re.compile(r":\d{1,6}\Z")
_NAMESPACE: Final = re.compile(r"[.:/]|__")
"""The separators between a namespace and a name."""
_SEPARATOR: Final = re.compile(r"[\s_\-.:/]+")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


_WORD_SEPARATORS: Final = re.compile(r"[\s_\-]+")


def normalize(text: str) -> str:
    """A name without case and separators: `Read_File`, `read-file` and `readFile` become the same.

    A separator between two digits is kept (`v1_0` is not `v10`).
    """
    return _fold(text, _SEPARATOR)


def normalize_value(text: str) -> str:
    """An enum member without case and separators.

    `.`, `:` and `/` carry meaning there, and a leading `-` is a sign.
    """
    stripped = text.strip()
    sign = "-" if stripped[:1] == "-" else ""
    return sign + _fold(stripped, _WORD_SEPARATORS)


def _fold(text: str, separators: re.Pattern[str]) -> str:
    parts = [part for part in separators.split(text.casefold()) if part]
    folded: list[str] = []
    for part in parts:
        if folded and folded[-1][-1].isdigit() and part[0].isdigit():
            folded.append("_")
        folded.append(part)
    return "".join(folded)


@dataclass(slots=True, frozen=True)
class _Spelled:
    tool: Tool
    separators: frozenset[int]
    """The positions of separators in the declared name, counted in characters of its folded form."""
    humps: frozenset[int]
    """The positions where a capital begins a word, as in `readFile`, counted likewise."""


class Declared:
    """The tools that the client runs itself, by the spellings under which they are recognised."""

    def __init__(self, tools: Tools) -> None:
        self._exact: dict[str, list[Tool]] = {}
        self._folded: dict[str, list[_Spelled]] = {}
        for tool in tools:
            if tool.kind == "server":
                continue
            self._exact.setdefault(tool.name, []).append(tool)
            for spelling, folded in {spelling: normalize(spelling) for spelling in _spellings(tool)}.items():
                if folded:
                    spelled = _Spelled(tool, _places(_SEPARATOR, spelling), _places(_HUMP, spelling))
                    self._folded.setdefault(folded, []).append(spelled)

    def exact(self, name: str) -> list[Tool]:
        """The tools of this name: those outside all namespaces, else all inside."""
        found = self._exact.get(name, [])
        outside = [tool for tool in found if tool.namespace is None]
        return outside or found

    def folded(self, name: str, *, humps: bool = True) -> list[Tool]:
        """The tools whose names differ from this one in case and separators only.

        The part before a `.` or `__` may be a namespace, so a word of the declared name must end there too:
        `linear.list_issues` is `linear_list_issues`, but `ba.sh` is not `Bash`. `humps`: a capital counts as well.
        """
        folded = normalize(name)
        found = self._folded.get(folded, [])
        if found and _NAMESPACE.search(name):
            inside = _places(_NAMESPACE, name) - {len(folded)}
            found = [it for it in found if inside <= (it.separators | it.humps if humps else it.separators)]
        return list({id(it.tool): it.tool for it in found}.values())

    def begins(self, written: str) -> bool:
        """Whether this can be the beginning of a declared name, or of a prefix before one."""
        low = written.lower()
        if any(prefix.startswith(low) for prefix in PREFIXES):
            return True
        bare = (written, *(written[end:] for end in _prefix_ends(written)))[-1]
        return any(folded.startswith(normalize(bare)) for folded in self._folded)


def declared_of(tools: Tools) -> Declared:
    """The spellings of these tools, computed on first use."""
    if tools.index is None:
        tools.index = Declared(tools)
    index: Declared = tools.index
    return index


def readings(name: str, declared: Declared) -> Iterator[tuple[str, list[Tool]]]:
    """Each way to read the name, and the tools that it then means; the boldest last."""
    yield "", declared.exact(name)
    yield "case or separators", declared.folded(name)
    for rest in without_prefixes(name):
        yield "known prefix dropped", declared.exact(rest) or declared.folded(rest)
    bare = _NUMBER.sub("", name)  # Kimi's ids are `functions.read:0`
    if bare != name:
        for rest in (bare, *without_prefixes(bare)):
            yield "number of the call dropped", declared.exact(rest) or declared.folded(rest)
    # Some clients join server and tool with `_`: their `linear_list_issues` is `mcp__linear__list_issues` elsewhere.
    server, between, tool = name.removeprefix(MCP).partition("__") if name.startswith(MCP) else ("", "", "")
    if between and normalize(server) and normalize(tool):
        yield "mark of an MCP tool dropped", declared.folded(name.removeprefix(MCP), humps=False)


def without_prefixes(name: str) -> Iterator[str]:
    """The name without its first known prefix, without its first two, and so on."""
    return (name[end:] for end in _prefix_ends(name) if end < len(name))


def _prefix_ends(name: str) -> Iterator[int]:
    at = 0
    while (prefix := _PREFIX.match(name, at)) is not None:
        yield (at := prefix.end())


def _spellings(tool: Tool) -> set[str]:
    if tool.namespace is not None:
        whole = f"{tool.namespace}.{tool.name}"
        return {tool.name, whole, whole.removeprefix(MCP)}
    return {tool.name, tool.name.removeprefix(MCP)}


def _places(pattern: re.Pattern[str], name: str) -> frozenset[int]:
    """The positions of the pattern in a name, counted in characters of its folded form."""
    return frozenset(len(normalize(name[: match.start()])) for match in pattern.finditer(name))
