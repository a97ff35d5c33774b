"""End to end: a real mitmdump with the addon against one with a no-op stream callable, one event a write.

Three proxies run side by side and are asked in turns: the addon, the no-op, and a second no-op. The second against
the first is the noise of this very run.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from bench_chat import framed, text_events
from measure import Row, ratio

from toolcalls.cli.proxy_process import SCRIPT, ProxyProcess
from toolcalls.cli.upstream import Play, Seen, Upstream

NOOP = Path(__file__).resolve().parent / "noop_addon.py"
GOAL = 1.25
REQUEST = json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": "Tell me."}]}).encode()


class Taken(NamedTuple):
    """The seconds of one round of streams."""

    whole: float
    first: float
    """Until the first byte of a body, the median of the streams."""
    processor: float
    """What mitmdump itself spent, where the system tells: no neighbour on the machine counts in it."""


async def fetch(port: int, upstream: str, expected: bytes) -> float:
    """One streamed answer through a proxy; the seconds until the first byte of its body."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**24)
    head = (
        f"POST {upstream}/v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        f"content-length: {len(REQUEST)}\r\n\r\n"
    )
    started = time.perf_counter()
    writer.write(head.encode() + REQUEST)
    answer = await reader.readuntil(b"\r\n\r\n")
    if not answer.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(f"the proxy answered {answer!r}")
    pieces = [await reader.read(65536)]
    first = time.perf_counter() - started
    while not pieces[-1].endswith(b"0\r\n\r\n"):
        piece = await reader.read(65536)
        if not piece:
            raise RuntimeError("the answer broke off")
        pieces.append(piece)
    writer.close()
    if unchunked(b"".join(pieces)) != expected:
        raise RuntimeError("the answer is not the one that the upstream sent")
    return first


def unchunked(body: bytes) -> bytes:
    out = []
    at = 0
    while True:
        end = body.index(b"\r\n", at)
        size = int(body[at:end], 16)
        if not size:
            return b"".join(out)
        out.append(body[end + 2 : end + 2 + size])
        at = end + 2 + size + 2


async def streams(proxy: ProxyProcess, upstream: str, expected: bytes, count: int) -> Taken:
    spent = processor_seconds(proxy.pid)
    started = time.perf_counter()
    firsts = await asyncio.gather(*(fetch(proxy.port, upstream, expected) for _ in range(count)))
    whole = time.perf_counter() - started
    return Taken(whole, statistics.median(firsts), processor_seconds(proxy.pid) - spent)


def processor_seconds(pid: int) -> float:
    """Of the main thread, which is where mitmproxy's event loop runs; 0 where there is no such file."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0]) / 1e9
    except (OSError, ValueError):
        return 0.0


def run(quick: bool = False) -> list[Row]:
    events, rounds = (30, 1) if quick else (2000, 30)
    chunks = [*framed(text_events(events)), b"data: [DONE]\n\n"]
    expected = b"".join(chunks)

    def answer(_: Seen) -> Play:
        return Play(chunks, headers={"content-type": "text/event-stream"})

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="toolfix-bench-")))
        upstream = stack.enter_context(Upstream(answer))
        proxies = [stack.enter_context(ProxyProcess(folder, script=script)) for script in (SCRIPT, NOOP, NOOP)]
        taken: list[list[Taken]] = [[] for _ in proxies]
        for number in range(-1, rounds):
            for turn in range(len(proxies)):
                which = (number + turn) % len(proxies)  # nobody is always the first
                result = asyncio.run(streams(proxies[which], upstream.url, expected, 1))
                if number >= 0:  # the round before warms up
                    taken[which].append(result)
    return table(taken, len(chunks))


def table(taken: list[list[Taken]], events: int) -> list[Row]:
    addon, noop, other = ([one.whole for one in each] for each in taken)
    spent = [[one.processor for one in each] for each in taken]
    added = [(one.first - against.first) * 1e6 for one, against in zip(taken[0], taken[1], strict=True)]
    noise = [(one.first - against.first) * 1e6 for one, against in zip(taken[2], taken[1], strict=True)]
    return [
        {
            "name": "mitmdump with the addon, against a no-op callable",
            "figure": min(addon) / events * 1e6,
            "unit": "µs/event",
            "ratio": ratio(addon, noop),
            "goal": GOAL,
        },
        {
            "name": "mitmdump with a no-op, against another no-op",
            "figure": min(other) / events * 1e6,
            "unit": "µs/event",
            "ratio": ratio(other, noop),
        },
        *(
            {
                "name": f"processor time of mitmdump with {name}",
                "figure": min(each) / events * 1e6,
                "unit": "µs/event",
                "ratio": ratio(each, spent[1]),
            }
            for name, each in (("the addon, against a no-op", spent[0]), ("a no-op, against another", spent[2]))
            if all(each) and all(spent[1])
        ),
        {"name": "time to the first byte, added by the addon", "figure": statistics.median(added), "unit": "µs"},
        {"name": "time to the first byte, no-op against no-op", "figure": statistics.median(noise), "unit": "µs"},
    ]
