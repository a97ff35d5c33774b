"""The tools that the request declared, by which names and shapes are decided.

A request declares tools in one of several wire shapes (Chat, the older `functions`, Messages, Responses with
namespaces and `additional_tools`, Gemini's `functionDeclarations`, whose schemas write types in capitals). Only the
name, the namespace, the kind and the JSON schema of the arguments are kept. Reading costs next to nothing: a schema
is prepared only when a call of its tool is looked at, and only once for all requests with the same schema.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .check import Check, Exhausted, View, view_of
from .schema import ARRAY, STRING, Node, prepare

Schema = Mapping[str, Any]
Kind = Literal["function", "custom", "server"]

INVALID = "invalid"
"""The name for a call that no tool of the client can take: agents answer an unknown tool with an error."""
_MAX_NESTING = 4
_OTHER_SCHEMA_KEYS = ("input_schema", "parametersJsonSchema", "parameters_json_schema")


@dataclass(slots=True)  # not frozen: that costs four times as much to make, for each tool of each request
class Tool:
    name: str
    schema: Schema | None = None
    """The JSON schema of the arguments; None if the request gave none."""
    kind: Kind = "function"
    """`custom`: its input is free text, never JSON to mend. `server`: the host runs it, not the client."""
    namespace: str | None = None
    _view: View | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def view(self) -> View | None:
        """What the schema says; None if there is none. It is prepared on first use."""
        if self._view is None and self.schema is not None and self.kind == "function":
            self._view = view_of(prepare(self.schema))
        return self._view

    @property
    def shell_like(self) -> bool:
        """Whether a property `command` or `cmd` may be a string or a list of strings."""
        view = self.view
        commands = [view.child(name) for name in ("command", "cmd")] if view is not None else []
        return any(
            command.says(STRING) or ((item := command.narrowed(ARRAY).item(0)) is not None and item.says(STRING))
            for command in commands
            if command is not None
        )

    def missing(self, value: object) -> tuple[str, ...]:
        """The required fields that are not there, except those with a default, which the client may fill in."""
        view = self.view
        if view is None:
            return ()
        present = value if isinstance(value, dict) else {}
        return tuple(
            name
            for name in view.required
            if name not in present and not any(map(_has_default, view.properties.get(name, ())))
        )

    def takes(self, value: dict[str, Any]) -> bool:
        """Whether, as far as the schema says, no required field is missing and every key is declared."""
        view = self.view
        if view is None or self.missing(value):
            return view is None
        open_ended = not view.keys_known or "properties" not in (self.schema or {})
        return open_ended or all(key in view.required or view.declares(key) for key in value)

    def fits(self, value: dict[str, Any]) -> bool | None:
        """Whether it takes the value, and no violation of the schema is found; None if that is too much work."""
        try:
            return self.takes(value) and (self.view is None or not Check().violations(self.view.node, value))
        except (Exhausted, RecursionError):
            return None

    @property
    def takes_nothing(self) -> bool:
        """Whether it declares that it has no parameters."""
        schema, view = self.schema or {}, self.view
        others = schema.get("additionalProperties") or schema.get("patternProperties")
        if view is None or not view.keys_known or "properties" not in schema or others:
            return False
        return not (view.properties or view.required)


def _has_default(node: Node) -> bool:
    seen = 0
    while node.ref is not None and not node.default and seen < 20:
        node, seen = node.ref, seen + 1
    return node.default


class Tools:
    """The declared tools by name. Empty if the request declared none or could not be read."""

    __slots__ = ("_tools", "index", "only_functions")

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        outside_first = sorted(tools, key=lambda tool: tool.namespace is not None)
        self._tools = {(tool.namespace, tool.name): tool for tool in outside_first}
        self.index: Any = None
        """Where `mend/names.py` keeps the spellings of these names."""
        # Every answer asks this, and answers share the tools.
        self.only_functions = all(tool.kind == "function" for tool in self)

    @classmethod
    def read(cls, request: object) -> Tools:
        """Read the tools of a decoded request body; whatever is not understood is left out."""
        return _shared([tool for tool, _ in declared(request)])

    def get(self, name: str, namespace: str | None = None) -> Tool | None:
        """The tool of that name. Without `namespace`: the tool outside all namespaces, else the only one inside."""
        tool = self._tools.get((namespace, name))
        if tool is not None or namespace is not None:
            return tool
        inside = [tool for tool in self._tools.values() if tool.name == name]
        return inside[0] if len(inside) == 1 else None

    def invalid(self, option: str) -> str | None:
        """The client's tool for invalid calls. `option` (`toolfix_invalid_tool`) counts even if undeclared."""
        declared = self.get(INVALID)
        return option or (INVALID if declared is not None and declared.namespace is None else None)

    def __iter__(self) -> Iterator[Tool]:
        # Each answer iterates over the tools several times, and a generator takes three times as long.
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)


