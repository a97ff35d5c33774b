"""What the events of a Gemini stream cost, which have other token counts in each event."""

from __future__ import annotations

import json
from typing import Any

from ..event_streams import Events, Writers, rows
from ..measure import Row


def _events(parts: list[dict[str, Any]]) -> Events:
    out: Events = []
    for number, part in enumerate(parts):
        usage = {"promptTokenCount": 5, "candidatesTokenCount": number + 1, "totalTokenCount": number + 6}
        candidate = {"content": {"parts": [part], "role": "model"}, "index": 0}
        event = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m", "responseId": "r"}
        out.append(b"data: " + json.dumps(event, separators=(",", ": ")).encode() + b"\r\n\r\n")
    return out


def _text(texts: list[str]) -> Events:
    return _events([{"text": text} for text in texts])


def _reasoning(texts: list[str]) -> Events:
    return _events([{"text": text, "thought": True} for text in texts])


def _calls(texts: list[str]) -> Events:
    return _events([{"functionCall": {"name": "tool_number_3", "args": {"command": text}}} for text in texts])


def run(quick: bool = False) -> list[Row]:
    return rows("gemini", Writers(_text, more={"reasoning": _reasoning, "whole calls": _calls}), quick=quick)
