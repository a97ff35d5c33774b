"""What one event of a Chat stream costs, compared with `json.loads` of its data, and whether the cost grows linearly.

`json.loads` gets the data as text that is already extracted and decoded: the hardest comparison.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from toolcalls.engine import Response
from toolcalls.proxy.body_stream import BodyStream
from toolcalls.request.request import Request, read_request

from ..chat_events import big_events, delta_events, event, framed, text_events, varied_events
from ..measure import Row, Work, best_ratio, growth, in_turns
from ..prose import CUT_GOAL, MARKDOWN_GOAL, SEARCH_GOAL, TEXT_GOAL
from ..prose import deltas as prose_deltas
from ..prose import request as prose_request

DELTA_GOAL = 1.5
GROWTH_GOAL = 1.1

Json = dict[str, Any]

QUESTION = Request(choices=1, stream=True)
TWENTY = read_request({**prose_request(), "n": 1})


def one_a_chunk(events: list[str]) -> list[bytes]:
    return framed(events)


def many_a_chunk(events: list[str], many: int = 20) -> list[bytes]:
    pieces = framed(events)
    return [b"".join(pieces[at : at + many]) for at in range(0, len(pieces), many)]


def cut_inside(events: list[str]) -> list[bytes]:
    """Chunks that are slightly larger than an event, so that nearly every cut falls inside one."""
    body = b"".join(framed(events))
    size = len(body) // len(events) + 7
    return [body[at : at + size] for at in range(0, len(body), size)]


def answer_feed(question: Request = QUESTION) -> Callable[[bytes], list[bytes]]:
    return Response("chat", question).feed


def guard_feed(question: Request = QUESTION) -> Callable[[bytes], list[bytes]]:
    return BodyStream(Response("chat", question)).feed


def pass_all(make: Callable[[], Callable[[bytes], list[bytes]]], chunks: list[bytes]) -> None:
    feed = make()
    for chunk in chunks:
        feed(chunk)


def load_all(events: list[str]) -> None:
    for data in events:
        json.loads(data)


def compare(name: str, goal: float, events: list[str], cut: Callable[[list[str]], list[bytes]], rounds: int) -> Row:
    chunks = cut(events)
    question = TWENTY if "20 tools" in name else QUESTION
    answers, guards = partial(answer_feed, question), partial(guard_feed, question)
    seconds, guarded, loads = in_turns(
        [partial(pass_all, answers, chunks), partial(pass_all, guards, chunks), partial(load_all, events)],
        rounds,
    )
    return {
        "name": name,
        "figure": min(seconds) / len(events) * 1e6,
        "unit": "µs/event",
        "ratio": best_ratio(seconds, loads),
        "goal": goal,
        "guarded": (min(guarded) / len(events) * 1e6, best_ratio(guarded, loads)),
    }


def with_guard(rows: list[Row]) -> list[Row]:
    """The rows, with the figures of the `BodyStream`, which mitmproxy calls, in rows of their own."""
    out = []
    for row in rows:
        figure, against = row.pop("guarded")
        out += [row, {**row, "name": f"{row['name']}, guarded", "figure": figure, "ratio": against, "goal": None}]
    return out


def finished_call(size: int, step: int) -> Work:
    """A whole call: gathered, mended, written. `step`: the chunk size of one event, or 0 for ten-byte deltas."""
    end = framed([event({}).replace('"finish_reason":null', '"finish_reason":"tool_calls"'), "[DONE]"])
    if step:
        function = {"name": "Write", "arguments": json.dumps({"text": "abc def 00" * (size // 10)})}
        whole = event({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]})
        body = b"".join([*framed([whole]), *end])
        chunks = [body[at : at + step] for at in range(0, len(body), step)]
    else:
        close = event({"tool_calls": [{"index": 0, "function": {"arguments": '"}'}}]})
        chunks = framed([*delta_events(size // 10), close]) + end
    return partial(pass_all, answer_feed, chunks)


def run(quick: bool = False) -> list[Row]:
    count, rounds = (40, 1) if quick else (400, 60)
    text = text_events(count)
    deltas = delta_events(count // 4)
    padded = varied_events(count // 4)
    prose = [event({"content": delta}) for delta in prose_deltas(count)]
    markdown = [event({"content": delta}) for delta in prose_deltas(count, markdown=True)]
    rows = [
        compare("text, 20 tools, one event a chunk", SEARCH_GOAL, prose, one_a_chunk, rounds),
        compare("text, 20 tools, 20 events a chunk", SEARCH_GOAL, prose, many_a_chunk, rounds),
        compare("text, 20 tools, cuts inside events", CUT_GOAL, prose, cut_inside, rounds),
        compare("text, 20 tools, events of 3 KB", SEARCH_GOAL, big_events(count // 4), one_a_chunk, rounds),
        compare("Markdown, 20 tools, one event a chunk", MARKDOWN_GOAL, markdown, one_a_chunk, rounds),
        compare("Markdown, 20 tools, cuts inside events", MARKDOWN_GOAL, markdown, cut_inside, rounds),
        compare("text, one event a chunk", TEXT_GOAL, text, one_a_chunk, rounds),
        compare("text, 20 events a chunk", TEXT_GOAL, text, many_a_chunk, rounds),
        compare("text, cuts inside events", CUT_GOAL, text, cut_inside, rounds),
        compare("text, events of 3 KB", TEXT_GOAL, big_events(count // 4), one_a_chunk, rounds),
        compare("text, events of 3 KB, cuts inside", CUT_GOAL, big_events(count // 4), cut_inside, rounds),
    ]
    variants: tuple[tuple[str, Json, Json], ...] = (
        ('"usage":null', {}, {"usage": None}),
        ('"tool_calls":null', {"tool_calls": None}, {}),
        ("both and function_call", {"tool_calls": None, "function_call": None}, {"usage": None}),
    )
    for name, more, rest in variants:
        rows += [
            compare(f"text with {name}", TEXT_GOAL, text_events(count, more, **rest), one_a_chunk, rounds),
            compare(
                f"text with {name}, spaced",
                TEXT_GOAL,
                text_events(count, more, spaced=True, **rest),
                one_a_chunk,
                rounds,
            ),
            compare(
                f"text with {name}, 20 a chunk", TEXT_GOAL, text_events(count, more, **rest), many_a_chunk, rounds
            ),
        ]
    rows += [
        compare("10-byte argument deltas, one event a chunk", DELTA_GOAL, deltas, one_a_chunk, rounds),
        compare("10-byte argument deltas, 20 events a chunk", DELTA_GOAL, deltas, many_a_chunk, rounds),
        compare("10-byte argument deltas, cuts inside events", DELTA_GOAL, deltas, cut_inside, rounds),
        compare("10-byte argument deltas, each padded", DELTA_GOAL, padded, one_a_chunk, rounds),
        compare("10-byte argument deltas, each padded, 20 a chunk", DELTA_GOAL, padded, many_a_chunk, rounds),
        compare("10-byte argument deltas, each padded, cuts inside", DELTA_GOAL, padded, cut_inside, rounds),
    ]
    out = with_guard(rows)
    sizes = [2_000, 4_000] if quick else [20_000, 200_000, 2_000_000]
    for name, step in (("in 10-byte deltas", 0), ("in one event, 100 bytes a chunk", 100)):
        exponent, seconds = growth(partial(finished_call, step=step), sizes, 1 if quick else 3)
        times = " → ".join(f"{second * 1000:.2f}" for second in seconds)
        out.append(
            {
                "name": f"a call of {' → '.join(size_of(size) for size in sizes)} {name} ({times} ms)",
                "figure": seconds[-1] * 1000,
                "unit": "ms",
                "ratio": exponent,
                "goal": GROWTH_GOAL,
            }
        )
    return out


def size_of(size: int) -> str:
    return f"{size // 1_000_000} MB" if size >= 1_000_000 else f"{size // 1000} KB"
