"""What the schemas cost: shape and preflight of one call, and reading the tools of a request.

The goals: a 10 KB call in less than 1 ms; reading the tools adds at most half the time of `json.loads` of the body.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from toolcalls.mend.names import mend_name
from toolcalls.mend.shape.preflight import missing_required
from toolcalls.mend.shape.shape import mend_shape
from toolcalls.tools.declared import Tool, Tools
from toolcalls.tools.schema.schema import cache

PAGES = frozenset({"pages"})
_PROSE = "Describes in some detail what the tool is for, when to use it and when another one is better. "


def _tool(number: int) -> dict[str, Any]:
    """A tool of the size that agents declare: about two kilobytes of text, a dozen properties."""
    properties: dict[str, Any] = {
        "file_path": {"type": "string", "description": _PROSE},
        "offset": {"type": "integer", "minimum": 0, "description": _PROSE[:60]},
        "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}], "description": _PROSE[:60]},
        "mode": {"type": "string", "enum": ["read", "write", "append"], "description": _PROSE[:40]},
        "edits": {"type": "array", "items": {"$ref": "#/$defs/Edit"}, "description": _PROSE},
        "pages": {"type": "string", "description": _PROSE[:50]},
        "recursive": {"type": "boolean", "default": False},
    }
    edit = {
        "type": "object",
        "properties": {
            "old_string": {"type": "string", "description": _PROSE[:70]},
            "new_string": {"type": "string", "description": _PROSE[:70]},
            "replace_all": {"type": "boolean"},
        },
        "required": ["old_string", "new_string"],
        "additionalProperties": False,
    }
    return {
        "type": "function",
        "function": {
            "name": f"tool_{number}",
            "description": _PROSE * 14,
            "parameters": {
                "type": "object",
                "properties": properties,
                "required": ["file_path"],
                "additionalProperties": False,
                "$defs": {"Edit": edit},
            },
        },
    }


def _body(tools: int = 14) -> bytes:
    message = {"role": "user", "content": _PROSE * 40}
    request = {
        "model": "m",
        "messages": [message] * 3,
        "tools": [_tool(n) for n in range(tools)],
        "stream": True,
    }
    return json.dumps(request).encode()


def _edits(count: int) -> list[dict[str, Any]]:
    return [{"old_string": f"line {n}\n" * 6, "new_string": f"row {n}\n" * 6} for n in range(count)]


def _best(work: Callable[[], object], seconds: float = 0.4) -> float:
    """The best time of one run, in seconds."""
    best = float("inf")
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        started = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - started)
    return best


def _call(name: str, value: dict[str, Any], limit: float | None = 1000.0) -> dict[str, Any]:
    schema = _tool(0)["function"]["parameters"]

    def work() -> None:
        tool = Tool("tool_0", schema)  # a new tool, as in each request, so that the cache is used each time
        mended = mend_shape(value, tool, drop_empty=PAGES)
        missing_required(mended.value, tool)

    steps = len(mend_shape(value, Tool("tool_0", schema), drop_empty=PAGES).steps)
    return {
        "what": f"shape and preflight, {name} ({len(json.dumps(value)) / 1024:.1f} KB, {steps} steps)",
        "microseconds": _best(work) * 1e6,
        "limit": limit,
        "unit": "µs",
    }


def _reading() -> list[dict[str, Any]]:
    body = _body()
    request = json.loads(body)
    parse = _best(lambda: json.loads(body))

    def prepare_all() -> None:
        for tool in Tools.read(request):
            _ = tool.prepared

    def cold() -> None:
        cache.clear()
        prepare_all()

    def one_call() -> None:
        tools = Tools.read(request)
        _ = mend_name("Tool_7", tools).tool.prepared  # type: ignore[union-attr]

    rows = [
        ("read only (each request)", _best(lambda: Tools.read(request)), 1.5),
        ("read, one name mended, its schema from the cache", _best(one_call), 1.5),
        ("read, every schema from the cache", _best(prepare_all), None),
        ("read, every schema prepared for the first time", _best(cold), None),
    ]
    return [
        {
            "what": f"tools of a request ({len(body) / 1024:.0f} KB, 14 tools): {what}",
            "microseconds": seconds * 1e6,
            "ratio": (parse + seconds) / parse,
            "limit": limit,
            "unit": "× json.loads",
        }
        for what, seconds, limit in rows
    ]


def run() -> list[dict[str, Any]]:
    edits = _edits(75)
    valid = {"file_path": "/src/main.py", "mode": "write", "edits": edits}
    drifted = [{"old_str": edit["old_string"], "new_str": edit["new_string"]} for edit in edits]
    return [
        _call("valid", valid),
        _call("valid, one long string", {"file_path": "x" * 10_000}),
        _call("edits as a string", {**valid, "edits": json.dumps(edits)}),
        _call("numbers as strings, an empty string", {**valid, "offset": "5", "limit": "7", "pages": ""}),
        _call("a drifted name, an enum, a null", {"path": "/a", "mode": "Write", "offset": None, "edits": edits}),
        _call("wrapped", {"arguments": valid}),
        _call("every item broken", {"path": "/a", "edits": drifted}, None),
        *_reading(),
    ]
