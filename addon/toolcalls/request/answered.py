"""What a host sent beside the calls of an answer and may want back: reasoning, thinking blocks, signatures.

The host's own bytes are parsed once, when the answer is over, and only if they contain such a field.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import groupby
from sys import getsizeof
from typing import Any

from ..mend.strict import write
from ..sizes import MOST_MARKS, marks_in
from ..wire import sse

Json = dict[str, Any]

DETAILS = "reasoning_details"
FIELDS = (DETAILS, "reasoning_content", "reasoning", "thinking")
"""Fields of a message with reasoning. A host that sends several gets the first of them back; Ollama's is the last."""
EMPTY_FIELDS = ("reasoning_content", "reasoning")
"""The fields that hosts take with an empty text."""
NO_REASONING = '""'
"""The JSON text of empty reasoning, for hosts that insist on the field."""
EXTRA = "extra_content"
"""The field of a Chat call in which hosts in front of Gemini send its thought signature."""
SIGNATURE = "thoughtSignature"
"""The field of a part with the signature, in Gemini's own protocol."""
THINKING = ("thinking", "redacted_thinking")
_CALLS = {"tool_use": "id", "function_call": "call_id", "custom_tool_call": "call_id"}
_MOST_LINES = 20_000
"""The whole answer is read at once, so an answer with far too many lines is not read."""


@dataclass(slots=True)
class GivenBack:
    """What one message of the model gets back. Values are JSON texts."""

    fields: dict[str, str] = field(default_factory=dict)
    extras: dict[str, str] = field(default_factory=dict)
    """By the number of the call in its message."""
    blocks: list[str] = field(default_factory=list)
    """Thinking blocks or reasoning items, which came before everything else."""

    def __bool__(self) -> bool:
        return bool(self.fields or self.extras or self.blocks)


@dataclass(slots=True)
class AnsweredTurn:
    """One answer: what identifies it, and what its host may want back.

    One that has nothing to give back is kept too, because another conversation may be like its own.
    """

    ids: list[str] = field(default_factory=list)
    text: str = ""
    back: GivenBack = field(default_factory=GivenBack)
    """Its extras are by the id of the call, or by its number if calls have no ids."""

    @property
    def size(self) -> int:
        """The size in memory: one character outside Latin-1 doubles or quadruples the size of its text."""
        back = self.back
        return sum(map(getsizeof, (*self.ids, self.text, *back.fields.values(), *back.extras.values(), *back.blocks)))


def read_answer(protocol: str, body: bytes) -> AnsweredTurn | None:
    """What the host of this answer may want back; None if that is nothing, or cannot be read with certainty."""
    read, marks = _READERS.get(protocol, (_chat, ()))
    if not any(mark in body for mark in marks):
        return None
    try:
        if body.count(b"\n") + body.count(b"\r") > _MOST_LINES or marks_in(body) > MOST_MARKS:
            return None
        turn = read(_objects(body))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError):
        return None
    return turn if turn.back else None


def _objects(body: bytes) -> list[Json]:
    """The events of a stream, or the document: both are read alike."""
    if body.lstrip()[:1] not in (b"[", b"{"):
        events = (sse.read_event(raw).data for raw in sse.split(body))
        return [json.loads(data) for data in events if data and data[:1] == "{"]
    try:
        whole = json.loads(body)
    except json.JSONDecodeError:
        whole = [json.loads(line) for line in body.splitlines() if line.strip()]
    return whole if isinstance(whole, list) else [whole]


def _chat(answers: Iterable[Json]) -> AnsweredTurn:
    """An answer of Chat, or of Ollama, whose calls have no ids."""
    turn = AnsweredTurn()
    pieces: dict[str, list[str]] = defaultdict(list)
    details: list[Json] = []
    for answer in answers:
        [choice] = [answer] if "message" in answer else answer.get("choices") or [{}]
        if choice.get("index"):
            raise ValueError("several answers")
        message = choice.get("message") or choice.get("delta") or {}
        for key in ("content", *FIELDS):
            if isinstance(message.get(key), str):
                pieces[key].append(message[key])
        details += message.get(DETAILS) or ()
        for call in message.get("tool_calls") or ():
            if call.get("id"):
                turn.ids.append(call["id"])
            if EXTRA in call and turn.ids:
                turn.back.extras[call.get("id") or turn.ids[-1]] = write(call[EXTRA])
    turn.text = "".join(pieces["content"])
    if details:
        turn.back.fields = {DETAILS: write(_whole(details))}
    elif fields := [key for key in FIELDS if key in pieces]:
        turn.back.fields = {fields[0]: write("".join(pieces[fields[0]]))}
    return turn


