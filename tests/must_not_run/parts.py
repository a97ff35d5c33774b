"""An answer in parts, text, reasoning and structured calls in any order, as each protocol sends them.

In Chat neighbouring texts are one text. In Messages each part is a block, in Responses an item; a `further` text is
another part of the same message there.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from tests.protocols import messages_wire
from tests.protocols.responses_wire import Upstream
from tests.protocols.test_chat import DONE, chunk, piece
from tests.protocols.text_protocols import (
    CHAT,
    GEMINI,
    MESSAGES,
    OLLAMA,
    ZAI,
    Protocol,
    gemini_answer,
    gemini_event,
    ollama_line,
    zai_end,
)
from tests.protocols.zai_streams import Backend, block

Json = dict[str, Any]
Kind = Literal["text", "further", "reasoning", "call"]


@dataclass(frozen=True)
class Part:
    kind: Kind
    text: str
    """Of a call: its arguments."""
    name: str = ""


def pieces(text: str, size: int, seed: int) -> list[str]:
    """The text in deltas: of one size, in random ones (below 0), or in one (0)."""
    if not size:
        return [text]
    chance = random.Random(seed)
    found, at = [], 0
    while at < len(text):
        step = size if size > 0 else chance.choice((1, 2, 3, 5, 9, 30, 100))
        found.append(text[at : at + step])
        at += step
    return found


def text_of(parts: tuple[Part, ...]) -> str:
    return "".join(part.text for part in parts if part.kind in ("text", "further"))


def stream(protocol: Protocol, parts: tuple[Part, ...], size: int = 0, seed: int = 0, finish: bool = True) -> bytes:
    """`finish`: False, and nothing says how the answer ended."""
    calls = any(part.kind == "call" for part in parts)
    reason = protocol.finishes[calls]
    if protocol is CHAT:
        return (_chat(parts, size, seed) + (chunk({}, reason) + DONE if finish else "")).encode()
    if protocol is MESSAGES:
        return _messages(parts, size, seed) + (messages_wire.end(reason) if finish else b"")
    if protocol is OLLAMA:
        return _ollama(parts, size, seed) + (ollama_line({}, done_reason=reason) if finish else b"")
    if protocol is GEMINI:
        return _gemini(parts, size, seed) + (gemini_event({"text": ""}, finish=reason) if finish else b"")
    if protocol is ZAI:
        backend = _zai(parts, size, seed)
        return zai_end(backend, reason) if finish else backend.stream
    upstream = _responses(parts, size, seed)
    return (upstream.end(reason) if finish else upstream).bytes()


def document(protocol: Protocol, parts: tuple[Part, ...]) -> bytes:
    calls = [part for part in parts if part.kind == "call"]
    reason = protocol.finishes[bool(calls)]
    if protocol is CHAT:
        message: Json = {"role": "assistant", "content": text_of(parts)}
        if thoughts := "".join(part.text for part in parts if part.kind == "reasoning"):
            message["reasoning_content"] = thoughts
        if calls:
            message["tool_calls"] = [
                {"id": f"call_{number}", "type": "function", "function": {"name": part.name, "arguments": part.text}}
                for number, part in enumerate(calls)
            ]
        return json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": reason}]}).encode()
    if protocol is MESSAGES:
        whole = {"id": "msg_01", "type": "message", "role": "assistant", "model": "m", "stop_sequence": None}
        usage = {"input_tokens": 1, "output_tokens": 1}
        content = [_block(number, part) for number, part in enumerate(parts)]
        return json.dumps({**whole, "content": content, "stop_reason": reason, "usage": usage}).encode()
    if protocol is OLLAMA:
        thoughts = "".join(part.text for part in parts if part.kind == "reasoning")
        entries = [_entry(number, part) for number, part in enumerate(calls)]
        message = {"content": text_of(parts), "thinking": thoughts, "tool_calls": entries}
        return ollama_line({key: value for key, value in message.items() if value}, done_reason=reason)
    if protocol is GEMINI:
        return json.dumps(gemini_answer(*map(_part, parts), finish=reason)).encode()
    made = _responses(parts, 0, 0).end(reason)
    return json.dumps(made.events[-1]["response"]).encode()


def _chat(parts: tuple[Part, ...], size: int, seed: int) -> str:
    said, calls = "", 0
    for part in parts:
        if part.kind == "call":
            said += chunk(piece(calls, f"call_{calls}", part.name, part.text))
            calls += 1
        else:
            key = "reasoning_content" if part.kind == "reasoning" else "content"
            said += "".join(chunk({key: text}) for text in pieces(part.text, size, seed))
    return said


def _entry(number: int, part: Part) -> Json:
    return {"id": f"call_{number}", "function": {"name": part.name, "arguments": json.loads(part.text)}}


def _ollama(parts: tuple[Part, ...], size: int, seed: int) -> bytes:
    said = b""
    for number, part in enumerate(parts):
        if part.kind == "call":
            said += ollama_line({"tool_calls": [_entry(number, part)]})
        else:
            key = "thinking" if part.kind == "reasoning" else "content"
            said += b"".join(ollama_line({key: text}) for text in pieces(part.text, size, seed))
    return said


def _part(part: Part) -> Json:
    if part.kind == "call":
        return {"functionCall": {"name": part.name, "args": json.loads(part.text)}}
    return {"text": part.text, **({"thought": True} if part.kind == "reasoning" else {})}


def _gemini(parts: tuple[Part, ...], size: int, seed: int) -> bytes:
    said = b""
    for part in parts:
        if part.kind == "call":
            said += gemini_event(_part(part))
        else:
            told = {**_part(part)}
            said += b"".join(gemini_event({**told, "text": text}) for text in pieces(part.text, size, seed))
    return said


def _zai(parts: tuple[Part, ...], size: int, seed: int) -> Backend:
    """Thinking without a wrapper, which is no part of the document."""
    backend = Backend(compact=True)
    for number, part in enumerate(parts):
        if part.kind == "call":
            backend.become(f"{backend.document}\n\n{block(part.name, part.text, f'call_{number}')}")
        else:
            say = backend.think if part.kind == "reasoning" else backend.delta
            for text in pieces(part.text, size, seed):
                say(text)
    return backend


def _block(number: int, part: Part) -> Json:
    if part.kind == "call":
        return {"type": "tool_use", "id": f"toolu_{number}", "name": part.name, "input": json.loads(part.text)}
    if part.kind == "reasoning":
        return {"type": "thinking", "thinking": part.text, "signature": "EqQB"}
    return {"type": "text", "text": part.text}


def _messages(parts: tuple[Part, ...], size: int, seed: int) -> bytes:
    wire, out = messages_wire, messages_wire.begin()
    for number, part in enumerate(parts):
        if part.kind == "call":
            out += wire.tool(number, part.text, identity=f"toolu_{number}", name=part.name)
        else:
            write = wire.thinking if part.kind == "reasoning" else wire.text
            out += write(number, *pieces(part.text, size, seed))
    return out


def _items(parts: tuple[Part, ...]) -> Iterator[list[Part]]:
    """The parts by item: a further text belongs to the message before it."""
    item: list[Part] = []
    for part in parts:
        if part.kind != "further" and item:
            yield item
            item = []
        item.append(part)
    if item:
        yield item


def _responses(parts: tuple[Part, ...], size: int, seed: int) -> Upstream:
    upstream = Upstream()
    for item in _items(parts):
        first = item[0]
        if first.kind == "call":
            upstream.call(first.name, first.text)
        elif first.kind == "reasoning":
            upstream.reasoning(*pieces(first.text, size, seed), own_words=bool(size))
        else:
            _message(upstream, [pieces(part.text, size, seed) for part in item])
    return upstream


def _message(upstream: Upstream, texts: list[list[str]]) -> None:
    """A message of several parts."""
    place = len(upstream.output)
    identity = f"msg_{place}"
    item = {"id": identity, "type": "message", "status": "in_progress", "role": "assistant", "content": []}
    upstream.say("response.output_item.added", output_index=place, item=item)
    content = []
    for number, deltas in enumerate(texts):
        where = {"item_id": identity, "output_index": place, "content_index": number}
        part = {"type": "output_text", "text": "", "annotations": []}
        upstream.say("response.content_part.added", **where, part=part)
        for delta in deltas:
            upstream.say("response.output_text.delta", **where, delta=delta)
        whole = {**part, "text": "".join(deltas)}
        upstream.say("response.output_text.done", **where, text=whole["text"])
        upstream.say("response.content_part.done", **where, part=whole)
        content.append(whole)
    upstream.finish(place, {**item, "status": "completed", "content": content})
