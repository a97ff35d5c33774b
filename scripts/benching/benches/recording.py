"""What recording costs: the time that each event takes in 50 streams at once through a real mitmdump, on against off.

Three proxies run side by side and are asked in turns: one that records, and two that do not. The difference of these
two is the noise of the run; only what recording takes beyond it is its cost. Each event contains the time at which it
was sent, so its delay can be measured. The streams are paced and answers end all the time, so that recordings are
written while other streams continue: the bench looks for stalls.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from tests.upstream import Play, Seen, Upstream
from toolcalls.cli.proxy_process import ProxyProcess

from ..measure import Row

STREAMS = 50
WARM = 3
"""The first events of an answer, which are not counted because the proxy is still reading requests."""
GOAL = 1.1
"""The goal of the ratio; compare it with the row `off, against off` of the run."""
TOOL = {"type": "function", "function": {"name": "Bash", "parameters": {"type": "object"}}}
REQUEST = json.dumps(
    {
        "model": "m",
        "stream": True,
        "tools": [TOOL],
        "messages": [{"role": "user", "content": "def read(path): return open(path).read()\n" * 2000}],
    }
).encode()


def events(count: int) -> Iterator[bytes]:
    """Text, and a call at the end; each event of text contains the time at which it was sent."""
    for _ in range(count):
        chunk = {"choices": [{"index": 0, "delta": {"content": f"word @{time.perf_counter():.6f}@"}}]}
        yield b"data: " + json.dumps(chunk).encode() + b"\n\n"
    function = {"name": "Bash", "arguments": "{'command': 'ls',}"}
    call = {"index": 0, "id": "call_1", "type": "function", "function": function}
    yield b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}).encode() + b"\n\n"
    yield b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}\n\n'
    yield b"data: [DONE]\n\n"


async def fetch(port: int, upstream: str, late: list[float]) -> None:
    """Fetch one streamed answer, and add the delay of each of its events to `late`."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**24)
    head = (
        f"POST {upstream}/v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        f"content-length: {len(REQUEST)}\r\n\r\n"
    )
    writer.write(head.encode() + REQUEST)
    await reader.readuntil(b"\r\n\r\n")
    body, times = b"", list[float]()
    while b"[DONE]" not in body:
        piece = await reader.read(65536)
        now = time.perf_counter()
        if not piece:
            raise RuntimeError("the answer broke off")
        times += [now - float(part) for part in piece.split(b"@")[1::2]]
        body = (body + piece)[-4096:]
    if b'{\\"command\\":\\"ls\\"}' not in body:
        raise RuntimeError("the call was not mended")
    writer.close()
    late += times[WARM:]


async def streams(proxy: ProxyProcess, upstream: str, count: int, answers: int) -> list[float]:
    """The delays of all events of `count` clients, which start one by one and fetch `answers` answers each."""
    late: list[float] = []

    async def client(number: int) -> None:
        await asyncio.sleep(number * 0.02)
        for _ in range(answers):
            await fetch(proxy.port, upstream, late)

    await asyncio.gather(*(client(number) for number in range(count)))
    return late


def run(quick: bool = False) -> list[Row]:
    count, each, answers, rounds, pause = (5, 10, 1, 1, 0.005) if quick else (STREAMS, 12, 2, 10, 0.1)

    def answer(_: Seen) -> Play:
        return Play(events(each), headers={"content-type": "text/event-stream"}, pause=pause)

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="toolfix-bench-")))
        upstream = stack.enter_context(Upstream(answer))
        recording = ("--set", f"toolfix_record={folder / 'recorded'}")
        proxies = [stack.enter_context(ProxyProcess(folder, options)) for options in (recording, (), ())]
        late: list[list[list[float]]] = [[] for _ in proxies]
        for number in range(-1, rounds):
            for turn in range(len(proxies)):
                which = (number + turn) % len(proxies)  # no proxy is always the first
                taken = asyncio.run(streams(proxies[which], upstream.url, count, answers))
                if number >= 0:  # the round before warms up
                    late[which].append(taken)
        written = len(list((folder / "recorded").glob("*/flow.json")))
    if written < rounds * count * answers:
        raise RuntimeError(f"only {written} of {rounds * count * answers} flows were recorded")
    return table(late, count)


def table(late: list[list[list[float]]], count: int) -> list[Row]:
    rows: list[Row] = []
    for what, place in (("median", 0.5), ("99th percentile", 0.99)):
        # The best round of each, because other work on the machine only makes a round slower.
        on, off, off_again = (min(quantile(one, place) for one in each) for each in late)
        for name, best, goal in (("recording on, against off", on, GOAL), ("off, against off", off_again, None)):
            where = f"{what} of {count} streams at once, {name}"
            rows.append(
                {
                    "name": f"time of an event, {where}",
                    "figure": best * 1e6,
                    "unit": "µs",
                    "ratio": best / off,
                    "goal": goal,
                }
            )
            rows.append({"name": f"time added to an event, {where}", "figure": (best - off) * 1e6, "unit": "µs"})
    return rows


def quantile(times: list[float], place: float) -> float:
    return sorted(times)[min(len(times) - 1, int(len(times) * place))]
