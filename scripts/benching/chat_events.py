"""Events of Chat streams as today's servers write them: text, and calls in fragments."""

from __future__ import annotations

import json
from typing import Any

COMPACT = (",", ":")
SPACED = (", ", ": ")
PROSE = (
    "The parser reads one event at a time and keeps what it hasn't understood yet. Most of an answer is plain "
    "prose like this, with code such as `value = table.get(key, 0)` now and then, and it's long. "
)
WORDS = PROSE.split(" ")
LINE = "    def read(self, event: Event) -> Answer:  # it doesn't parse what can't be a call, \"tool\" or not\n"


def event(delta: dict[str, Any], separators: tuple[str, str] = COMPACT, **rest: Any) -> str:
    """The data of one event, as today's servers write it."""
    chunk = {
        "id": "chatcmpl-9f8e7d6c5b4a39281706",
        "object": "chat.completion.chunk",
        "created": 1755000000,
        "model": "a-model-of-today",
        "choices": [{"index": 0, "delta": delta, "finish_reason": None}],
        **rest,
    }
    return json.dumps(chunk, ensure_ascii=False, separators=separators)


def words(number: int) -> str:
    return " " + " ".join(WORDS[(number * 3 + at) % len(WORDS)] for at in range(3))


def text_events(count: int, more: dict[str, Any] | None = None, *, spaced: bool = False, **rest: Any) -> list[str]:
    separators = SPACED if spaced else COMPACT
    return [event({"content": words(number), **(more or {})}, separators, **rest) for number in range(count)]


def big_events(count: int) -> list[str]:
    return [event({"content": (LINE * 40)[number : number + 3000]}) for number in range(count)]


def delta_events(count: int) -> list[str]:
    """A call whose arguments arrive ten bytes at a time."""
    start = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "Write", "arguments": '{"text": "'}}
    pieces = (f"abc def {number % 100:02d}" for number in range(count))
    deltas = [event({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}) for piece in pieces]
    return [event({"tool_calls": [start]}), *deltas]


def varied_events(count: int) -> list[str]:
    """A call whose arguments arrive ten bytes at a time, from a server that pads each event differently."""
    return [f'{data[:-1]},"obfuscation":"{number * 7919:x}"}}' for number, data in enumerate(delta_events(count))]


def framed(events: list[str]) -> list[bytes]:
    return [f"data: {data}\n\n".encode() for data in events]
