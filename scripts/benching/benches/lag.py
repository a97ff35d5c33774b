"""How long our code blocks the event loop of a real mitmdump at a time, while large arguments pass.

2 MB of valid arguments and 64 KB of broken ones, in the answer and in the history of a request, on each protocol.
A turn of the loop also contains mitmproxy's own work; the no-op beside it shows how much that is.
"""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from tests.upstream import Play, Seen, Upstream

from ..argument_streams import PATHS, answer, request
from ..argument_texts import inner_quotes, python_style, valid
from ..measure import Row
from ..proxies import SSE, Lag, fetch, lag, side_by_side

GOAL = 20.0
ROUNDS = 7
ARGUMENTS = {
    "2 MB valid": (valid(2_000_000), 4000),
    "64 KB broken, Python-style": (python_style(64 * 1024), 100),
    "64 KB broken, inner quotes": (inner_quotes(64 * 1024), 100),
}
"""Arguments by name, and how many characters of them are in each delta."""


def run(quick: bool = False) -> list[Row]:
    chunks: list[bytes] = []
    cases = {"4 KB valid": (valid(4000), 100)} if quick else ARGUMENTS
    rows: list[Row] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="toolfix-bench-")))

        def play(_: Seen) -> Play:
            return Play(chunks, headers=SSE)

        upstream = stack.enter_context(Upstream(play))
        addon, noop, _ = side_by_side(stack, folder)

        def longest(protocol: str, asked: bytes) -> list[Lag]:
            """The median of all rounds, for the addon and for the no-op."""
            taken: list[list[Lag]] = [[], []]
            for _ in range(1 if quick else ROUNDS):
                for each, proxy in zip(taken, (addon, noop), strict=True):
                    lag(proxy)
                    asyncio.run(fetch(proxy.port, upstream.url + PATHS[protocol], asked))
                    each.append(lag(proxy))
            return [Lag(*map(median, zip(*each, strict=True))) for each in taken]

        for protocol in PATHS:
            for name, (arguments, piece) in cases.items():
                chunks = answer(protocol, arguments, piece)
                rows += both(f"{protocol}, {name} in the answer", longest(protocol, request(protocol)))
                chunks = answer(protocol, "{}", piece)
                rows += both(f"{protocol}, {name} in the history", longest(protocol, request(protocol, arguments)))
    return rows


def both(name: str, taken: list[Lag]) -> list[Row]:
    addon, noop = taken
    return [
        {"name": f"{name}, longest call of ours", "figure": addon.call, "unit": "ms", "goal": GOAL},
        {"name": f"{name}, longest turn, addon", "figure": addon.turn, "unit": "ms"},
        {"name": f"{name}, longest turn, no-op", "figure": noop.turn, "unit": "ms"},
    ]
