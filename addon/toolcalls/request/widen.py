"""`toolfix_schemas=widen`: sends the declared tools upstream in a form that hosts accept.

Schemas lose the keywords that servers fail on, and names that hosts refuse get their short form everywhere in the
request. For the response the client's own declarations count, and `mend/names.py` restores the long names.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..mend.reading.strict import write
from ..tools.schema.widened import widened
from ..tools.short_names import short_name
from .declared_entries import declared_entries
from .edits import Path
from .request_edit import RequestEdit

Json = dict[str, Any]

_SCHEMAS = ("parameters", "input_schema")


def widen_tools(request: Json, edit: RequestEdit, at: Path = ()) -> None:
    long_names: set[str] = set()
    for tool, body, path in declared_entries(request, at):
        if tool.kind != "function" or not edit.touches(tool.name):
            continue
        for key in _SCHEMAS:
            schema = body.get(key)
            if isinstance(schema, dict) and (wide := widened(schema)) is not schema:
                edit.edits.replace((*path, key), write(wide))
                edit.count("schema widened")
        # Without aggregation, calls are sent as they arrive, and a short name could not be turned back.
        if tool.namespace is None and edit.policy.aggregate and short_name(tool.name) != tool.name:
            long_names.add(tool.name)
            edit.edits.replace((*path, "name"), write(short_name(tool.name)))
            edit.count("name shortened")
    if long_names:
        for path, name in _tool_names(request, at):
            if isinstance(name, str) and name in long_names:
                edit.edits.replace(path, write(short_name(name)))


def _tool_names(request: Json, at: Path) -> Iterator[tuple[Path, Any]]:
    """The paths and names where a request names a tool outside its declaration: the tool choice and the history."""
    for key in ("tool_choice", "function_call"):
        yield from _chosen(request.get(key), (*at, key), 0)
    for number, message in _entries(request, "messages"):
        path = (*at, "messages", number)
        for call, entry in _entries(message, "tool_calls"):
            yield from _name_of(entry.get("function"), (*path, "tool_calls", call, "function"))
        yield from _name_of(message.get("function_call"), (*path, "function_call"))
        if message.get("role") in ("tool", "function"):
            yield from _name_of(message, path)
        for block, entry in _entries(message, "content"):
            if entry.get("type") == "tool_use":
                yield from _name_of(entry, (*path, "content", block))
    for number, item in _entries(request, "input"):
        if item.get("type") == "function_call":
            yield from _name_of(item, (*at, "input", number))


def _chosen(choice: Any, path: Path, depth: int) -> Iterator[tuple[Path, Any]]:
    if not isinstance(choice, dict) or depth > 2:
        return
    yield from _name_of(choice, path)
    for key in ("function", "allowed_tools"):
        yield from _chosen(choice.get(key), (*path, key), depth + 1)
    for number, entry in _entries(choice, "tools"):
        yield from _chosen(entry, (*path, "tools", number), depth + 1)


def _name_of(entry: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(entry, dict) and "name" in entry:
        yield (*path, "name"), entry["name"]


def _entries(holder: Json, key: str) -> Iterator[tuple[int, Json]]:
    entries = holder.get(key)
    for number, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict):
            yield number, entry
