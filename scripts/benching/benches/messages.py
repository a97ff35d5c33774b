"""What the Messages dialect costs, compared with `json.loads` of the same events, and whether it grows linearly."""

from __future__ import annotations

import json
import random
from functools import partial
from typing import Any

from toolcalls.engine import Response
from toolcalls.request.request import Request, read_request

from ..measure import Row, Work, best_ratio, growth, in_turns
from ..prose import CUT_GOAL, MARKDOWN_GOAL, SEARCH_GOAL, TEXT_GOAL
from ..prose import deltas as prose_deltas
from ..prose import request as prose_request

DELTA_GOAL = 1.5
GROWTH_GOAL = 1.15
SEGMENT = 1460
"""The bytes of one TCP segment."""


def event(said: dict[str, Any]) -> bytes:
    return f"event: {said['type']}\ndata: {json.dumps(said, separators=(',', ':'))}\n\n".encode()


def opening(block: dict[str, Any]) -> bytes:
    message: dict[str, Any] = {
        "id": "msg_01", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 1},
    }  # fmt: skip
    opened = {"type": "content_block_start", "index": 0, "content_block": block}
    return event({"type": "message_start", "message": message}) + event(opened)


def deltas(kind: str, field: str, pieces: list[str]) -> list[bytes]:
    return [
        event({"type": "content_block_delta", "index": 0, "delta": {"type": kind, field: piece}}) for piece in pieces
    ]


def text_events(size: int, count: int) -> list[bytes]:
    words = random.Random(7).choices(["the", "parser", "reads", "\n", '"quoted"', "naïve", "code();"], k=size)
    return deltas("text_delta", "text", [" ".join(words)[:size]] * count)


def lines(count: int) -> list[str]:
    """Lines of code in deltas of 3 KB."""
    line = "    def read(self, event: Event) -> Answer:  # it doesn't parse what can't be a call, \"tool\" or not\n"
    text = line * (count * 3000 // len(line) + 1)
    return [text[at : at + 3000] for at in range(0, count * 3000, 3000)]


def fragments(count: int) -> list[bytes]:
    arguments = json.dumps({"file_path": "/src/a.py", "content": "x = 1\n" * (count * 10 // 6)})
    return deltas("input_json_delta", "partial_json", [arguments[at : at + 10] for at in range(0, count * 10, 10)])


def padded(events: list[bytes]) -> list[bytes]:
    """The events of a server that pads each with different characters."""
    return [raw.replace(b"}\n\n", b',"p":"%x"}\n\n' % (number * 7919)) for number, raw in enumerate(events)]


NO_TOOLS = Request(stream=True)
TWENTY = read_request(prose_request())
TEXT_HEAD = opening({"type": "text", "text": ""})
CALL_HEAD = opening({"type": "tool_use", "id": "toolu_01", "name": "Write", "input": {}})


def one_a_chunk(events: list[bytes]) -> list[bytes]:
    return events


def many_a_chunk(events: list[bytes]) -> list[bytes]:
    return [b"".join(events[at : at + 50]) for at in range(0, len(events), 50)]


def cut_inside(events: list[bytes], size: int = SEGMENT) -> list[bytes]:
    body = b"".join(events)
    return [body[at : at + size] for at in range(0, len(body), size)]


def cut_each(events: list[bytes]) -> list[bytes]:
    """Chunks that all end one event and begin the next: the hardest case."""
    return cut_inside(events, len(events[0]) + 7)


def pass_all(head: bytes, chunks: list[bytes], question: Request = NO_TOOLS) -> None:
    answer = Response("messages", question)
    answer.feed(head)
    for chunk in chunks:
        answer.feed(chunk)


def load_all(payloads: list[bytes]) -> None:
    for payload in payloads:
        json.loads(payload)


def compare(name: str, goal: float | None, head: bytes, events: list[bytes], chunks: list[bytes], rounds: int) -> Row:
    payloads = [raw.split(b"data: ", 1)[1] for raw in events]
    question = TWENTY if "20 tools" in name else NO_TOOLS
    seconds, loads = in_turns([partial(pass_all, head, chunks, question), partial(load_all, payloads)], rounds)
    return {
        "name": name,
        "figure": min(seconds) / len(events) * 1e6,
        "unit": "µs/event",
        "ratio": best_ratio(seconds, loads),
        "goal": goal,
    }


def finished_call(size: int) -> Work:
    """A whole call in ten-byte deltas: gathered, mended, written."""
    text = json.dumps({"content": "abc def 00" * (size // 10)})
    pieces = deltas("input_json_delta", "partial_json", [text[at : at + 10] for at in range(0, len(text), 10)])
    return partial(pass_all, CALL_HEAD, [*pieces, event({"type": "content_block_stop", "index": 0})])


def run(quick: bool = False) -> list[Row]:
    count, rounds = (100, 1) if quick else (600, 60)
    rows = []
    markdown = deltas("text_delta", "text", prose_deltas(count, markdown=True))
    for name, goal, head, events in (
        ("text, 20-byte deltas", TEXT_GOAL, TEXT_HEAD, text_events(20, count)),
        ("text, 3 KB deltas", TEXT_GOAL, TEXT_HEAD, text_events(3000, count // 4)),
        ("text, 20 tools", SEARCH_GOAL, TEXT_HEAD, deltas("text_delta", "text", prose_deltas(count))),
        ("text, 20 tools, 3 KB deltas", SEARCH_GOAL, TEXT_HEAD, deltas("text_delta", "text", lines(count // 6))),
        ("Markdown, 20 tools", MARKDOWN_GOAL, TEXT_HEAD, markdown),
        ("10-byte argument deltas", DELTA_GOAL, CALL_HEAD, fragments(count)),
        ("10-byte argument deltas, each padded", DELTA_GOAL, CALL_HEAD, padded(fragments(count))),
    ):
        for form, cut in (
            ("one event a chunk", one_a_chunk),
            ("50 events a chunk", many_a_chunk),
            ("cuts inside events", cut_inside),
            ("each event cut", cut_each),
        ):
            if "20 tools" in name and cut is cut_each:
                continue
            most = max(goal, CUT_GOAL) if cut in (cut_inside, cut_each) else goal
            rows.append(compare(f"{name}, {form}", most, head, events, cut(events), rounds))
    # Beyond 320 KB of text (`skipped_text.MOST_SKIPPED`) quoting is followed even without an opener.
    long = deltas("text_delta", "text", lines(count // 2))
    rows.append(compare("text, 20 tools, 900 KB in 3 KB deltas", None, TEXT_HEAD, long, long, rounds // 6 or 1))
    sizes = [2_000, 4_000] if quick else [20_000, 200_000, 2_000_000]
    exponent, seconds = growth(finished_call, sizes, 1 if quick else 3)
    times = " → ".join(f"{second * 1000:.2f}" for second in seconds)
    rows.append(
        {
            "name": f"a call of {' → '.join(f'{size // 1000} KB' for size in sizes)} in 10-byte deltas ({times} ms)",
            "figure": seconds[-1] * 1000,
            "unit": "ms",
            "ratio": exponent,
            "goal": GROWTH_GOAL,
        }
    )
    return rows
