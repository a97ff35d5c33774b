"""Reads what a host sent beside the calls of an answer and may want back: reasoning, thinking blocks, signatures.

The host's own bytes are parsed once, when the answer is over, and only if they contain such a field.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from sys import getsizeof
from typing import Any

from ..mend.reading.strict import write
from ..wire import sse
from ..work import TooMuchWork, Work

Json = dict[str, Any]

DETAILS = "reasoning_details"
FIELDS = {"chat": (DETAILS, "reasoning_content", "reasoning"), "ollama": ("thinking",)}
"""Fields of a message with reasoning, by protocol. A host that sends several gets the first of them back."""
EXTRA = "extra_content"
"""The field of a Chat call in which hosts in front of Gemini send its thought signature."""
SIGNATURE = "thoughtSignature"
"""The field of a part with the signature, in Gemini's own protocol."""
THINKING = ("thinking", "redacted_thinking")
_LINE = 8
"""Steps per line. The whole answer is read at once, so an answer with far too many lines is not read."""


@dataclass(slots=True)
class AnsweredTurn:
    """One answer: what identifies it, and what its host may want back, as JSON texts."""

    ids: list[str] = field(default_factory=list)
    text: str = ""
    fields: dict[str, str] = field(default_factory=dict)
    extras: dict[str, str] = field(default_factory=dict)
    """By the id of the call, or by its number if calls have no ids."""
    blocks: list[str] = field(default_factory=list)
    """Thinking blocks or reasoning items, which came before everything else."""

    def __bool__(self) -> bool:
        return bool(self.fields or self.extras or self.blocks)

    @property
    def size(self) -> int:
        """The size in memory: one character outside Latin-1 doubles or quadruples the size of its text."""
        return sum(map(getsizeof, (*self.ids, self.text, *self.fields.values(), *self.extras.values(), *self.blocks)))


def read_answer(protocol: str, body: bytes) -> AnsweredTurn | None:
    """What the host of this answer may want back; None if that is nothing, or cannot be read with certainty."""
    reader, marks = _READERS.get(protocol, (None, ()))
    if reader is None or not any(mark in body for mark in marks):
        return None
    try:
        _account(body)
        turn = reader(body)
    except (TooMuchWork, AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError):
        return None
    return turn or None


def _account(body: bytes) -> None:
    work = Work()
    work.spend(_LINE * (body.count(b"\n") + body.count(b"\r")))
    work.read_json(body)


def _events(body: bytes) -> Iterator[Json]:
    for raw in sse.split(body):
        data = sse.read_event(raw).data
        if data and data[:1] == "{":
            yield json.loads(data)


def _is_document(body: bytes) -> bool:
    return body.lstrip()[:1] == b"{"


def _chat(body: bytes) -> AnsweredTurn:
    """Read an answer of Chat."""
    if _is_document(body):
        choices = [json.loads(body)["choices"]]
        messages = [choice["message"] for [choice] in choices]
    else:
        messages = []
        for event in _events(body):
            for choice in event.get("choices") or ():
                if choice.get("index"):
                    raise ValueError("several answers")
                messages.append(choice.get("delta") or {})
    turn = AnsweredTurn()
    pieces: dict[str, list[str]] = {}
    """The pieces of each field."""
    details: list[Json] = []
    ids: dict[str, None] = {}
    for message in messages:
        for key in FIELDS["chat"]:
            value = message.get(key)
            if isinstance(value, str):
                pieces.setdefault(key, []).append(value)
            elif key == DETAILS and value:
                _add_details(details, value)
        if isinstance(message.get("content"), str):
            pieces.setdefault("content", []).append(message["content"])
        for call in message.get("tool_calls") or ():
            if call.get("id"):
                ids.setdefault(call["id"])
            if EXTRA in call and ids:
                turn.extras[call.get("id") or next(reversed(ids))] = write(call[EXTRA])
    turn.ids = list(ids)
    turn.text = "".join(pieces.pop("content", ()))
    turn.fields = {DETAILS: write([*map(_joined, details)])} if details else {}
    turn.fields |= {
        key: write("".join(pieces[key])) for key in FIELDS["chat"] if key in pieces and key not in turn.fields
    }
    return turn


class _Pieces(list[str]):
    """The pieces of one text, which are joined once, at the end."""


