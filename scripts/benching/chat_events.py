"""Events of Chat streams, as today's servers write them."""

from __future__ import annotations

import json
from typing import Any

from .prose import deltas


def event(delta: dict[str, Any]) -> str:
    """The data of one event."""
    chunk = {
        "id": "chatcmpl-9f8e7d6c5b4a39281706",
        "object": "chat.completion.chunk",
        "created": 1755000000,
        "model": "a-model-of-today",
        "choices": [{"index": 0, "delta": delta, "finish_reason": None}],
    }
    return json.dumps(chunk, ensure_ascii=False, separators=(",", ":"))


def text_events(count: int) -> list[str]:
    return [event({"content": words}) for words in deltas(count)]


def framed(events: list[str]) -> list[bytes]:
    return [f"data: {data}\n\n".encode() for data in events]