_recent: dict[bytes, Tools] = {}
"""The tools of the last requests, the latest last. The key is bytes because 1, 1.0 and true are equal as values."""
_MOST_RECENT = 8
_MOST_BYTES = 1024 * 1024


def _shared(found: list[Tool]) -> Tools:
    """The `Tools` of an earlier request if they are the same, because agents declare their tools in every request.

    Otherwise every flow would have hundreds of objects of its own for as long as mitmproxy keeps the flow, and
    each of Python's full garbage collections, during which all streams wait, would walk through all of them.
    """
    if not found:
        return Tools()
    try:
        key = pickle.dumps([(tool.name, tool.schema, tool.kind, tool.namespace) for tool in found], 5)
    except RecursionError:
        return Tools(found)
    if len(key) > _MOST_BYTES:
        return Tools(found)
    known = _recent.pop(key, None)
    tools = _recent[key] = Tools(found) if known is None else known
    while len(_recent) > _MOST_RECENT:
        _recent.pop(next(iter(_recent)), None)
    return tools


def declared(request: object) -> list[tuple[Tool, dict[str, Any]]]:
    """The tools that a request declares, each with the entry that declares it."""
    found: list[tuple[Tool, dict[str, Any]]] = []
    if not isinstance(request, dict):
        return found
    for key in ("tools", "functions"):
        _gather(found, request.get(key), None, 0)
    items = request.get("input")
    if isinstance(items, list):
        # Codex declares tools in the conversation for its built-in models, the latest last.
        for item in items:
            if type(item) is dict and "tools" in item and item.get("type") == "additional_tools":
                _gather(found, item["tools"], None, 0)
    return found


def _gather(found: list[tuple[Tool, dict[str, Any]]], entries: object, namespace: str | None, depth: int) -> None:
    for entry in entries if isinstance(entries, list) and depth <= _MAX_NESTING else ():
        if not isinstance(entry, dict):
            continue
        listed = entry.get("functionDeclarations", entry.get("function_declarations"))
        if entry.get("type") == "namespace":
            name = entry.get("name")
            if isinstance(name, str) and name:
                _gather(found, entry.get("tools"), name, depth + 1)
        elif isinstance(listed, list):
            _gather(found, listed, namespace, depth + 1)
        elif (tool := read_tool(entry, namespace)) is not None:
            found.append((tool, entry))


def read_tool(entry: dict[str, Any], namespace: str | None = None) -> Tool | None:
    """The tool that one entry declares; None if it declares none."""
    kind = entry.get("type")
    inner = entry.get("custom" if kind == "custom" else "function")
    body = inner if isinstance(inner, dict) else entry  # Chat: {"type": "function", "function": {…}}
    name = body.get("name")
    schema = body.get("parameters")
    if not isinstance(schema, dict):
        others = (body.get(key) for key in _OTHER_SCHEMA_KEYS)
        schema = next((other for other in others if isinstance(other, dict)), None)
    if isinstance(name, str) and name:
        if schema is None and kind == "custom":
            return Tool(name, None, "custom", namespace)
        return Tool(name, schema, "function", namespace)
    if isinstance(kind, str) and kind not in ("function", "custom"):
        return Tool(kind, None, "server", namespace)  # {"type": "web_search"}: the type is its only name
    return None
