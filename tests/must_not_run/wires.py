"""One answer on every wire: text and structured calls as Chat, Messages and Responses, streamed and whole.

A test says what the upstream answered, once; `outcomes` runs it through the engine on three protocols, streamed
(whole, byte by byte, at random cuts) and as one document, and gives what a strict client of each ends with.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.protocols import messages_wire
from tests.protocols.responses_wire import Upstream
from tests.protocols.test_chat import DONE, chunk, piece
from tests.protocols.text_protocols import CHAT, MESSAGES, RESPONSES, Client, Protocol
from tests.splits import mend
from toolcalls.engine import Response, mend_whole
from toolcalls.request.request import Request, read_request

Json = dict[str, Any]

TOOLS: list[Json] = [
    {"type": "function", "function": {"name": name, "parameters": parameters}}
    for name, parameters in {
        "Bash": {
            "type": "object",
            "properties": {
                "command": {"type": "string"},
                "description": {"type": "string"},
                "timeout": {"type": "number"},
            },
            "required": ["command"],
        },
        "Read": {
            "type": "object",
            "properties": {"file_path": {"type": "string"}, "limit": {"type": "integer"}},
            "required": ["file_path"],
        },
        "Write": {
            "type": "object",
            "properties": {"file_path": {"type": "string"}, "content": {"type": "string"}},
            "required": ["file_path", "content"],
        },
        "list_tabs": {"type": "object", "properties": {}},
    }.items()
]

FINISHES: dict[str, tuple[str | None, str | None, str]] = {
    "stop": ("stop", "end_turn", "completed"),
    "calls": ("tool_calls", "tool_use", "completed"),
    "length": ("length", "max_tokens", "incomplete"),
    "filter": ("content_filter", "refusal", "incomplete"),
    "none": (None, None, ""),
}
"""How an answer ends, in the words of Chat, Messages and Responses. `none`: no word of it, the stream just ends."""


@dataclass(frozen=True)
class Call:
    """A structured call of the upstream: its arguments in one piece, or in fragments."""

    name: str
    fragments: tuple[str, ...]
    id: str = ""

    @property
    def arguments(self) -> str:
        return "".join(self.fragments)


def call(name: str, *fragments: str, id: str = "") -> Call:
    return Call(name, fragments, id)


@dataclass(frozen=True)
class Said:
    """What an upstream answers: text, then calls, then how it ends."""

    text: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    finish: str = "stop"
    request: Json = field(default_factory=dict)

    @property
    def question(self) -> Request:
        return read_request({"tools": TOOLS, "stream": True, **self.request})


def stream(protocol: Protocol, said: Said) -> bytes:
    chat, messages, responses = FINISHES[said.finish]
    if protocol is CHAT:
        body = "".join(chunk({"content": text}) for text in said.text)
        for index, each in enumerate(said.calls):
            first, *rest = each.fragments or ("",)
            body += chunk(piece(index, each.id or f"call_{index}", each.name, first))
            body += "".join(chunk(piece(index, arguments=fragment)) for fragment in rest)
        return (body + (chunk({}, chat) + DONE if chat else "")).encode()
    if protocol is MESSAGES:
        wire = messages_wire
        out = wire.begin()
        if said.text:
            out += wire.text(0, *said.text)
        for index, each in enumerate(said.calls, start=bool(said.text)):
            out += wire.tool(index, *each.fragments, identity=each.id or f"toolu_{index}", name=each.name)
        return out + (wire.end(messages) if messages else b"")
    upstream = _responses(said)
    if responses:
        upstream.end(responses)
    return upstream.bytes()


def document(protocol: Protocol, said: Said) -> bytes:
    chat, messages, responses = FINISHES[said.finish]
    text = "".join(said.text)
    if protocol is CHAT:
        calls = [
            {"id": each.id or f"call_{index}", "type": "function",
             "function": {"name": each.name, "arguments": each.arguments}}
            for index, each in enumerate(said.calls)
        ]  # fmt: skip
        message: Json = {"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})}
        return json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": chat}]}).encode()
    if protocol is MESSAGES:
        content: list[Json] = [{"type": "text", "text": text}] if text else []
        content += [
            {"type": "tool_use", "id": each.id or f"toolu_{index}", "name": each.name, "input": each.arguments}
            for index, each in enumerate(said.calls)
        ]
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": "msg_01", "type": "message", "role": "assistant", "model": "m", "content": content}
        return json.dumps({**message, "stop_reason": messages, "stop_sequence": None, "usage": usage}).encode()
    made = _responses(said).end(responses or "incomplete")
    return json.dumps(made.events[-1]["response"]).encode()


def _responses(said: Said) -> Upstream:
    upstream = Upstream()
    if said.text:
        upstream.message(*said.text)
    for index, each in enumerate(said.calls):
        upstream.call(each.name, *each.fragments, call_id=each.id or f"call_{index}")
    return upstream


def outcomes(said: Said, *protocols: Protocol, whole: bool = True) -> Iterator[tuple[str, Client]]:
    """What clients end with, by protocol and form; the same for every split or an assertion fails."""
    for protocol in protocols or (CHAT, MESSAGES, RESPONSES):
        if said.finish != "none":
            out, _ = mend(stream(protocol, said), protocol=protocol.name, question=said.question)
            yield f"{protocol.name} streamed", protocol.read(out)
        if whole:
            answer = Response(protocol.name, said.question)
            yield f"{protocol.name} whole", protocol.read_document(mend_whole(answer, document(protocol, said)))


def runnable(said: Said, *protocols: Protocol) -> Iterator[tuple[str, list[Json]]]:
    """The calls that would run: those whose arguments are not the empty fallback of a refusal."""
    for where, client in outcomes(said, *protocols):
        yield where, [each for each in client.calls if each["arguments"] != {} and each["name"] != "invalid"]
