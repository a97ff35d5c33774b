"""The text and the tools that the benches of the dialects share for text that is searched for calls."""

from __future__ import annotations

from typing import Any

TEXT_GOAL = 0.6
"""Text without tools, compared with `json.loads` of the same events."""
SEARCH_GOAL = 1.0
"""Text with 20 declared tools, compared with `json.loads` of the same events."""
CUT_GOAL = 1.5
"""Text in which every chunk cuts an event."""
MARKDOWN_GOAL = 1.5
"""Text full of characters that matter for quoting, with 20 tools, compared with `json.loads` of the same events."""

_PROSE = (
    "The parser reads one event at a time and keeps what it has not understood yet. Most of an answer is plain prose "
    "like this, so the common case has to be cheap. Code such as value = table.get(key, 0) appears now and then, and "
    "so do commas.\nA second paragraph begins here and talks about something else for a while. "
)
_MARKDOWN = (
    "The parser reads one event at a time and keeps what it hasn't understood yet. Most of an answer is plain prose "
    "like this, so the common case has to be cheap.\n\nCode such as `value = table.get(key, 0)` comes now and then, "
    'and so do commas, "quotes" and lists:\n- one entry that is a bit longer\n- another one that says little\n\n'
    "A last paragraph talks about something else for a while, and then the answer goes on in the same way. "
)
_SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}


def deltas(count: int, *, markdown: bool = False) -> list[str]:
    """An answer, five words at a time. In Markdown every third delta has a character that matters for quoting."""
    words = (_MARKDOWN if markdown else _PROSE).split(" ")
    return [" ".join(words[(number * 5 + at) % len(words)] for at in range(5)) + " " for number in range(count)]


def request() -> dict[str, Any]:
    """A request that declares 20 tools."""
    tools = [
        {"type": "function", "name": f"tool_number_{number}", "description": "d" * 900, "parameters": _SCHEMA}
        for number in range(20)
    ]
    return {"model": "a-model-of-today", "stream": True, "tools": tools}
