"""Finds calls that the client would reject anyway, and writes the payload that says why.

A call that cannot run is sent to the client's own tool for invalid calls, if it has one: the model then reads
one sentence and sends the call again.
"""

from __future__ import annotations

from typing import Any

from ...tools.declared import Tool, Tools
from ...tools.schema.node import Node

INVALID = "invalid"


def missing_required(value: object, tool: Tool) -> tuple[str, ...]:
    """The missing required fields, except those with a default, which the client may fill in."""
    view = tool.view
    if view is None:
        return ()
    present = value if isinstance(value, dict) else {}
    return tuple(
        name
        for name in view.required
        if name not in present and not any(_has_default(node) for node in view.properties.get(name, ()))
    )


def takes(value: dict[str, Any], tool: Tool) -> bool:
    """Whether, as far as the schema says, no required field is missing and the tool declares every key."""
    view = tool.view
    if view is None:
        return True
    if missing_required(value, tool):
        return False
    open_ended = not view.keys_known or "properties" not in (tool.schema or {})
    return open_ended or all(key in view.required or view.declares(key) for key in value)


def _has_default(node: Node) -> bool:
    seen = 0
    while node.ref is not None and not node.default and seen < 20:
        node, seen = node.ref, seen + 1
    return node.default


def invalid_tool(option: str, tools: Tools) -> str | None:
    """The client's tool for invalid calls. `option` (`toolfix_invalid_tool`) counts even if undeclared."""
    if option:
        return option
    declared = tools.get(INVALID)
    return INVALID if declared is not None and declared.namespace is None else None


def invalid_name(option: str, tools: Tools) -> str:
    """The name for a call that no tool of the client can take: agents answer an unknown tool with an error."""
    return invalid_tool(option, tools) or INVALID


def invalid_payload(tool: str, error: str, received: dict[str, Any] | str) -> dict[str, Any]:
    """The arguments for the invalid tool. `tool`: the received name. `received`: the arguments, parsed or as text."""
    return {"tool": tool, "error": error, "receivedArgs": received}


def missing_sentence(missing: tuple[str, ...]) -> str:
    fields = ", ".join(missing)
    return f"Invalid arguments: missing required field(s): {fields}."


def unknown_sentence(name: str) -> str:
    return f"Unknown tool requested by the model: {name}."


def not_a_name_sentence(name: str) -> str:
    return f"Not a tool name: {name or 'empty'}."


def unreadable_sentence(reason: str = "") -> str:
    why = f": {reason.rstrip('.')}" if reason else ""
    return f"Invalid arguments: they could not be read as JSON{why}."
