"""A call that never got a name: finds the only declared tool that its arguments fit."""

from __future__ import annotations

from typing import Any

from ..tools.declared import Tool, Tools


def tool_that_fits(value: dict[str, Any] | None, tools: Tools) -> Tool | None:
    """The tool that declares all keys of these arguments and requires no others, if there is exactly one."""
    fitting = [tool for tool in tools if _fits(value, tool)] if value else []
    return fitting[0] if len(fitting) == 1 else None


def _fits(value: dict[str, Any] | None, tool: Tool) -> bool:
    keys = set(value or ())
    view = tool.view
    return view is not None and keys <= set(view.properties) and keys >= set(view.required)
