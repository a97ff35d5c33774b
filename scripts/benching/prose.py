"""The texts and the tools of the benches that measure streams."""

from __future__ import annotations

from typing import Any

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
_LINE = "    def read(self, event: Event) -> Answer:  # it doesn't parse what can't be a call, \"tool\" or not\n"
_SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}


def deltas(count: int, *, markdown: bool = False) -> list[str]:
    """An answer, five words at a time. In Markdown every third delta has a character that matters for quoting."""
    words = (_MARKDOWN if markdown else _PROSE).split(" ")
    return [" ".join(words[(number * 5 + at) % len(words)] for at in range(5)) + " " for number in range(count)]


def code(count: int) -> list[str]:
    """Lines of code in deltas of 3 KB, about a quarter of `count`."""
    text = _LINE * (count // 4 * 3000 // len(_LINE) + 1)
    return [text[at : at + 3000] for at in range(0, count // 4 * 3000, 3000)]


def request() -> dict[str, Any]:
    """A request that declares 20 tools."""
    tools = [
        {"type": "function", "name": f"tool_number_{number}", "description": "d" * 900, "parameters": _SCHEMA}
        for number in range(20)
    ]
    return {"model": "a-model-of-today", "stream": True, "tools": tools}
