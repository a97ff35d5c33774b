"""The same text as an answer of each protocol, and what a strict client of that protocol ends with."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.chat_client import read as read_chat
from tests.protocols import messages_wire
from tests.protocols.responses_wire import Upstream
from tests.protocols.test_chat import DONE, chunk
from tests.protocols.zai_streams import Backend
from tests.validators import chat as strict_chat
from tests.validators import gemini as strict_gemini
from tests.validators import messages as strict_messages
from tests.validators import ollama as strict_ollama
from tests.validators import responses as strict_responses

Json = dict[str, Any]


@dataclass(frozen=True)
class Client:
    """What a client holds in the end."""

    text: str
    calls: list[Json]
    finish: str


@dataclass(frozen=True)
class Protocol:
    name: str
    stream: Callable[[list[str], bool], bytes]
    """The text in deltas; True: the answer was cut off."""
    document: Callable[[str, bool], bytes]
    read: Callable[[bytes], Client]
    read_document: Callable[[bytes], Client]
    finishes: tuple[str, str, str]
    """Without calls, with calls, cut off."""
    converts: bool = False
    """What the client gets is another protocol: nothing passes as it came, and no answer is one document."""


def deltas(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size or 1)]


def _call(name: str, arguments: Any) -> Json:
    return {"name": name, "arguments": json.loads(arguments) if isinstance(arguments, str) else arguments}


# Chat


def _chat_stream(texts: list[str], cut: bool) -> bytes:
    said = "".join(chunk({"content": text}) for text in texts)
    return (said + chunk({}, "length" if cut else "stop") + DONE).encode()


def _chat_document(text: str, cut: bool) -> bytes:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "length" if cut else "stop"}
    return json.dumps({"choices": [choice]}).encode()


def _chat_read(body: bytes) -> Client:
    strict_chat.validate(body)
    held = read_chat(body)
    assert len(held.finishes) == 1
    return Client(held.text, [_call(*call) for call in held.call_list()], held.finishes[0])


def _chat_read_document(body: bytes) -> Client:
    choice = json.loads(body)["choices"][0]
    calls = [_call(call["function"]["name"], call["function"]["arguments"])
             for call in choice["message"].get("tool_calls") or []]  # fmt: skip
    return Client(choice["message"]["content"] or "", calls, choice["finish_reason"])


# Messages


def _messages_stream(texts: list[str], cut: bool) -> bytes:
    wire = messages_wire
    return wire.begin() + wire.text(0, *texts) + wire.end("max_tokens" if cut else "end_turn")


def _messages_document(text: str, cut: bool) -> bytes:
    content = [{"type": "text", "text": text}]
    message = {"id": "msg_01", "type": "message", "role": "assistant", "model": "m", "content": content}
    reason = "max_tokens" if cut else "end_turn"
    usage = {"input_tokens": 1, "output_tokens": 1}
    return json.dumps({**message, "stop_reason": reason, "stop_sequence": None, "usage": usage}).encode()


def _messages_read(body: bytes) -> Client:
    message = strict_messages.read(body)
    assert message.error is None
    return Client(message.text, [_call(*call) for call in message.calls], message.stop_reason or "")


def _messages_read_document(body: bytes) -> Client:
    message = json.loads(body)
    text = "".join(block["text"] for block in message["content"] if block["type"] == "text")
    calls = [_call(block["name"], block["input"]) for block in message["content"] if block["type"] == "tool_use"]
    return Client(text, calls, message["stop_reason"])


# Responses


def _responses_stream(texts: list[str], cut: bool) -> bytes:
    return Upstream().message(*texts).end("incomplete" if cut else "completed").bytes()


def _responses_document(text: str, cut: bool) -> bytes:
    made = Upstream().message(text).end("incomplete" if cut else "completed")
    return json.dumps(made.events[-1]["response"]).encode()


def _responses_read(body: bytes) -> Client:
    final = strict_responses.validate(body)
    calls = [_call(name, arguments) for _, name, arguments in final.calls()]
    return Client("".join(final.texts()), calls, final.response["status"])


def _responses_read_document(body: bytes) -> Client:
    response = json.loads(body)
    parts = [part for item in response["output"] if item["type"] == "message" for part in item["content"]]
    calls = [_call(item["name"], item["arguments"]) for item in response["output"] if item["type"] == "function_call"]
    return Client("".join(part["text"] for part in parts), calls, response["status"])


# Ollama


def ollama_line(message: Json, **end: Any) -> bytes:
    """A line of `/api/chat`; the last one has a `done_reason`."""
    said = {"role": "assistant", "content": "", **message}
    line = {"model": "m", "created_at": "2026-08-21T10:00:00Z", "message": said, "done": "done_reason" in end, **end}
    return json.dumps(line).encode() + b"\n"


def _ollama_stream(texts: list[str], cut: bool) -> bytes:
    said = b"".join(ollama_line({"content": text}) for text in texts)
    return said + ollama_line({}, done_reason="length" if cut else "stop")


def _ollama_document(text: str, cut: bool) -> bytes:
    return ollama_line({"content": text}, done_reason="length" if cut else "stop")


def _ollama_read(body: bytes) -> Client:
    held = strict_ollama.read(body)
    return Client(held.text, [_call(*call) for call in held.calls], held.done_reason or "")


# Gemini


def gemini_answer(*parts: Json, finish: str = "") -> Json:
    candidate: Json = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
    return {"candidates": [{**candidate, **({"finishReason": finish} if finish else {})}], "modelVersion": "m"}


def gemini_event(*parts: Json, finish: str = "") -> bytes:
    return b"data: " + json.dumps(gemini_answer(*parts, finish=finish)).encode() + b"\r\n\r\n"


def _gemini_stream(texts: list[str], cut: bool) -> bytes:
    finish = "MAX_TOKENS" if cut else "STOP"
    return b"".join(gemini_event({"text": text}) for text in texts[:-1]) + gemini_event(
        *({"text": text} for text in texts[-1:]), finish=finish
    )


def _gemini_document(text: str, cut: bool) -> bytes:
    return json.dumps(gemini_answer({"text": text}, finish="MAX_TOKENS" if cut else "STOP")).encode()


def _gemini_read(body: bytes) -> Client:
    held = strict_gemini.read(body)
    return Client(held.text, [_call(*call) for call in held.calls], "".join(held.finishes[-1:]))


# chat.z.ai, whose answers reach the client as Chat


def zai_end(backend: Backend, reason: str) -> bytes:
    """The events of an answer, and those that end it."""
    return backend.say(choices=[{"index": 0, "delta": {}, "finish_reason": reason}], phase="answer").done().stream


def _zai_stream(texts: list[str], cut: bool) -> bytes:
    backend = Backend(compact=True)
    for text in texts:
        backend.delta(text)
    return zai_end(backend, "length" if cut else "stop")


def _zai_document(text: str, cut: bool) -> bytes:
    raise NotImplementedError("chat.z.ai always streams")


CHAT = Protocol(
    "chat", _chat_stream, _chat_document, _chat_read, _chat_read_document, ("stop", "tool_calls", "length")
)
MESSAGES = Protocol(
    "messages",
    _messages_stream,
    _messages_document,
    _messages_read,
    _messages_read_document,
    ("end_turn", "tool_use", "max_tokens"),
)
RESPONSES = Protocol(
    "responses",
    _responses_stream,
    _responses_document,
    _responses_read,
    _responses_read_document,
    ("completed", "completed", "incomplete"),
)
OLLAMA = Protocol("ollama", _ollama_stream, _ollama_document, _ollama_read, _ollama_read, ("stop", "stop", "length"))
GEMINI = Protocol(
    "gemini", _gemini_stream, _gemini_document, _gemini_read, _gemini_read, ("STOP", "STOP", "MAX_TOKENS")
)
ZAI = Protocol(
    "zai",
    _zai_stream,
    _zai_document,
    _chat_read,
    _chat_read_document,
    ("stop", "tool_calls", "length"),
    converts=True,
)
PROTOCOLS = (CHAT, MESSAGES, RESPONSES)
