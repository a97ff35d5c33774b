"""End to end: a real mitmdump with the addon, compared with one with a no-op stream callable; one write per event.

1, 10 and 100 streams of text at once, for a client that declared tools (then the text is searched for calls) and for
one that did not. The proxies are asked in turns. The goal is the noise of the run: the factor by which two no-ops
differ at most in nine rounds out of ten.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import tempfile
import time
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import NamedTuple

from tests.upstream import Play, Seen, Upstream
from toolcalls.cli.proxy_process import ProxyProcess

from ..chat_events import framed, text_events
from ..measure import Row, noise, ratio
from ..prose import request as prose_request
from ..proxies import SSE, fetch, lag, processor_seconds, side_by_side

CALL_GOAL = 20.0
LOADS = ((1, 2000, 30), (10, 300, 20), (100, 60, 20))
"""Each load: how many streams at once, how many events each has, and how many rounds."""
ASKED = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Tell me."}]}
REQUESTS = {
    "no tools": json.dumps(ASKED).encode(),
    "20 tools": json.dumps({**prose_request(), **ASKED}).encode(),
}


class Taken(NamedTuple):
    """The seconds of one round of streams."""

    whole: float
    first: float
    """Seconds until the first byte of a body, the median of the streams."""
    processor: float
    """Processor time of mitmdump; 0 if the system does not report it."""


async def streams(proxy: ProxyProcess, upstream: str, request: bytes, expected: bytes, count: int) -> Taken:
    spent = processor_seconds(proxy.process.pid)
    started = time.perf_counter()
    url = f"{upstream}/v1/chat/completions"
    answers = await asyncio.gather(*(fetch(proxy.port, url, request) for _ in range(count)))
    whole = time.perf_counter() - started
    if any(body != expected for body, _ in answers):
        raise RuntimeError("an answer is not the one that the upstream sent")
    firsts = [first for _, first in answers]
    return Taken(whole, statistics.median(firsts), processor_seconds(proxy.process.pid) - spent)


def run(quick: bool = False) -> list[Row]:
    chunks: list[bytes] = []

    def answer(_: Seen) -> Play:
        return Play(chunks, headers=SSE)

    rows: list[Row] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="toolfix-bench-")))
        upstream = stack.enter_context(Upstream(answer))
        proxies = side_by_side(stack, folder)
        for (count, events, rounds), (tools, asked) in product([(2, 30, 1)] if quick else LOADS, REQUESTS.items()):
            chunks = [*framed(text_events(events)), b"data: [DONE]\n\n"]
            taken: list[list[Taken]] = [[] for _ in proxies]
            for number in range(-1, rounds):
                for turn in range(len(proxies)):
                    which = (number + turn) % len(proxies)  # no proxy is always the first
                    result = asyncio.run(streams(proxies[which], upstream.url, asked, b"".join(chunks), count))
                    if number >= 0:  # the round before warms up
                        taken[which].append(result)
                    elif not rows:
                        lag(proxies[which])  # discards what mitmproxy loads at its first request
            at_once = "1 stream" if count == 1 else f"{count} streams at once"
            rows += table(taken, f"{at_once}, {tools}", len(chunks) * count)
        rows += turns(proxies)
    return rows


def table(taken: list[list[Taken]], load: str, events: int) -> list[Row]:
    rows: list[Row] = []
    for what, field in (("time", "whole"), ("processor time of mitmdump", "processor")):
        addon, noop, other = ([getattr(one, field) for one in each] for each in taken)
        if not all(noop):
            continue
        for name, each, goal in (
            ("addon against no-op", addon, round(noise(other, noop), 2)),
            ("no-op against no-op", other, None),
        ):
            rows.append(
                {
                    "name": f"{load}, {what}, {name}",
                    "figure": min(each) / events * 1e6,
                    "unit": "µs/event",
                    "ratio": ratio(each, noop),
                    "goal": goal,
                }
            )
    for name, which in (("addon against no-op", 0), ("no-op against no-op", 2)):
        added = [one.first - against.first for one, against in zip(taken[which], taken[1], strict=True)]
        rows.append(
            {
                "name": f"{load}, time to the first byte added, {name}",
                "figure": statistics.median(added) * 1e6,
                "unit": "µs",
            }
        )
    return rows


def turns(proxies: list[ProxyProcess]) -> list[Row]:
    """The rows about what blocked the event loops of the proxies in the whole run."""
    addon, noop, _ = (lag(proxy) for proxy in proxies)
    return [
        {"name": "longest call of ours in all of this", "figure": addon.call, "unit": "ms", "goal": CALL_GOAL},
        {
            "name": "longest call of ours, with a garbage collection of Python's that began in it",
            "figure": addon.collecting_call,
            "unit": "ms",
        },
        {"name": "longest turn of the loop in all of this, addon", "figure": addon.turn, "unit": "ms"},
        {"name": "longest turn of the loop in all of this, no-op", "figure": noop.turn, "unit": "ms"},
    ]
