"""Short answers of every protocol: a text, a call that is right, a call that is broken. And how a client reads them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.protocols.zai_streams import Backend
from toolcalls.engine import Response
from toolcalls.policy import Policy
from toolcalls.request.request import read_request, seed_of
from toolcalls.wire import sse

Json = dict[str, Any]

RIGHT = {"command": "ls", "background": True}
VALID = '{"command": "ls", "background": true}'
BROKEN = "{'command': 'ls', 'background': True,}"
SCHEMA = {
    "type": "object",
    "properties": {"command": {"type": "string"}, "background": {"type": "boolean"}},
    "required": ["command"],
}


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


def event(kind: str, **fields: Any) -> bytes:
    """With its name above, as Messages and Responses send it."""
    return f"event: {kind}\ndata: {_compact({'type': kind, **fields})}\n\n".encode()


# Chat


def chat(delta: Json, finish: str | None = None) -> bytes:
    choice: Json = {"index": 0, "delta": delta}
    return b"data: " + _compact({"choices": [{**choice, "finish_reason": finish}]}).encode() + b"\n\n"


def chat_part(arguments: str, name: str = "", index: int = 0) -> bytes:
    head = {"id": f"call_{index}", "type": "function"} if name else {}
    function = {"name": name, "arguments": arguments} if name else {"arguments": arguments}
    return chat({"tool_calls": [{"index": index, **head, "function": function}]})


DONE = b"data: [DONE]\n\n"


def _chat(text: str, arguments: str) -> list[bytes]:
    if not arguments:
        return [chat({"content": text[:3]}), chat({"content": text[3:]}), chat({}, "stop"), DONE]
    first, second = _halves(arguments)
    return [chat({"content": text}), chat_part(first, "Bash"), chat_part(second), chat({}, "tool_calls"), DONE]


# Messages


def messages_call(arguments: str, index: int = 0) -> list[bytes]:
    tool = {"type": "tool_use", "id": f"t{index}", "name": "Bash", "input": {}}
    first, second = _halves(arguments)
    return [
        event("content_block_start", index=index, content_block=tool),
        event("content_block_delta", index=index, delta={"type": "input_json_delta", "partial_json": first}),
        event("content_block_delta", index=index, delta={"type": "input_json_delta", "partial_json": second}),
        event("content_block_stop", index=index),
    ]


def _messages(text: str, arguments: str) -> list[bytes]:
    said = [
        event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        event("content_block_delta", index=0, delta={"type": "text_delta", "text": text}),
        event("content_block_stop", index=0),
    ]
    reason = "tool_use" if arguments else "end_turn"
    return [
        event("message_start", message={"id": "m", "type": "message", "role": "assistant", "content": []}),
        *(messages_call(arguments) if arguments else said),
        event("message_delta", delta={"stop_reason": reason}),
        event("message_stop"),
    ]


# Responses


def responses_call(arguments: str, index: int = 0) -> list[bytes]:
    name = f"f{index}"
    item = {"id": name, "type": "function_call", "call_id": f"c{index}", "name": "Bash", "arguments": ""}
    where = {"output_index": index, "item_id": name}
    first, second = _halves(arguments)
    return [
        event("response.output_item.added", output_index=index, item=item),
        event("response.function_call_arguments.delta", **where, delta=first),
        event("response.function_call_arguments.delta", **where, delta=second),
        event("response.function_call_arguments.done", **where, arguments=arguments),
        event("response.output_item.done", output_index=index, item={**item, "arguments": arguments}),
    ]


def _responses(text: str, arguments: str) -> list[bytes]:
    part = {"type": "output_text", "text": text}
    item: Json = {"id": "m", "type": "message", "role": "assistant", "content": []}
    where = {"output_index": 0, "item_id": "m", "content_index": 0}
    said = [
        event("response.output_item.added", output_index=0, item=item),
        event("response.content_part.added", **where, part={**part, "text": ""}),
        event("response.output_text.delta", **where, delta=text),
        event("response.output_text.done", **where, text=text),
        event("response.output_item.done", output_index=0, item={**item, "content": [part]}),
    ]
    inside = responses_call(arguments) if arguments else said
    last = json.loads(inside[-1].partition(b"data: ")[2])["item"]
    return [
        event("response.created", response={"id": "r", "object": "response", "output": []}),
        *inside,
        event("response.completed", response={"id": "r", "status": "completed", "output": [last]}),
    ]


# Z.AI


def _zai_block(arguments: str) -> str:
    metadata = {"id": "c", "name": "Bash", "arguments": arguments, "result": ""}
    return f"\n\n<glm_block >{_compact({'type': 'mcp', 'data': {'metadata': metadata}})}</glm_block>"


def _zai(text: str, arguments: str) -> list[bytes]:
    backend = Backend(compact=True).delta(text)
    if arguments:
        first, second = _halves(arguments)
        backend.become(text + _zai_block(first)).become(text + _zai_block(first + second))
    return backend.done().events


@dataclass(frozen=True)
class Protocol:
    name: str
    path: str
    write: Callable[[str, str], list[bytes]]
    tool: Callable[[Json], Json]
    reads: str = ""
    """Which protocol the client reads; another one only where the stream is converted."""

    def request(self, **more: Any) -> bytes:
        said = {"messages": [{"role": "user", "content": "Go on."}]}
        if self.name == "responses":
            said = {"input": [{"role": "user", "content": "Go on."}]}
        return json.dumps({"model": "m", "stream": True, **said, "tools": [self.tool(SCHEMA)], **more}).encode()

    def answer(self, request: bytes | None = None, **policy: Any) -> Response:
        """The engine as the proxy would use it for this request, in this process."""
        body = self.request() if request is None else request
        kind = "chat" if self.name == "zai" else self.name
        return Response(kind, read_request(json.loads(body)), Policy(**policy), seed=seed_of(body))

    def calls(self, body: bytes) -> list[tuple[str, str]]:
        """Name and arguments of the calls that a client would run."""
        return _READERS[self.reads or self.name](body)


PROTOCOLS = {
    "chat": Protocol(
        "chat", "/v1/chat/completions", _chat,
        lambda schema: {"type": "function", "function": {"name": "Bash", "parameters": schema}},
    ),
    "messages": Protocol(
        "messages", "/v1/messages", _messages, lambda schema: {"name": "Bash", "input_schema": schema}
    ),
    "responses": Protocol(
        "responses", "/v1/responses", _responses,
        lambda schema: {"type": "function", "name": "Bash", "parameters": schema},
    ),
    "zai": Protocol(
        "zai", "/api/chat/completions", _zai,
        lambda schema: {"type": "function", "function": {"name": "Bash", "parameters": schema}}, "chat",
    ),
}  # fmt: skip

KINDS = {"a text": "", "a valid call": VALID, "a broken call": BROKEN}


def stream(protocol: str, kind: str) -> list[bytes]:
    """The events of one short answer."""
    return PROTOCOLS[protocol].write("Hi 渐变.", KINDS[kind])


STREAMS = [(protocol, kind) for protocol in PROTOCOLS for kind in KINDS]


# What a client makes of an answer


def _objects(body: bytes) -> list[Json]:
    """The complete events up to the last one: a client throws away what no blank line has ended, and then stops."""
    objects: list[Json] = []
    for raw in sse.cut(body)[0]:
        data = sse.read_event(raw).data
        if data == "[DONE]" or (objects and objects[-1].get("type") in _LAST):
            break
        if data:
            objects.append(json.loads(data))
    return objects


_LAST = ("message_stop", "response.completed")


def _chat_calls(body: bytes) -> list[tuple[str, str]]:
    """Run when the finish is there: a client that has none does not know whether the arguments go on."""
    calls: dict[int, list[str]] = {}
    finished = False
    for said in _objects(body):
        for choice in said.get("choices") or []:
            finished = finished or bool(choice.get("finish_reason"))
            for part in choice.get("delta", {}).get("tool_calls") or []:
                call = calls.setdefault(part["index"], ["", ""])
                call[0] += part["function"].get("name") or ""
                call[1] += part["function"].get("arguments") or ""
    return [(name, arguments) for name, arguments in calls.values()] if finished else []


def _messages_calls(body: bytes) -> list[tuple[str, str]]:
    calls: dict[int, list[str]] = {}
    stopped: list[int] = []
    for said in _objects(body):
        index = said.get("index", -1)
        if said["type"] == "content_block_start" and said["content_block"]["type"] == "tool_use":
            calls[index] = [said["content_block"]["name"], ""]
        elif said["type"] == "content_block_delta" and index in calls:
            calls[index][1] += said["delta"].get("partial_json", "")
        elif said["type"] == "content_block_stop" and index in calls:
            stopped.append(index)
    return [(calls[index][0], calls[index][1] or "{}") for index in stopped]


def _responses_calls(body: bytes) -> list[tuple[str, str]]:
    items = [said["item"] for said in _objects(body) if said["type"] == "response.output_item.done"]
    return [(item["name"], item["arguments"]) for item in items if item["type"] == "function_call"]


_READERS = {"chat": _chat_calls, "messages": _messages_calls, "responses": _responses_calls}


def harmless(calls: list[tuple[str, str]]) -> bool:
    """Is every call either the one that the model wrote, as far as its values came whole, or a refusal?

    A call without a name is no tool's.
    """
    for name, arguments in calls:
        read = json.loads(arguments)
        if name not in ("Bash", "") or not isinstance(read, dict) or not read.items() <= RIGHT.items():
            return False
    return True
