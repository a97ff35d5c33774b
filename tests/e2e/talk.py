"""Conversations of several turns: what an agent keeps in its history, and what an upstream answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.upstream import Play, Seen
from tests.validators.history import VALIDATORS, Illegal

from .stage import DOCUMENT, DONE, EVENT_STREAM, chat_event

Json = dict[str, Any]

SCHEMAS: dict[str, Json] = {
    "read": {"type": "object", "properties": {"filePath": {"type": "string"}}, "required": ["filePath"]},
    "write": {
        "type": "object",
        "properties": {"filePath": {"type": "string"}, "content": {"type": "string"}},
        "required": ["filePath", "content"],
    },
}


@dataclass(frozen=True)
class Said:
    """An answer of the model: a call, or a text."""

    name: str = ""
    arguments: str = ""
    id: str = ""
    text: str = ""


# What the upstream sends


def _event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def _chat(said: Said) -> list[bytes]:
    if said.text:
        return [chat_event({"role": "assistant", "content": said.text}), chat_event({}, "stop"), DONE]
    half = len(said.arguments) // 2
    start = {"index": 0, "id": said.id, "type": "function", "function": {"name": said.name, "arguments": ""}}
    parts = (said.arguments[:half], said.arguments[half:])
    return [
        chat_event({"role": "assistant", "content": None, "tool_calls": [start]}),
        *(chat_event({"tool_calls": [{"index": 0, "function": {"arguments": part}}]}) for part in parts),
        chat_event({}, "tool_calls"),
        DONE,
    ]


def _messages(said: Said) -> list[bytes]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
    if said.text:
        block: Json = {"type": "text", "text": ""}
        deltas: list[Json] = [{"type": "text_delta", "text": said.text}]
    else:
        block = {"type": "tool_use", "id": said.id, "name": said.name, "input": {}}
        half = len(said.arguments) // 2
        parts = (said.arguments[:half], said.arguments[half:])
        deltas = [{"type": "input_json_delta", "partial_json": part} for part in parts]
    reason = "end_turn" if said.text else "tool_use"
    return [
        _event("message_start", message={**message, "stop_reason": None, "stop_sequence": None}),
        _event("content_block_start", index=0, content_block=block),
        *(_event("content_block_delta", index=0, delta=delta) for delta in deltas),
        _event("content_block_stop", index=0),
        _event("message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage=usage),
        _event("message_stop"),
    ]


def _responses(said: Said) -> list[bytes]:
    frame = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "output": [], "tools": []}
    frame |= {"parallel_tool_calls": True, "tool_choice": "auto", "status": "in_progress"}
    where = {"output_index": 0, "item_id": "item_1"}
    if said.text:
        part = {"type": "output_text", "text": said.text, "annotations": []}
        item: Json = {
            "id": "item_1",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [part],
        }
        bare = {**item, "content": [], "status": "in_progress"}
        inside = [
            _event("response.content_part.added", **where, content_index=0, part={**part, "text": ""}),
            _event("response.output_text.delta", **where, content_index=0, delta=said.text, logprobs=[]),
            _event("response.output_text.done", **where, content_index=0, text=said.text, logprobs=[]),
            _event("response.content_part.done", **where, content_index=0, part=part),
        ]
    else:
        item = {"id": "item_1", "type": "function_call", "status": "completed", "call_id": said.id}
        item |= {"name": said.name, "arguments": said.arguments}
        bare = {**item, "arguments": "", "status": "in_progress"}
        inside = [
            _event("response.function_call_arguments.delta", **where, delta=said.arguments),
            _event("response.function_call_arguments.done", **where, arguments=said.arguments, name=said.name),
        ]
    return [
        _event("response.created", response=frame),
        _event("response.output_item.added", output_index=0, item=bare),
        *inside,
        _event("response.output_item.done", output_index=0, item=item),
        _event("response.completed", response={**frame, "status": "completed", "output": [item]}),
    ]


# What an agent keeps


def _chat_history(call: Json, result: str) -> list[Json]:
    function = {"name": call["name"], "arguments": call["arguments"]}
    return [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": call["id"], "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": call["id"], "content": result},
    ]


def _messages_history(call: Json, result: str) -> list[Json]:
    try:
        given = json.loads(call["arguments"])
    except ValueError:
        given = call["arguments"]
    use = {"type": "tool_use", "id": call["id"], "name": call["name"], "input": given}
    answer = {"type": "tool_result", "tool_use_id": call["id"], "content": result}
    return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [answer]}]


def _responses_history(call: Json, result: str) -> list[Json]:
    return [
        {"type": "function_call", "call_id": call["id"], "name": call["name"], "arguments": call["arguments"]},
        {"type": "function_call_output", "call_id": call["id"], "output": result},
    ]


def _chat_results(request: Json) -> list[str]:
    return [message["content"] for message in request["messages"] if message["role"] == "tool"]


def _messages_results(request: Json) -> list[str]:
    blocks = [block for message in request["messages"] for block in message["content"] if isinstance(block, dict)]
    return [block["content"] for block in blocks if block["type"] == "tool_result"]


def _responses_results(request: Json) -> list[str]:
    return [item["output"] for item in request["input"] if item.get("type") == "function_call_output"]


@dataclass(frozen=True)
class Speech:
    """How a protocol is spoken by both sides."""

    api: str
    suffix: str
    """Of the base URL."""
    answer: Callable[[Said], list[bytes]]
    remember: Callable[[Json, str], list[Json]]
    results: Callable[[Json], list[str]]
    history: str
    more: Json
    tool: Callable[[str, Json], Json]

    def request(self, items: list[Json]) -> Json:
        tools = [self.tool(name, schema) for name, schema in SCHEMAS.items()]
        question = {"role": "user", "content": "Please go on."}
        return {"model": "m", self.history: [question, *items], "tools": tools, **self.more}


SPEECHES = {
    "chat": Speech(
        "chat", "/v1", _chat, _chat_history, _chat_results, "messages", {},
        lambda name, schema: {"type": "function", "function": {"name": name, "parameters": schema}},
    ),
    "messages": Speech(
        "messages", "", _messages, _messages_history, _messages_results, "messages", {"max_tokens": 1024},
        lambda name, schema: {"name": name, "input_schema": schema},
    ),
    "responses": Speech(
        "responses", "/v1", _responses, _responses_history, _responses_results, "input", {},
        lambda name, schema: {"type": "function", "name": name, "parameters": schema},
    ),
}  # fmt: skip


@dataclass
class Strict:
    """An upstream that answers in turn, and 400 to a history that no strict server accepts."""

    speech: Speech
    answers: list[Said]
    given: set[str] = field(default_factory=set)
    """The ids that it gave so far."""
    bodies: list[bytes] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def __call__(self, seen: Seen) -> Play:
        self.bodies.append(seen.body)
        try:
            VALIDATORS[self.speech.api](json.loads(seen.body), self.given)
        except Illegal as illegal:
            self.complaints.append(str(illegal))
            error = {"error": {"message": str(illegal), "type": "invalid_request_error"}}
            return Play([json.dumps(error).encode()], 400, DOCUMENT)
        said = self.answers[len(self.bodies) - 1]
        self.given.add(said.id)
        return Play(self.speech.answer(said), headers=EVENT_STREAM)

    def results(self) -> list[str]:
        """The tool results of the last request."""
        return self.speech.results(json.loads(self.bodies[-1]))
