"""What a Gemini event with varying token counts costs, compared with `json.loads` of it."""

from __future__ import annotations

import json
from typing import Any

from ..whole_call_streams import rows


def _event(number: int, part: dict[str, Any]) -> bytes:
    usage = {"promptTokenCount": 5, "candidatesTokenCount": number + 1, "totalTokenCount": number + 6}
    candidate = {"content": {"parts": [part], "role": "model"}, "index": 0}
    said = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m", "responseId": "r"}
    return b"data: " + json.dumps(said, separators=(",", ": ")).encode() + b"\r\n\r\n"


def _call(number: int) -> dict[str, Any]:
    return {"functionCall": {"name": "tool_3", "args": {"path": f"src/{number}.py"}}}


def run(quick: bool = False) -> list[dict[str, Any]]:
    made = {
        "text": lambda count: [_event(number, {"text": f"word {number} "}) for number in range(count)],
        "reasoning": lambda count: [
            _event(number, {"text": f"word {number} ", "thought": True}) for number in range(count)
        ],
        "calls": lambda count: [_event(number, _call(number)) for number in range(min(count, 900))],
    }
    return rows("gemini", made, quick=quick)
