"""A call that is cut off inside its arguments, on every wire, with every end that means cut or unknown."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

ENDS: dict[str, tuple[str, ...]] = {
    "chat": ("length", "content_filter", "insufficient_system_resource", "odd", "[DONE]", "error", "nothing"),
    "messages": ("max_tokens", "refusal", "stop_sequence", "odd", "stop", "[DONE]", "error", "nothing"),
    "responses": ("incomplete", "failed", "done", "[DONE]", "error", "nothing"),
    "zai": ("length", "[DONE]", "error", "nothing"),
}
"""What follows the call: a reason, the end of the protocol without one, or nothing at all."""


@dataclass(frozen=True)
class Cut:
    """How much of the arguments arrived, and how."""

    arguments: str
    end: str
    size: int = 0
    """The characters of a fragment, or 0 for all in one."""
    closed: bool = True
    """Whether the server ended the block or item, as servers do when they stop."""
    encoded: bool = False
    """Whether the server encoded the incomplete arguments as a JSON string."""
    followed: bool = False
    """Whether another, complete call follows."""

    @property
    def fragments(self) -> list[str]:
        text = json.dumps(self.arguments) if self.encoded else self.arguments
        size = self.size or len(text) or 1
        return [text[at : at + size] for at in range(0, len(text), size)] or [""]


NAME, OTHER = "run", "look"
OTHER_ARGUMENTS = '{"path": "/"}'


def chat(cut: Cut) -> bytes:
    out = []
    calls = [(NAME, cut.fragments), *([(OTHER, [OTHER_ARGUMENTS])] if cut.followed else [])]
    for index, (name, (first, *rest)) in enumerate(calls):
        call = {"index": index, "id": f"call_{index}", "type": "function"}
        out.append(_chunk({"tool_calls": [{**call, "function": {"name": name, "arguments": first}}]}))
        out += [_chunk({"tool_calls": [{"index": index, "function": {"arguments": text}}]}) for text in rest]
    if cut.end == "error":
        out.append(_data({"error": {"message": "overloaded", "code": 529}}))
    elif cut.end not in ("[DONE]", "nothing"):
        out.append(_chunk({}, cut.end))
    return b"".join(out) + (b"data: [DONE]\n\n" if cut.end not in ("error", "nothing") else b"")


def messages(cut: Cut) -> bytes:
    said: Json = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
    }
    out = [_event("message_start", message={**said, "usage": {"input_tokens": 1, "output_tokens": 1}})]
    calls = [(NAME, cut.fragments), *([(OTHER, [OTHER_ARGUMENTS])] if cut.followed else [])]
    for index, (name, fragments) in enumerate(calls):
        block = {"type": "tool_use", "id": f"toolu_{index}", "name": name, "input": {}}
        out.append(_event("content_block_start", index=index, content_block=block))
        deltas = ({"type": "input_json_delta", "partial_json": text} for text in fragments if text)
        out += [_event("content_block_delta", index=index, delta=delta) for delta in deltas]
        if cut.closed or index:
            out.append(_event("content_block_stop", index=index))
    if cut.end == "error":
        out.append(_event("error", error={"type": "overloaded_error", "message": "overloaded"}))
    elif cut.end == "[DONE]":
        out.append(b"data: [DONE]\n\n")
    elif cut.end != "nothing":
        if cut.end != "stop":
            out.append(_event("message_delta", delta={"stop_reason": cut.end}, usage={"output_tokens": 9}))
        out.append(_event("message_stop"))
    return b"".join(out)


def responses(cut: Cut) -> bytes:
    response = {"id": "resp_1", "object": "response", "model": "m", "status": "in_progress", "output": []}
    out = [_event("response.created", response=response)]
    output = []
    calls = [(NAME, cut.fragments), *([(OTHER, [OTHER_ARGUMENTS])] if cut.followed else [])]
    for index, (name, fragments) in enumerate(calls):
        item = {"id": f"fc_{index}", "type": "function_call", "call_id": f"call_{index}", "name": name}
        place = {"item_id": item["id"], "output_index": index}
        begun = {**item, "arguments": "", "status": "in_progress"}
        out.append(_event("response.output_item.added", output_index=index, item=begun))
        out += [_event("response.function_call_arguments.delta", **place, delta=text) for text in fragments]
        if cut.closed or index:
            text = "".join(fragments)
            ended = {**item, "arguments": text, "status": "completed"}
            out.append(_event("response.function_call_arguments.done", **place, arguments=text))
            out.append(_event("response.output_item.done", output_index=index, item=ended))
            output.append(ended)
    if cut.end == "error":
        out.append(_event("error", code="server_error", message="overloaded"))
    elif cut.end == "[DONE]":
        out.append(b"data: [DONE]\n\n")
    elif cut.end != "nothing":
        final = {**response, "status": "" if cut.end == "done" else cut.end, "output": output}
        out.append(_event(f"response.{cut.end}", response=final))
    return b"".join(out)


def zai(cut: Cut) -> bytes:
    out = []
    calls = [(NAME, cut.fragments), *([(OTHER, [OTHER_ARGUMENTS])] if cut.followed else [])]
    for index, (name, (first, *rest)) in enumerate(calls):
        opening = {"delta_name": name, "delta_arguments": first, "metadata": {"id": f"call_{index}"}}
        out.append(_zai({"phase": "tool_call", **opening}))
        out += [_zai({"phase": "tool_call", "delta_arguments": text}) for text in rest]
    if cut.end == "error":
        out.append(_data({"type": "chat:completion", "data": {"error": {"detail": "busy", "code": 500}}}))
    elif cut.end == "[DONE]":
        out.append(b"data: [DONE]\n\n")
    elif cut.end != "nothing":
        out.append(_zai({"phase": "answer", "choices": [{"finish_reason": cut.end}]}))
        out.append(_zai({"phase": "done", "done": True}))
    return b"".join(out)


WIRES: dict[str, Callable[[Cut], bytes]] = {"chat": chat, "messages": messages, "responses": responses, "zai": zai}


def _data(said: Json) -> bytes:
    return f"data: {json.dumps(said)}\n\n".encode()


def _event(kind: str, **said: Any) -> bytes:
    return f"event: {kind}\n".encode() + _data({"type": kind, **said})


def _chunk(delta: Json, reason: str | None = None) -> bytes:
    return _data({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
                  "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})  # fmt: skip


def _zai(data: Json) -> bytes:
    return _data({"type": "chat:completion", "data": data})