def _whole(details: list[Json]) -> list[Json]:
    """The entries of `reasoning_details`, which a stream sends in pieces."""
    entries: list[Json] = []
    for _, run in groupby(details, lambda piece: (piece.get("type"), piece.get("index"))):
        pieces, entry = [*run], dict[str, Any]()
        for piece in pieces:
            entry |= {key: value for key, value in piece.items() if value is not None or key not in entry}
        for key in ("text", "summary"):
            if texts := [piece[key] for piece in pieces if isinstance(piece.get(key), str)]:
                entry[key] = "".join(texts)
        entries.append(entry)
    return entries


def _messages(answers: Iterable[Json]) -> AnsweredTurn:
    blocks: dict[int, Json] = {}
    pieces: dict[tuple[int, str], list[str]] = defaultdict(list)
    for answer in answers:
        if answer["type"] == "message":
            blocks = dict(enumerate(answer["content"]))
        elif answer["type"] == "content_block_start":
            blocks[answer["index"]] = dict(answer["content_block"])
        elif answer["type"] == "content_block_delta":
            for key in ("text", "thinking", "signature"):
                if isinstance(answer["delta"].get(key), str):
                    pieces[answer["index"], key].append(answer["delta"][key])
    for (index, key), texts in pieces.items():
        blocks[index][key] = "".join([blocks[index].get(key) or "", *texts])
    return _in_order([blocks[index] for index in sorted(blocks)])


def _responses(answers: Iterable[Json]) -> AnsweredTurn:
    items: dict[int, Json] = {}
    for answer in answers:
        if "output" in answer:
            items = dict(enumerate(answer["output"]))
        elif answer.get("type") == "response.output_item.done":
            items[answer["output_index"]] = answer["item"]
    for item in items.values():
        if item["type"] not in _CALLS and not (item["type"] == "reasoning" and item.get("encrypted_content")):
            raise ValueError("reasoning that only the server has, or that belongs to an item that is no call")
    return _in_order([items[index] for index in sorted(items)])


def _in_order(entries: list[Json]) -> AnsweredTurn:
    turn = AnsweredTurn()
    for number, entry in enumerate(entries):
        if entry["type"] in (*THINKING, "reasoning"):
            if number > len(turn.back.blocks):
                raise ValueError("thinking between other blocks belongs where it was")
            turn.back.blocks.append(write(entry))
        elif entry["type"] in _CALLS:
            turn.ids.append(entry[_CALLS[entry["type"]]])
        elif entry["type"] == "text":
            turn.text += entry["text"]
    return turn


def _gemini(answers: Iterable[Json]) -> AnsweredTurn:
    turn = AnsweredTurn()
    for candidate in (one for answer in answers for one in answer.get("response", answer).get("candidates") or ()):
        if candidate.get("index"):
            raise ValueError("several answers")
        for part in (candidate.get("content") or {}).get("parts") or ():
            # After the first piece of a call, further pieces have no name.
            if part.get("functionCall", {}).get("name"):
                turn.ids.append(part["functionCall"]["name"])
                if part.get(SIGNATURE):
                    turn.back.extras[str(len(turn.ids) - 1)] = write(part[SIGNATURE])
    return turn


_READERS: dict[str, tuple[Callable[[Iterable[Json]], AnsweredTurn], tuple[bytes, ...]]] = {
    "chat": (_chat, (b'"reasoning', b'"extra_content"')),
    "messages": (_messages, (b'"thinking"', b'"redacted_thinking"')),
    "responses": (_responses, (b'"encrypted_content"',)),
    "ollama": (_chat, (b'"thinking"',)),
    "gemini": (_gemini, (f'"{SIGNATURE}"'.encode(),)),
}
"""How the answers of a protocol are read, and what must be in them for that."""
