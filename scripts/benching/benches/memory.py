"""How much memory the addon needs: for a quiet open stream, and at most while a call of 16 MB is held.

The proxies are fresh, so that no memory freed by an earlier stream is reused; the figures are those of Linux.
"""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import ExitStack
from pathlib import Path

from tests.upstream import Play, Seen, Upstream
from toolcalls.cli.proxy_process import ProxyProcess

from ..argument_streams import PATHS, answer, request
from ..argument_texts import valid
from ..chat_events import framed, text_events
from ..measure import Row
from ..proxies import SSE, ask, fetch, memory, side_by_side

STREAMS = 400
WARM = 40
GOAL = 32.0
HELD = 15_900_000
"""The bytes of the arguments: just below toolfix_max_held_bytes."""


async def opened(proxy: ProxyProcess, url: str, warm: int, count: int) -> float:
    """The bytes that each of `count` open streams needs after a few events, while nothing more arrives."""
    asked = request("chat")
    writers = [(await ask(proxy.port, url, asked))[1] for _ in range(warm)]
    before = memory(proxy.process.pid, "RssAnon")
    writers += [(await ask(proxy.port, url, asked))[1] for _ in range(count)]
    after = memory(proxy.process.pid, "RssAnon")
    for writer in writers:
        writer.close()
    return (after - before) / count


def peak(proxy: ProxyProcess, url: str) -> int:
    """By how much the memory of the proxy rises at most while one answer passes."""
    before = memory(proxy.process.pid, "VmHWM")
    asyncio.run(fetch(proxy.port, url, request("chat")))
    return memory(proxy.process.pid, "VmHWM") - before


def run(quick: bool = False) -> list[Row]:
    warm, count, held = (2, 5, 100_000) if quick else (WARM, STREAMS, HELD)
    words = framed(text_events(5))
    call = answer("chat", valid(held), 16_000)

    def quiet(_: Seen) -> Play:
        return Play([b"".join(words), b"data: [DONE]\n\n"], headers=SSE, pause=3600)

    def large(_: Seen) -> Play:
        return Play(call, headers=SSE)

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="toolfix-bench-")))
        url = stack.enter_context(Upstream(quiet)).url + PATHS["chat"]
        each = [asyncio.run(opened(proxy, url, warm, count)) / 1024 for proxy in side_by_side(stack, folder)]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="toolfix-bench-")))
        url = stack.enter_context(Upstream(large)).url + PATHS["chat"]
        peaks = [peak(proxy, url) / 2**20 for proxy in side_by_side(stack, folder)]
    if not all(peaks):
        return []  # Only Linux reports it.
    size = f"a held call of {held / 1e6:.1f} MB"
    return [
        {"name": "a quiet open stream, added by the addon", "figure": each[0] - each[1], "unit": "KB", "goal": GOAL},
        {"name": "a quiet open stream, no-op against no-op", "figure": each[2] - each[1], "unit": "KB"},
        {"name": "a quiet open stream, no-op alone", "figure": each[1], "unit": "KB"},
        {"name": f"peak for {size}, added by the addon", "figure": peaks[0] - peaks[1], "unit": "MB"},
        {"name": f"peak for {size}, no-op alone", "figure": peaks[1], "unit": "MB"},
    ]