def _add_details(details: list[Json], pieces: list[Json]) -> None:
    """Add pieces of `reasoning_details` to its entries: a stream sends the entries in pieces."""
    for piece in pieces:
        last = details[-1] if details else {}
        if not details or (last.get("type"), last.get("index")) != (piece.get("type"), piece.get("index")):
            last = {}
            details.append(last)
        for key, value in piece.items():
            if key not in ("text", "summary") or not isinstance(value, str):
                if value is not None or key not in last:
                    last[key] = value
            elif isinstance(last.get(key), _Pieces):
                last[key].append(value)
            else:
                last[key] = _Pieces([value])


def _joined(entry: Json) -> Json:
    return {key: "".join(value) if isinstance(value, _Pieces) else value for key, value in entry.items()}


def _messages(body: bytes) -> AnsweredTurn:
    """Read an answer of Messages."""
    if _is_document(body):
        return _of_blocks(json.loads(body)["content"])
    blocks: dict[int, Json] = {}
    for event in _events(body):
        if event["type"] == "content_block_start":
            blocks[event["index"]] = dict(event["content_block"])
        elif event["type"] == "content_block_delta":
            block, delta = blocks[event["index"]], event["delta"]
            for key in ("text", "thinking", "signature"):
                if isinstance(delta.get(key), str):
                    if not isinstance(block.get(key), _Pieces):
                        block[key] = _Pieces([block.get(key) or ""])
                    block[key].append(delta[key])
    return _of_blocks([_joined(blocks[index]) for index in sorted(blocks)])


def _responses(body: bytes) -> AnsweredTurn:
    """Read an answer of Responses."""
    if _is_document(body):
        return _of_items(json.loads(body)["output"])
    items: dict[int, Json] = {}
    for event in _events(body):
        if event.get("type") == "response.output_item.done":
            items[event["output_index"]] = event["item"]
    return _of_items([items[index] for index in sorted(items)])


def _of_items(items: list[Json]) -> AnsweredTurn:
    turn = AnsweredTurn()
    for number, item in enumerate(items):
        if item["type"] == "reasoning":
            if number > len(turn.blocks) or not item.get("encrypted_content"):
                raise ValueError("reasoning between other items, or reasoning that only the server has")
            turn.blocks.append(write(item))
        elif item["type"] in ("function_call", "custom_tool_call"):
            turn.ids.append(item["call_id"])
        else:
            raise ValueError("reasoning belongs to the item behind it, and that is no call")
    return turn


def _of_blocks(blocks: list[Json]) -> AnsweredTurn:
    turn = AnsweredTurn()
    for number, block in enumerate(blocks):
        if block["type"] in THINKING:
            if number > len(turn.blocks):
                raise ValueError("thinking between other blocks belongs where it was")
            turn.blocks.append(write(block))
        elif block["type"] == "tool_use":
            turn.ids.append(block["id"])
        elif block["type"] == "text":
            turn.text += block["text"]
    return turn


def _ollama(body: bytes) -> AnsweredTurn:
    """Read an answer of Ollama."""
    turn = AnsweredTurn()
    texts: list[str] = []
    reasoning: list[str] = []
    for line in body.splitlines():
        message = json.loads(line).get("message") if line.strip() else None
        if message:
            texts.append(message.get("content") or "")
            if isinstance(message.get("thinking"), str):
                reasoning.append(message["thinking"])
    turn.text = "".join(texts)
    if reasoning:
        turn.fields["thinking"] = write("".join(reasoning))
    return turn


def _gemini(body: bytes) -> AnsweredTurn:
    """Read an answer of Gemini."""
    start = body.lstrip()[:1]
    if start in (b"{", b"["):
        whole = json.loads(body)
        answers = whole if start == b"[" else [whole]
    else:
        answers = [*_events(body)]
    turn = AnsweredTurn()
    for answer in answers:
        for candidate in answer.get("response", answer).get("candidates") or ():
            if candidate.get("index"):
                raise ValueError("several answers")
            for part in (candidate.get("content") or {}).get("parts") or ():
                # After the first piece of a call, further pieces have no name.
                if part.get("functionCall", {}).get("name"):
                    turn.ids.append(part["functionCall"]["name"])
                    if part.get(SIGNATURE):
                        turn.extras[str(len(turn.ids) - 1)] = write(part[SIGNATURE])
    return turn


_READERS = {
    "chat": (_chat, (b'"reasoning', b'"extra_content"')),
    "messages": (_messages, (b'"thinking"', b'"redacted_thinking"')),
    "responses": (_responses, (b'"encrypted_content"',)),
    "ollama": (_ollama, (b'"thinking"',)),
    "gemini": (_gemini, (b'"thoughtSignature"',)),
}
