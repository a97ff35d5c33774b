"""A client of Chat as plain as can be: what it holds in the end, and what it rejects."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from toolcalls.wire import sse


@dataclass
class Held:
    """What a client has after an answer: text, reasoning, calls, finish reasons, in order of arrival."""

    text: str = ""
    reasoning: str = ""
    calls: dict[int, dict[str, Any]] = field(default_factory=dict)
    finishes: list[str] = field(default_factory=list)
    usage: Any = None
    errors: list[Any] = field(default_factory=list)
    done: bool = False
    deltas_per_call: dict[int, int] = field(default_factory=dict)

    def call_list(self) -> list[tuple[str, str]]:
        return [(call["name"], call["arguments"]) for _, call in sorted(self.calls.items())]


def events(body: bytes) -> list[str]:
    complete, end = sse.cut(body)
    raws = [*complete, body[max(end, 0) :]]
    return [data for raw in raws if (data := sse.read_event(raw).data) is not None]


def read(body: bytes, choice: int = 0) -> Held:
    held = Held()
    for data in events(body):
        if data.strip() == "[DONE]":
            held.done = True
            continue
        chunk = json.loads(data)
        if chunk.get("error"):
            held.errors.append(chunk["error"])
        held.usage = chunk.get("usage") or held.usage
        for entry in chunk.get("choices", []):
            if entry.get("index", 0) == choice:
                _take(held, entry)
    return held


def _take(held: Held, entry: dict[str, Any]) -> None:
    delta = entry.get("delta") or {}
    held.text += delta.get("content") or ""
    held.reasoning += delta.get("reasoning_content") or ""
    for call in delta.get("tool_calls") or []:
        slot = held.calls.setdefault(call["index"], {"id": None, "name": "", "arguments": ""})
        held.deltas_per_call[call["index"]] = held.deltas_per_call.get(call["index"], 0) + 1
        slot["id"] = call.get("id", slot["id"])
        slot["type"] = call.get("type")
        slot["name"] += call.get("function", {}).get("name", "")
        slot["arguments"] += call.get("function", {}).get("arguments", "")
    if entry.get("finish_reason"):
        held.finishes.append(entry["finish_reason"])
