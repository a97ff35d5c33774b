"""How much does the Messages dialect cost? As a ratio to `json.loads` of the same events.

    python scripts/bench_messages.py

Bounds: text that passes through at most 0.6, argument deltas at most 2.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "addon"))

from toolcalls.engine import Answer

EVENTS = 2000
ROUNDS = 15
TEXT_BOUND = 0.6
FRAGMENT_BOUND = 2.0


def _event(said: dict[str, Any]) -> bytes:
    return f"event: {said['type']}\ndata: {json.dumps(said, separators=(',', ':'))}\n\n".encode()


def _start(block: dict[str, Any]) -> bytes:
    message = {
        "id": "msg_01", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 1},
    }  # fmt: skip
    opened = {"type": "content_block_start", "index": 0, "content_block": block}
    return _event({"type": "message_start", "message": message}) + _event(opened)


def _deltas(kind: str, field: str, pieces: list[str]) -> list[bytes]:
    return [
        _event({"type": "content_block_delta", "index": 0, "delta": {"type": kind, field: piece}}) for piece in pieces
    ]


def _text(size: int, count: int) -> tuple[bytes, list[bytes]]:
    words = random.Random(7).choices(["the", "parser", "reads", "\n", '"quoted"', "naïve", "code();"], k=size * 2)
    piece = " ".join(words)[:size]
    return _start({"type": "text", "text": ""}), _deltas("text_delta", "text", [piece] * count)


def _fragments(count: int) -> tuple[bytes, list[bytes]]:
    arguments = json.dumps({"file_path": "/src/a.py", "content": "x = 1\n" * (count * 10 // 7)})
    pieces = [arguments[at : at + 10] for at in range(0, count * 10, 10)]
    block = {"type": "tool_use", "id": "toolu_01", "name": "Write", "input": {}}
    return _start(block), _deltas("input_json_delta", "partial_json", pieces)


def _chunked(events: list[bytes], form: str) -> list[bytes]:
    if form == "one event a chunk":
        return events
    if form == "50 events a chunk":
        return [b"".join(events[at : at + 50]) for at in range(0, len(events), 50)]
    body = b"".join(events)
    size = len(body) // len(events) * 7 // 3
    return [body[at : at + size] for at in range(0, len(body), size)]


def _fastest(*steps: Callable[[], None]) -> list[float]:
    """The best time of each step; they take turns, so that a busy machine slows all of them down."""
    best = [float("inf")] * len(steps)
    for _ in range(ROUNDS):
        for number, step in enumerate(steps):
            begin = time.process_time()
            step()
            best[number] = min(best[number], time.process_time() - begin)
    return best


def _ratio(head: bytes, events: list[bytes], chunks: list[bytes]) -> float:
    payloads = [event.split(b"data: ", 1)[1] for event in events]

    def parse() -> None:
        for payload in payloads:
            json.loads(payload)

    def feed() -> None:
        answer = Answer("messages")
        answer.feed(head)
        for chunk in chunks:
            answer.feed(chunk)

    feeding, parsing = _fastest(feed, parse)
    return feeding / parsing


def run() -> list[dict[str, Any]]:
    rows = []
    forms = ("one event a chunk", "50 events a chunk", "cuts inside events")
    for name, (head, events), bound in (
        ("text, 20-byte deltas", _text(20, EVENTS), TEXT_BOUND),
        ("text, 3 KB deltas", _text(3000, EVENTS // 10), TEXT_BOUND),
        ("arguments, 10-byte deltas", _fragments(EVENTS), FRAGMENT_BOUND),
    ):
        for form in forms:
            ratio = _ratio(head, events, _chunked(events, form))
            rows.append({"case": f"messages: {name}", "chunks": form, "ratio": round(ratio, 2), "bound": bound})
    return rows


def main() -> int:
    rows = run()
    for row in rows:
        verdict = "" if row["ratio"] <= row["bound"] else "  TOO SLOW"
        print(f"{row['case']:38} {row['chunks']:20} {row['ratio']:6.2f} × json.loads  (≤ {row['bound']}){verdict}")
    return any(row["ratio"] > row["bound"] for row in rows)


if __name__ == "__main__":
    sys.exit(main())
