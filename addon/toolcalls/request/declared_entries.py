"""Finds the entries that declare the tools of a request, and their paths in the body."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ..tools.declared import Tool, read_tool
from .edits import Path

Json = dict[str, Any]

MAX_NESTING = 4


class DeclaredEntry(NamedTuple):
    tool: Tool
    body: Json
    """The object with the name, the description and the schema."""
    at: Path


def declared_entries(request: Json, at: Path = ()) -> Iterator[DeclaredEntry]:
    for key in ("tools", "functions"):
        yield from _entries(request.get(key), (*at, key), None, 0)
    items = request.get("input")
    for number, item in enumerate(items if isinstance(items, list) else ()):
        if isinstance(item, dict) and item.get("type") == "additional_tools":
            yield from _entries(item.get("tools"), (*at, "input", number, "tools"), None, 0)


def _entries(entries: object, at: Path, namespace: str | None, depth: int) -> Iterator[DeclaredEntry]:
    if not isinstance(entries, list) or depth > MAX_NESTING:
        return
    for number, entry in enumerate(entries):
        if not isinstance(entry, dict):
            continue
        if entry.get("type") == "namespace":
            name = entry.get("name")
            yield from _entries(entry.get("tools"), (*at, number, "tools"), str(name), depth + 1)
            continue
        tool = read_tool(entry, namespace)
        if tool is not None:
            inner = entry.get("function")
            if isinstance(inner, dict):
                yield DeclaredEntry(tool, inner, (*at, number, "function"))
            else:
                yield DeclaredEntry(tool, entry, (*at, number))
