"""What a hostile answer or request makes the others wait: the proxy has one loop for all its streams.

A second stream goes on through the same proxy, word by word, while the first one is played. The probe tells the longest
that the loop was busy with one thing, in time of the processor, so that a busy machine changes little; the limit here
is a generous one. TOOLFIX_FAULTS_FULL=1 plays everything of tests/hard_work.py on every protocol, and writes the
table of docs/evidence.md to the file that TOOLFIX_LAG_TABLE names.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hard_work import WIRES, answers
from tests.pace import check_quick
from tests.splits import cut

from .client import COMPLETE
from .stage import Stage
from .streams import DONE, chat
from .upstream import Line, Play

FULL = bool(os.environ.get("TOOLFIX_FAULTS_FULL"))
LONGEST = 0.5
"""Seconds of the processor for one step of the loop, mitmproxy's own part included; goal and figures: docs/evidence.md."""
READ = 65_536

NAMED_INPUTS = (
    "an f-string of 600 KB",
    "Gemma's format, 1 MB",
    "`data: x` and a CR, 125,000 times",
    "900 broken calls of 12 KB",
)
WORST = {
    "chat": ("a broken call of 200,000 objects", "500,000 brackets"),
    "messages": ("900 calls of 12 KB, a comma too many",),
    "responses": ("900 broken calls of 50 bytes",),
    "ollama": ("a call in tags, a text of 4 MB",),
    "gemini": ("a valid call of 14 MB, one text",),
    "zai": ("900 broken calls of 50 bytes",),
}
CASES = [
    (protocol, name)
    for protocol in WIRES
    for name in (answers(protocol) if FULL else (*(NAMED_INPUTS if protocol == "chat" else ()), *WORST[protocol]))
]


def sending(body: bytes, kind: str) -> Play:
    async def play(line: Line) -> None:
        await line.raw(f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n".encode())
        for piece in cut(body, READ):
            await line.chunk(piece)
        await line.end()

    return play


def longest_wait(stage: Stage, first: Callable[[], asyncio.Future[None]]) -> tuple[float, float]:
    """The longest step of the loop while this happens, and how long a word of the second stream was late at most."""
    over = asyncio.Event()

    async def words(line: Line) -> None:
        await line.head()
        while not over.is_set():
            await line.chunk(chat({"content": "word "}))
            await asyncio.sleep(0.01)
        await line.chunk(chat({}, "stop") + DONE)
        await line.end()

    async def both() -> tuple[float, float]:
        second = await stage.ask(words)
        assert await second.has(1)
        await stage.probe(steps=True)
        late = 0.0
        task = asyncio.ensure_future(first())
        while not task.done():
            before, size = time.monotonic(), second.size
            await second.has(size + 1)
            late = max(late, time.monotonic() - before)
        await task
        took = (await stage.probe(steps=True))["longest"]
        over.set()
        assert (await second.over()).end == COMPLETE
        return took, late

    return stage.run(both())


def note(row: str) -> None:
    file = os.environ.get("TOOLFIX_LAG_TABLE")
    if file:
        with Path(file).open("a", encoding="utf-8") as table:
            table.write(row + "\n")


@pytest.mark.parametrize(("protocol", "name"), CASES)
def test_an_answer_that_would_take_long_does_not_stop_the_others(protocol: str, name: str, stage: Stage) -> None:
    wire = WIRES[protocol]
    body = answers(protocol)[name]()
    kind = "application/x-ndjson" if protocol == "ollama" else "text/event-stream"

    async def first() -> None:
        got = await stage.answer(
            sending(body, kind), body=json.dumps(wire.request).encode(), path=wire.path, keep=False
        )
        assert got.end == COMPLETE and got.size

    took, late = longest_wait(stage, first)  # type: ignore[arg-type]
    note(f"| {protocol} | {name} | {took * 1000:.0f} | {late * 1000:.0f} |")
    check_quick(took, LONGEST)


def test_a_request_of_10_mib_of_broken_calls_does_not_stop_the_others(stage: Stage) -> None:
    broken = "{'command': [" + "'b'," * 3000 + "]}"
    messages = [
        message
        for at in range(800)
        for message in (
            {
                "role": "assistant",
                "tool_calls": [
                    {"id": f"c{at}", "type": "function", "function": {"name": "Bash", "arguments": broken}}
                ],
            },
            {"role": "tool", "tool_call_id": f"c{at}", "content": "ok"},
        )
    ]
    body = json.dumps({**WIRES["chat"].request, "messages": messages}).encode()

    async def first() -> None:
        got = await stage.answer(sending(chat({"content": "Hi."}, "stop") + DONE, "text/event-stream"), body=body)
        assert got.end == COMPLETE

    took, late = longest_wait(stage, first)  # type: ignore[arg-type]
    note(f"| chat | a request with 10 MiB of broken history calls | {took * 1000:.0f} | {late * 1000:.0f} |")
    check_quick(took, LONGEST)
