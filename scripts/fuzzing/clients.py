"""How a careless client reads an answer: it takes the calls, whatever else is wrong with the stream."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from toolcalls.wire import sse

Call = tuple[Any, Any]
"""The name and the argument text of a call."""


def data_of(body: bytes) -> list[str]:
    """The data of each event that has data."""
    end = max(0, sse.cut(body)[1])
    raws = [*(sse.split(body[:end]) if end else []), *([body[end:]] if body[end:] else [])]
    return [data for raw in raws if (data := sse.read_event(raw).data) is not None]


def payloads(body: bytes) -> list[dict[str, Any]]:
    return [value for value in map(_object, data_of(body)) if value is not None]


def is_sound(body: bytes) -> bool:
    """Whether every event is a chunk or the end, so that nothing in the stream needs mending."""
    objects = [_object(data) for data in data_of(body) if data != "[DONE]"]
    chunks = all(said is not None and said.get("choices") is not None for said in objects)
    return chunks and b"error:" not in body  # llama.cpp's errors are a field of their event


def is_ended(body: bytes) -> bool:
    """Whether the last event has its blank line."""
    return not body or body.endswith((b"\n\n", b"\r\n\r\n", b"\r\r"))


def _object(data: str) -> dict[str, Any] | None:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def entries(value: Any) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def inside(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def chat(body: bytes) -> list[Call]:
    made: dict[Any, list[Any]] = {}
    for chunk in payloads(body):
        for choice in entries(chunk.get("choices")):
            for call in entries(inside(choice, "delta", "tool_calls")):
                key = repr((choice.get("index"), call.get("index")))
                slot = made.setdefault(key, [None, ""])
                slot[0] = slot[0] or inside(call, "function", "name")
                text = inside(call, "function", "arguments")
                slot[1] += text if isinstance(text, str) else ""
    return [(name, text) for name, text in made.values()]


def messages(body: bytes) -> list[Call]:
    made: list[list[Any]] = []
    open_calls: dict[Any, list[Any]] = {}
    for event in payloads(body):
        index = event.get("index")
        place = int(index) if isinstance(index, int) else repr(index)  # true is 1 for the validators
        if event.get("type") == "content_block_start":
            open_calls.pop(place, None)
            if inside(event, "content_block", "type") == "tool_use":
                open_calls[place] = [inside(event, "content_block", "name"), ""]
                made.append(open_calls[place])
        text = inside(event, "delta", "partial_json")
        known = inside(event, "delta", "type") == "input_json_delta"
        if known and isinstance(text, str) and place in open_calls:
            open_calls[place][1] += text
    return [(name, text) for name, text in made]


def responses(body: bytes) -> list[Call]:
    found = []
    for event in payloads(body):
        item = event.get("item")
        if event.get("type") == "response.output_item.done" and inside(item, "type") == "function_call":
            found.append((inside(item, "name"), inside(item, "arguments")))
    return found


def ollama(body: bytes) -> list[Call]:
    lines = [said for line in body.decode("utf-8", "replace").splitlines() if (said := _object(line)) is not None]
    calls = [call for line in lines for call in entries(inside(line, "message", "tool_calls"))]
    return [(inside(call, "function", "name"), inside(call, "function", "arguments")) for call in calls]


def gemini(body: bytes) -> list[Call]:
    whole = _object(body.decode("utf-8", "replace"))
    candidates = [one for said in ([whole] if whole else payloads(body)) for one in entries(said.get("candidates"))]
    parts = [part for candidate in candidates for part in entries(inside(candidate, "content", "parts"))]
    calls = [part["functionCall"] for part in parts if isinstance(part.get("functionCall"), dict)]
    return [(call.get("name"), call.get("args")) for call in calls]


CALLS: dict[str, Callable[[bytes], list[Call]]] = {
    "chat": chat,
    "messages": messages,
    "responses": responses,
    "zai": chat,
    "ollama": ollama,
    "gemini": gemini,
}
