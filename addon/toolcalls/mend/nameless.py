"""A call that never got a name: the one declared tool that its arguments can only be for."""

from __future__ import annotations

from typing import Any

from ..tools.declared import Tool, Tools


def tool_that_fits(value: dict[str, Any] | None, tools: Tools) -> Tool | None:
    """The tool that declares every key of these arguments and requires no other, if exactly one does."""
    fitting = [tool for tool in tools if _fits(value, tool)] if value else []
    return fitting[0] if len(fitting) == 1 else None


def _fits(value: dict[str, Any] | None, tool: Tool) -> bool:
    keys = set(value or ())
    return tool.view is not None and keys <= set(tool.view.properties) and keys >= set(tool.required)
