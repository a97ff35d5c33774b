"""One call with given arguments in each protocol: as a streamed answer, and as the history of a request."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

PATHS = {"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses"}
NAME = "Write"
SCHEMA = {
    "type": "object",
    "properties": {"file_path": {"type": "string"}, "content": {"type": "string"}, "overwrite": {"type": "boolean"}},
    "required": ["file_path", "content"],
}

Json = dict[str, Any]


def _event(said: Json, named: bool = True) -> bytes:
    head = f"event: {said['type']}\n" if named else ""
    return f"{head}data: {json.dumps(said, ensure_ascii=False, separators=(',', ':'))}\n\n".encode()


def _chat(pieces: list[str]) -> list[bytes]:
    def chunk(delta: Json, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _event({"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}, False)

    start = {"index": 0, "id": "call_1", "type": "function", "function": {"name": NAME, "arguments": ""}}
    said = [chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}) for piece in pieces]
    return [chunk({"tool_calls": [start]}), *said, chunk({}, "tool_calls"), b"data: [DONE]\n\n"]


def _messages(pieces: list[str]) -> list[bytes]:
    usage = {"input_tokens": 9, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
    block = {"type": "tool_use", "id": "toolu_1", "name": NAME, "input": {}}
    deltas = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": piece}}
        for piece in pieces
    ]
    said: list[Json] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *deltas,
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]
    return [_event(one) for one in said]


def _responses(pieces: list[str]) -> list[bytes]:
    where = {"item_id": "fc_1", "output_index": 0}
    item = {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": NAME}
    whole = {**item, "status": "completed", "arguments": "".join(pieces)}
    response = {"id": "resp_1", "object": "response", "model": "m"}
    said: list[Json] = [
        {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "arguments": ""}},
        *({"type": "response.function_call_arguments.delta", **where, "delta": piece} for piece in pieces),
        {"type": "response.function_call_arguments.done", **where, "arguments": whole["arguments"]},
        {"type": "response.output_item.done", "output_index": 0, "item": whole},
        {"type": "response.completed", "response": {**response, "status": "completed", "output": [whole]}},
    ]
    return [_event({**one, "sequence_number": number}) for number, one in enumerate(said)]


_ANSWERS: dict[str, Callable[[list[str]], list[bytes]]] = {
    "chat": _chat,
    "messages": _messages,
    "responses": _responses,
}


def answer(protocol: str, arguments: str, piece: int) -> list[bytes]:
    """The events of an answer with one call, with `piece` characters of its arguments in each event."""
    return _ANSWERS[protocol]([arguments[at : at + piece] for at in range(0, len(arguments), piece)])


def request(protocol: str, arguments: str | None = None) -> bytes:
    """A request that declares the tool; if `arguments` are given, its history contains a call with them."""
    asked: Json = {"model": "m", "stream": True, "max_tokens": 9}
    question = {"role": "user", "content": "Go on."}
    function: Json = {"name": NAME, "parameters": SCHEMA}
    past: list[Json] = []
    if protocol == "chat":
        asked["tools"] = [{"type": "function", "function": function}]
        call = {"id": "call_0", "type": "function", "function": {"name": NAME, "arguments": arguments}}
        past = [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_0", "content": "done"},
        ]
    elif protocol == "responses":
        asked["tools"] = [{"type": "function", **function}]
        past = [
            {"type": "function_call", "call_id": "call_0", "name": NAME, "arguments": arguments},
            {"type": "function_call_output", "call_id": "call_0", "output": "done"},
        ]
    else:
        asked["tools"] = [{"name": NAME, "input_schema": SCHEMA}]
        # In Messages the arguments are an object; broken ones are sent as a text instead.
        try:
            given = json.loads(arguments or "{}")
        except ValueError:
            given = arguments
        past = [
            {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_0", "name": NAME, "input": given}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_0", "content": "done"}]},
        ]
    key = "input" if protocol == "responses" else "messages"
    asked[key] = [question, *(past if arguments is not None else [])]
    return json.dumps(asked, ensure_ascii=False).encode()
