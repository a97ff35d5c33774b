"""Clocks that jump, by a second, a day, a century, forward and back, while calls are held and recorded."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from toolcalls.recording import store
from toolcalls.wire import sse

from .client import COMPLETE, Asked
from .conftest import Start
from .stage import SETTLING
from .streams import BROKEN, DONE, PROTOCOLS, RIGHT, chat, chat_part, stream
from .upstream import Line

DAY = 86_400.0
KEEP_ALIVE = b'data: {"choices":[{"index":0,"finish_reason":null,"delta":{}}]}\n\n'
JUMPS = {
    "a second back": -1.0,
    "a day ahead": DAY,
    "a day back": -DAY,
    "a century ahead": 36_500 * DAY,
    "to before 1970": -36_500 * DAY,
}


@pytest.mark.parametrize("protocol", ["chat", "messages"])
def test_an_answer_is_right_whatever_the_clocks_do_while_it_comes(
    protocol: str, start: Start, tmp_path: Path
) -> None:
    folder = tmp_path / "flows"
    stage = start("--set", f"toolfix_record={folder}")
    events = stream(protocol, "a broken call")

    async def one(day: float, ticks: float) -> Asked:
        """The clocks jump at every event, there and back."""

        async def play(line: Line) -> None:
            await line.head()
            for number, event in enumerate(events):
                away = number % 2 == 0
                await stage.probe(day=day if away else 0.0, ticks=ticks if away else 0.0)
                await line.chunk(event)
            await line.end()

        return await stage.answer(play, protocol)

    async def all_of_them() -> list[Asked]:
        got = [await one(jump, 0.0) for jump in JUMPS.values()]
        got += [await one(0.0, jump) for jump in JUMPS.values()]
        await stage.probe(day=0.0, ticks=0.0)
        return got

    for got in stage.run(all_of_them()):
        assert got.end == COMPLETE
        assert [json.loads(text) for _, text in PROTOCOLS[protocol].calls(bytes(got.body))] == [RIGHT]
        assert len(sse.split(bytes(got.body))) <= 2 * len(events), "a keep-alive an event at most"
    stage.run(stage.works())
    stage.run(recorded(folder, len(PROTOCOLS) + 2 * len(JUMPS) + 1))
    assert not any(store.load(path).broken for path in store.find(folder))


async def recorded(folder: Path, count: int) -> None:
    """Wait for so many recordings."""
    while len(store.find(folder)) < count:
        await asyncio.sleep(0.02)


def test_a_held_call_is_told_of_once_after_a_jump_ahead_and_not_at_all_after_a_jump_back(start: Start) -> None:
    stage = start()
    text = chat({"content": "Hi."})
    parts = [chat_part("", "Bash"), *map(chat_part, BROKEN)]
    answered: asyncio.Future[Asked] = stage.future()

    async def play(line: Line) -> None:
        asked = await answered
        await line.head()
        # Together, so that the text tells when the call is held.
        await line.chunk(text + parts[0])
        assert await asked.has(len(text))
        await stage.probe(ticks=DAY)
        for part in parts[1:10]:
            await line.chunk(part)
        assert await asked.has(len(text + KEEP_ALIVE))
        await stage.probe(ticks=-DAY)
        for part in parts[10:]:
            await line.chunk(part)
        await line.chunk(chat({}, "tool_calls") + DONE)
        await line.end()

    async def held() -> Asked:
        asked = await stage.ask(play)
        answered.set_result(asked)
        await asked.over()
        await stage.probe(ticks=0.0)
        return asked

    got = stage.run(held())
    assert got.end == COMPLETE
    assert got.body.startswith(text + KEEP_ALIVE)
    assert got.body.count(KEEP_ALIVE) == 1
    assert [json.loads(text) for _, text in PROTOCOLS["chat"].calls(bytes(got.body))] == [RIGHT]


def test_recordings_are_written_after_a_jump_back_and_a_jump_ahead(start: Start, tmp_path: Path) -> None:
    """The thread that writes them waits by the clock; it must neither die of a jump nor sleep for a day."""
    folder = tmp_path / "flows"
    stage = start("--set", f"toolfix_record={folder}")

    async def play() -> None:
        count = len(PROTOCOLS)
        await recorded(folder, count)
        for jump in (*JUMPS.values(), 0.0):
            await stage.probe(day=jump, ticks=jump)
            for _ in range(2):
                await stage.works()
                count += 1
                await asyncio.wait_for(recorded(folder, count), SETTLING)

    stage.run(play())
