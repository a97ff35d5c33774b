"""The walks that are compared: the events at the beginning of an answer, and those that are followed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from scripts.differing.worker import find, policy_of

Json = dict[str, Any]
Feed = Callable[[Any], Any]

_PARAMETERS: Json = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
_ARGUMENTS = '{"command": "ls -l"}'


class Walk(NamedTuple):
    """What is fed first, without being followed, and what is followed."""

    feed: Feed
    before: list[Any]
    followed: list[Any]


def _chat_chunk(delta: Json, reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return _event({"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "m", "choices": [choice]})


def _chat_call(**function: str) -> bytes:
    head = {"id": "call_1", "type": "function"} if "name" in function else {}
    return _chat_chunk({"tool_calls": [{"index": 0, **head, "function": function}]})


def _event(payload: Json) -> bytes:
    kind = f"event: {payload['type']}\n" if "type" in payload else ""
    return f"{kind}data: {json.dumps(payload)}\n\n".encode()


def _response(protocol: str, tools: list[Json]) -> Feed:
    request = json.dumps({"model": "m", "stream": True, "messages": [], "tools": tools}).encode()
    asked = find("read_request")(find("decode")(request))
    response = find("Response")(protocol, asked, policy_of({}), seed="walk")
    return lambda chunk: response.feed(chunk)  # What feeds changes once the protocol is known.


def _chat(protocol: str = "chat") -> Feed:
    return _response(protocol, [{"type": "function", "function": {"name": "bash", "parameters": _PARAMETERS}}])


def chat_fragment() -> Walk:
    """One fragment of a call, the first one without a name."""
    before = [_chat_chunk({"role": "assistant", "content": None}), _chat_call(name="bash", arguments="")]
    return Walk(_chat(), before, [_chat_call(arguments="{'comm")])


def chat_call() -> Walk:
    """A whole Chat call, from its first fragment to `[DONE]`."""
    fragments = [_chat_call(name="bash", arguments=""), _chat_call(arguments=_ARGUMENTS)]
    before = [_chat_chunk({"role": "assistant", "content": None})]
    return Walk(_chat(), before, [*fragments, _chat_chunk({}, "tool_calls"), b"data: [DONE]\n\n"])


def text_call() -> Walk:
    """A call that is written as text, from its text to `[DONE]`."""
    call = '<tool_call>{"name": "bash", "arguments": ' + _ARGUMENTS + "}</tool_call>"
    before = [_chat_chunk({"role": "assistant", "content": "I will look.\n"})]
    return Walk(_chat(), before, [_chat_chunk({"content": call}), _chat_chunk({}, "stop"), b"data: [DONE]\n\n"])


def messages_call() -> Walk:
    """A whole Messages call, from its block to `message_stop`."""
    start = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": {}}
    block = {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {}}
    events: list[Json] = [
        {"type": "content_block_start", "index": 0, "content_block": block},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": _ARGUMENTS},
        },
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None}, "usage": {}},
        {"type": "message_stop"},
    ]
    feed = _response("messages", [{"name": "bash", "input_schema": _PARAMETERS}])
    return Walk(feed, [_event({"type": "message_start", "message": start})], [_event(event) for event in events])


def websocket_completed() -> Walk:
    """The frame `response.completed`, which says that the call is complete and repeats all of it."""
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "bash"}
    begun = {**call, "arguments": "", "status": "in_progress"}
    ended = {**call, "arguments": _ARGUMENTS, "status": "completed"}
    at = {"output_index": 0, "item_id": "fc_1"}
    frames: list[Json] = [
        {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": begun},
        {"type": "response.function_call_arguments.delta", **at, "delta": _ARGUMENTS},
    ]
    completed = {"type": "response.completed", "response": {"id": "resp_1", "status": "completed", "output": [ended]}}
    socket = find("ResponsesSocket")(policy_of({}))
    tools = [{"type": "function", "name": "bash", "parameters": _PARAMETERS}]
    socket.client_message(json.dumps({"type": "response.create", "model": "m", "input": [], "tools": tools}))
    return Walk(socket.server_message, [json.dumps(frame) for frame in frames], [json.dumps(completed)])


def zai_call() -> Walk:
    """A call of chat.z.ai, from its block to the patch that leaves it to the client."""
    metadata = {"id": "call_1", "name": "bash", "arguments": _ARGUMENTS, "result": ""}
    block = f"<glm_block >{json.dumps({'type': 'mcp', 'data': {'metadata': metadata}})}</glm_block>"
    at = block.index('"result": ') + len('"result": ')
    edits = [(0, block, "tool_call"), (at, "null" + block[at + 2 :], "other")]
    events = [{"edit_index": index, "edit_content": text, "phase": phase} for index, text, phase in edits]
    return Walk(
        _chat("zai"), [_zai({"delta_content": "I look.", "phase": "thinking"})], [_zai(event) for event in events]
    )


def _zai(data: Json) -> bytes:
    return f"data: {json.dumps({'type': 'chat:completion', 'data': data})}\n\n".encode()


WALKS: dict[str, Callable[[], Walk]] = {
    "chat-fragment": chat_fragment,
    "chat-call": chat_call,
    "text-call": text_call,
    "messages-call": messages_call,
    "websocket-completed": websocket_completed,
    "zai-call": zai_call,
}
