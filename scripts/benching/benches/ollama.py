"""What the lines of Ollama's `/api/chat` cost, which have another time in each line."""

from __future__ import annotations

import json
from typing import Any

from ..event_streams import Events, Writers, rows
from ..measure import Row


def _lines(messages: list[dict[str, Any]]) -> Events:
    out: Events = []
    for number, message in enumerate(messages):
        time = f"2026-08-21T10:00:00.{100_000_000 + number * 997}Z"
        whole = {"role": "assistant", "content": "", **message}
        line = {"model": "m", "created_at": time, "message": whole, "done": False}
        out.append(json.dumps(line, separators=(",", ":")).encode() + b"\n")
    return out


def _text(texts: list[str]) -> Events:
    return _lines([{"content": text} for text in texts])


def _reasoning(texts: list[str]) -> Events:
    return _lines([{"thinking": text} for text in texts])


def _calls(texts: list[str]) -> Events:
    functions = [{"name": "tool_number_3", "arguments": {"command": text}} for text in texts]
    return _lines([{"tool_calls": [{"function": function}]} for function in functions])


def run(quick: bool = False) -> list[Row]:
    return rows("ollama", Writers(_text, more={"reasoning": _reasoning, "whole calls": _calls}), quick=quick)
