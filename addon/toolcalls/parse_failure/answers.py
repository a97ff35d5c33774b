"""Writes an answer that consists only of calls, in each protocol, as a stream or a document."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..mend.reading.strict import read, write
from ..outcome import Outcome
from ..wire import sse

Json = dict[str, Any]

_EVENTS, _LINES, _DOCUMENT = "text/event-stream", "application/x-ndjson", "application/json"


def write_answer(
    protocol: str, calls: Sequence[Outcome], identity: str, model: str, *, stream: bool
) -> tuple[str, bytes]:
    """The content type and the body. The calls already have their ids; `identity`: the id of the answer."""
    streamed, whole = _WRITERS[protocol]
    if stream:
        return _LINES if protocol == "ollama" else _EVENTS, streamed(calls, identity, model)
    return _DOCUMENT, write(whole(calls, identity, model)).encode("utf-8", "backslashreplace")


def chat_events(calls: Sequence[Outcome], head: Json) -> list[Json]:
    """The chunks of a Chat stream that contain the calls and end it."""
    deltas: list[tuple[Json, str | None]] = [
        ({"tool_calls": [{"index": at, **_chat_call(call)}]}, None) for at, call in enumerate(calls)
    ]
    deltas.append(({}, "tool_calls"))
    return [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]} for delta, reason in deltas]


def _chat_stream(calls: Sequence[Outcome], identity: str, model: str) -> bytes:
    head = {"id": f"chatcmpl-{identity}", "object": "chat.completion.chunk", "created": 0, "model": model}
    first = {"index": 0, "delta": {"role": "assistant", "content": None}, "finish_reason": None}
    events = [{**head, "choices": [first]}, *chat_events(calls, head)]
    return b"".join(sse.write(data) for data in (*map(write, events), "[DONE]"))


def _chat_document(calls: Sequence[Outcome], identity: str, model: str) -> Json:
    message = {"role": "assistant", "content": None, "tool_calls": [_chat_call(call) for call in calls]}
    return {
        "id": f"chatcmpl-{identity}",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
    }


def _chat_call(call: Outcome) -> Json:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _messages_stream(calls: Sequence[Outcome], identity: str, model: str) -> bytes:
    message = _messages_document([], identity, model)
    events: list[Json] = [{"type": "message_start", "message": {**message, "stop_reason": None}}]
    for at, call in enumerate(calls):
        block = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": call.arguments}
        events += [
            {"type": "content_block_start", "index": at, "content_block": block},
            {"type": "content_block_delta", "index": at, "delta": delta},
            {"type": "content_block_stop", "index": at},
        ]
    end = {"stop_reason": "tool_use", "stop_sequence": None}
    events += [{"type": "message_delta", "delta": end, "usage": {"output_tokens": 0}}, {"type": "message_stop"}]
    return b"".join(sse.write(write(event), event["type"]) for event in events)


def _messages_document(calls: Sequence[Outcome], identity: str, model: str) -> Json:
    blocks = [{"type": "tool_use", "id": one.id, "name": one.name, "input": read(one.arguments)} for one in calls]
    return {
        "id": f"msg_{identity}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks,
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }


def _responses_stream(calls: Sequence[Outcome], identity: str, model: str) -> bytes:
    done = _responses_document(calls, identity, model)
    begun = {**done, "status": "in_progress", "output": []}
    events: list[Json] = [{"type": "response.created", "response": begun}]
    for at, (call, item) in enumerate(zip(calls, done["output"], strict=True)):
        place = {"output_index": at, "item_id": item["id"]}
        added = {**item, "status": "in_progress", "arguments": ""}
        arguments = "response.function_call_arguments"
        events += [
            {"type": "response.output_item.added", "output_index": at, "item": added},
            {"type": f"{arguments}.delta", **place, "delta": call.arguments},
            {"type": f"{arguments}.done", **place, "arguments": call.arguments},
            {"type": "response.output_item.done", "output_index": at, "item": item},
        ]
    events.append({"type": "response.completed", "response": done})
    numbered = [{**event, "sequence_number": number} for number, event in enumerate(events)]
    return b"".join(sse.write(write(event), event["type"]) for event in numbered)


def _responses_document(calls: Sequence[Outcome], identity: str, model: str) -> Json:
    items = [
        {
            "id": f"fc_{identity}_{at}",
            "type": "function_call",
            "status": "completed",
            "call_id": call.id,
            "name": call.name,
            "arguments": call.arguments,
            **({"namespace": call.namespace} if call.namespace else {}),
        }
        for at, call in enumerate(calls)
    ]
    return {
        "id": f"resp_{identity}",
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "model": model,
        "output": items,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0},
    }


_OLLAMA_END = {"done": True, "done_reason": "stop"}


def _ollama_stream(calls: Sequence[Outcome], identity: str, model: str) -> bytes:
    line = {**_ollama_document(calls, identity, model), "done": False}
    del line["done_reason"]
    end = {**line, "message": {"role": "assistant", "content": ""}, **_OLLAMA_END}
    return b"".join(write(one).encode("utf-8", "backslashreplace") + b"\n" for one in (line, end))


def _ollama_document(calls: Sequence[Outcome], identity: str, model: str) -> Json:
    made = [{"function": {"name": call.name, "arguments": read(call.arguments)}} for call in calls]
    message = {"role": "assistant", "content": "", "tool_calls": made}
    return {"model": model, "created_at": "1970-01-01T00:00:00Z", "message": message, **_OLLAMA_END}


_WRITERS: dict[
    str,
    tuple[Callable[[Sequence[Outcome], str, str], bytes], Callable[[Sequence[Outcome], str, str], Json]],
] = {
    "chat": (_chat_stream, _chat_document),
    "messages": (_messages_stream, _messages_document),
    "responses": (_responses_stream, _responses_document),
    "ollama": (_ollama_stream, _ollama_document),
}
PROTOCOLS = frozenset(_WRITERS)
