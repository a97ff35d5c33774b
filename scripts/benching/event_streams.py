"""What the events of a stream cost: the same rows for every protocol, compared with `json.loads` of the same events.

Both get the bytes that arrive: the engine whole chunks, `json.loads` the data of each event, already cut out. A row
is a whole stream, with the start of the answer in it, so a short stream costs more per event than a long one.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from toolcalls.engine import Response
from toolcalls.proxy.body_stream import BodyStream
from toolcalls.request.request import Request, read_request

from . import prose
from .measure import Row, Work, best_ratio, growth, in_turns

TEXT_GOAL = 1.0
"""Text, with 20 declared tools too, so that it is searched for calls."""
UNUSUAL_GOAL = 1.5
"""Text full of characters that matter for quoting, events of 3 KB, and chunks that cut nearly every event."""
FRAGMENT_GOAL = 2.5
"""Fragments of arguments, which are held."""
GROWTH_GOAL = 1.15
"""The exponent of the growth of time with the size of a call; 1 is linear."""

NO_TOOLS = Request(choices=1, stream=True)
TWENTY_TOOLS = read_request({**prose.request(), "n": 1})

Events = list[bytes]


@dataclass(frozen=True)
class Writers:
    """How a protocol writes its events, each stream from the start of an answer on."""

    text: Callable[[list[str]], Events]
    """Deltas of text."""
    call: Callable[[list[str]], Events] | None = None
    """Fragments of the arguments of one call; None if calls arrive whole."""
    end_of_call: Callable[[], Events] = list
    """The events after the last fragment that release the call."""
    pad: Callable[[bytes, str], bytes] | None = None
    """An event with padding in it, as some servers send it."""
    more: dict[str, Callable[[list[str]], Events]] = field(default_factory=dict)
    """Other events that have a text each; their rows have no goal."""


def one_a_chunk(events: Events) -> list[bytes]:
    return events


def many_a_chunk(events: Events, many: int = 20) -> list[bytes]:
    return [b"".join(events[at : at + many]) for at in range(0, len(events), many)]


def cut_inside(events: Events) -> list[bytes]:
    """Chunks that are slightly larger than an event, so that nearly every cut falls inside one."""
    body = b"".join(events)
    size = len(body) // len(events) + 7
    return [body[at : at + size] for at in range(0, len(body), size)]


CUTS = {"one event a chunk": one_a_chunk, "20 events a chunk": many_a_chunk, "cuts inside events": cut_inside}


def rows(protocol: str, writers: Writers, *, quick: bool) -> list[Row]:
    """The rows of one protocol."""
    count = 40 if quick else 400
    compare = partial(_compared, protocol, rounds=1 if quick else 60)
    out: list[Row] = []
    for name, texts, request, goal in (
        ("text", prose.deltas(count), NO_TOOLS, TEXT_GOAL),
        ("text, 20 tools", prose.deltas(count), TWENTY_TOOLS, TEXT_GOAL),
        ("Markdown, 20 tools", prose.deltas(count, markdown=True), TWENTY_TOOLS, UNUSUAL_GOAL),
        ("text in 3 KB events", prose.code(count), NO_TOOLS, UNUSUAL_GOAL),
        ("text in 3 KB events, 20 tools", prose.code(count), TWENTY_TOOLS, UNUSUAL_GOAL),
    ):
        events = writers.text(texts)
        for how, cut in CUTS.items():
            goal_of_cut = UNUSUAL_GOAL if cut is cut_inside else goal
            out.append(compare(f"{name}, {how}", goal_of_cut, request, events, cut(events)))
    text = writers.text(prose.deltas(count))
    out.append(compare("text, one event a chunk, as mitmproxy calls it", None, NO_TOOLS, text, text, guarded=True))
    out.append(_start(protocol, writers, quick=quick))
    for name, write in writers.more.items():
        events = write(prose.deltas(count))
        out.append(compare(f"{name}, 20 tools, one event a chunk", None, TWENTY_TOOLS, events, events))
    if writers.call is not None:
        fragments = ['{"text": "', *(f"abc def {number % 100:02d}" for number in range(count))]
        kinds = {"argument fragments of 10 bytes": writers.call(fragments)}
        if writers.pad is not None:
            padded = [writers.pad(raw, f"{number * 7919:x}") for number, raw in enumerate(writers.call(fragments))]
            kinds["argument fragments of 10 bytes, padded"] = padded
        for name, events in kinds.items():
            for how, cut in CUTS.items():
                out.append(compare(f"{name}, {how}", FRAGMENT_GOAL, NO_TOOLS, events, cut(events)))
        out.append(_growth(protocol, writers.call, writers.end_of_call, quick=quick))
    return out


def _compared(
    protocol: str,
    name: str,
    goal: float | None,
    request: Request,
    events: Events,
    chunks: list[bytes],
    *,
    rounds: int,
    guarded: bool = False,
) -> Row:
    data = [raw.partition(b"data: ")[2].strip() or raw for raw in events]
    works = [partial(_feed_all, protocol, request, chunks, guarded=guarded), partial(_load_all, data)]
    seconds, loads = in_turns(works, rounds)
    figure = min(seconds) / len(events) * 1e6
    return {"name": name, "figure": figure, "unit": "µs/event", "ratio": best_ratio(seconds, loads), "goal": goal}


def _start(protocol: str, writers: Writers, *, quick: bool) -> Row:
    """The start of an answer, up to the first delta: the part that a longer answer does not pay again."""
    events = writers.text(["A"])
    (seconds,) = in_turns([partial(_feed_all, protocol, NO_TOOLS, events)], 1 if quick else 400)
    return {"name": "the start of an answer, with its first delta", "figure": min(seconds) * 1e6, "unit": "µs"}


def _growth(protocol: str, call: Callable[[list[str]], Events], end: Callable[[], Events], *, quick: bool) -> Row:
    """A whole call, gathered, mended and written, at growing sizes, all within the limit of held bytes."""

    def work(size: int) -> Work:
        text = json.dumps({"text": "abc def 00" * (size // 10)})
        events = [*call([text[at : at + 10] for at in range(0, len(text), 10)]), *end()]
        return partial(_feed_all, protocol, NO_TOOLS, events)

    sizes = [2_000, 4_000] if quick else [20_000, 100_000, 500_000]
    exponent, seconds = growth(work, sizes, 1 if quick else 3)
    times = " → ".join(f"{second * 1000:.2f}" for second in seconds)
    name = f"a call of {' → '.join(f'{size // 1000:,} KB' for size in sizes)} in fragments of 10 bytes ({times} ms)"
    return {"name": name, "figure": seconds[-1] * 1000, "unit": "ms", "ratio": exponent, "goal": GROWTH_GOAL}


def _feed_all(protocol: str, request: Request, chunks: list[bytes], *, guarded: bool = False) -> None:
    response = Response(protocol, request)
    feed = BodyStream(response).feed if guarded else response.feed
    for chunk in chunks:
        feed(chunk)
    assert response.failure is None
    assert not response.limited


def _load_all(events: Events) -> None:
    for data in events:
        json.loads(data)
