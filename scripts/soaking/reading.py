"""Reads the calls and the text of an answer as a client would, without any code of the engine."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
EVENT_ENDS = {"ollama": b"\n", "gemini": b"\r\n\r\n"}
"""What ends an event, if it is not a blank line with LF."""


@dataclass(slots=True, frozen=True)
class Call:
    name: str
    arguments: Any


def events_of(body: bytes) -> list[Json]:
    """The JSON objects of an event stream, of lines, or of one document."""
    if body.lstrip()[:1] == b"{":
        return [json.loads(line) for line in body.splitlines()]
    lines = (line.removeprefix(b"data: ") for line in body.split(b"\n") if line.startswith(b"data: {"))
    return [json.loads(line) for line in lines]


_KEEP_ALIVE = re.compile(
    rb'event: ping\ndata: {"type":"ping"}\n\n'
    rb"|event: (?:response.in_progress|keepalive)\ndata: .*\n\n"
    rb'|data: {[^\n]*"choices":\[{"index":\d+,'
    rb'(?:"finish_reason":null,"delta":{}|"delta":{},"finish_reason":null)}\]}\n\n'
    rb'|data: {"candidates": \[\]}\r\n\r\n'
    rb'|{[^\n]*"message":{"role":"assistant","content":""},"done":false}\n'
)


def without_keep_alives(body: bytes) -> bytes:
    """An answer without keep-alive events, whose number depends on how long it took."""
    return _KEEP_ALIVE.sub(b"", body)


def calls_of(protocol: str, body: bytes) -> list[Call]:
    """The calls of an answer; raises ValueError if arguments are not strict JSON, as a client does."""
    return _READERS[protocol](events_of(body))


def _chat(events: Iterable[Json]) -> list[Call]:
    names: dict[int, str] = {}
    texts: dict[int, str] = {}
    for event in events:
        for choice in event.get("choices") or []:
            said = choice.get("delta") or choice.get("message") or {}
            for number, call in enumerate(said.get("tool_calls") or []):
                index = call.get("index", number)
                names[index] = names.get(index, "") + (call["function"].get("name") or "")
                texts[index] = texts.get(index, "") + call["function"].get("arguments", "")
    return [Call(names[index], json.loads(text)) for index, text in texts.items()]


def _messages(events: Iterable[Json]) -> list[Call]:
    blocks: dict[int, Json] = {}
    texts: dict[int, str] = {}
    for event in events:
        blocks |= dict(enumerate(event.get("content") or []))
        if event["type"] == "content_block_start":
            blocks[event["index"]] = event["content_block"]
        if event["type"] == "content_block_delta" and "partial_json" in event["delta"]:
            texts[event["index"]] = texts.get(event["index"], "") + event["delta"]["partial_json"]
    uses = [(index, block) for index, block in blocks.items() if block["type"] == "tool_use"]
    return [
        Call(block["name"], json.loads(texts[index]) if texts.get(index) else block["input"]) for index, block in uses
    ]


def _responses(events: Iterable[Json]) -> list[Call]:
    """The calls of the finished items, with which the closing event must agree."""
    events = list(events)
    items = [event["item"] for event in events if event.get("type") == "response.output_item.done"]
    ends = [event.get("response", event) for event in events if "output" in event.get("response", event)]
    if ends and items and ends[-1]["output"] != items:
        raise ValueError("the carriers do not agree")
    found = items or (ends[-1]["output"] if ends else [])
    return [Call(one["name"], json.loads(one["arguments"])) for one in found if one["type"] == "function_call"]


def _ollama(events: Iterable[Json]) -> list[Call]:
    calls = [call["function"] for event in events for call in event["message"].get("tool_calls") or []]
    return [Call(call["name"], call["arguments"]) for call in calls]


def _gemini(events: Iterable[Json]) -> list[Call]:
    calls = [part["functionCall"] for event in events for part in _parts(event) if "functionCall" in part]
    return [Call(call["name"], call["args"]) for call in calls]


def _parts(event: Json) -> list[Json]:
    return [part for one in event.get("candidates") or [] for part in one.get("content", {}).get("parts") or []]


def texts_of(protocol: str, body: bytes) -> str:
    """The text of a stream."""
    return "".join(_TEXTS[protocol](event) for event in events_of(body))


def _chat_text(event: Json) -> str:
    return "".join(choice["delta"].get("content") or "" for choice in event.get("choices") or [])


def _messages_text(event: Json) -> str:
    return str(event["delta"].get("text", "")) if event["type"] == "content_block_delta" else ""


def _responses_text(event: Json) -> str:
    return str(event["delta"]) if event["type"] == "response.output_text.delta" else ""


def _ollama_text(event: Json) -> str:
    return str(event["message"].get("content") or "")


def _gemini_text(event: Json) -> str:
    return "".join(part.get("text", "") for part in _parts(event))


_READERS = {
    "chat": _chat,
    "messages": _messages,
    "responses": _responses,
    "ollama": _ollama,
    "gemini": _gemini,
}
_TEXTS = {
    "chat": _chat_text,
    "messages": _messages_text,
    "responses": _responses_text,
    "ollama": _ollama_text,
    "gemini": _gemini_text,
}
