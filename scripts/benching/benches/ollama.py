"""What a line of Ollama's `/api/chat` costs, compared with `json.loads` of it."""

from __future__ import annotations

import json
from typing import Any

from ..whole_call_streams import rows


def _line(number: int, message: dict[str, Any]) -> bytes:
    line = {
        "model": "m",
        "created_at": f"2026-08-21T10:00:00.{100_000_000 + number * 997}Z",
        "message": {"role": "assistant", "content": "", **message},
        "done": False,
    }
    return json.dumps(line, separators=(",", ":")).encode() + b"\n"


def _call(number: int) -> dict[str, Any]:
    function = {"index": number, "name": "tool_3", "arguments": {"path": f"src/{number}.py"}}
    return {"tool_calls": [{"id": f"call_{number}", "function": function}]}


def run(quick: bool = False) -> list[dict[str, Any]]:
    made = {
        "text": lambda count: [_line(number, {"content": f"word {number} "}) for number in range(count)],
        "reasoning": lambda count: [_line(number, {"thinking": f"word {number} "}) for number in range(count)],
        "calls": lambda count: [_line(number, _call(number)) for number in range(min(count, 900))],
    }
    return rows("ollama", made, quick=quick)
