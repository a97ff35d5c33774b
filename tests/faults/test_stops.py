"""The proxy is told to stop, or its script is reloaded, while answers are on their way."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from wsproto import ConnectionType
from wsproto.events import CloseConnection, TextMessage

from toolcalls.cli.proxy_process import SCRIPT
from toolcalls.recording import store

from .client import BROKEN, COMPLETE, Asked
from .conftest import Start
from .stage import PATIENCE, Stage
from .streams import PROTOCOLS, RIGHT, stream
from .test_frames import Talk, accepting, as_events, messages, upgraded
from .upstream import Line, Play


def arguments(protocol: str, body: bytes | bytearray) -> list[object]:
    return [json.loads(text) for _, text in PROTOCOLS[protocol].calls(bytes(body))]


class Halted:
    """An answer that has come so far, and goes on when it is told to."""

    def __init__(self, protocol: str, count: int) -> None:
        self.protocol = protocol
        self.events = stream(protocol, "a broken call")
        self.said = b"".join(self.events[:count])
        self.out = b"".join(PROTOCOLS[protocol].answer().feed(self.said))
        self.go_on = asyncio.Event()
        self.asked: Asked | None = None

    def play(self) -> Play:
        async def play(line: Line) -> None:
            await line.head()
            await line.chunk(self.said)
            await self.go_on.wait()
            await line.chunk(b"".join(self.events)[len(self.said) :])
            await line.end()

        return play

    async def begin(self, stage: Stage) -> None:
        self.asked = await stage.ask(self.play(), self.protocol)
        assert await self.asked.has(len(self.out))

    async def finish(self) -> Asked:
        assert self.asked
        self.go_on.set()
        return await self.asked.over()


def halted() -> list[Halted]:
    """One answer for each event of each protocol at which it can be interrupted."""
    return [Halted(name, count) for name in PROTOCOLS for count in range(1, len(stream(name, "a broken call")))]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_a_proxy_that_is_told_to_stop_breaks_its_streams_off_ends_and_leaves_whole_files(
    number: signal.Signals, start: Start, tmp_path: Path
) -> None:
    stage = start("--set", f"toolfix_record={tmp_path / 'flows'}")
    open_ones = halted()

    async def stop() -> list[Asked]:
        await asyncio.gather(*(one.begin(stage) for one in open_ones))
        os.kill(stage.proxy.process.pid, number)
        return [await one.asked.over() for one in open_ones if one.asked]

    for one, got in zip(open_ones, stage.run(stop()), strict=True):
        # A transfer that looks complete would make half an answer a whole one.
        assert (got.end, bytes(got.body)) == (BROKEN, one.out)
    assert stage.proxy.process.wait(PATIENCE) == 0, stage.proxy.output
    assert not stage.tracebacks(), stage.tracebacks()[0]
    found = [store.load(path) for path in store.find(tmp_path / "flows")]
    assert len(found) == len(open_ones) + len(PROTOCOLS), "those of the warm-up, and all that were open"
    unfinished = [recording.before for recording in found if recording.broken]
    assert sorted(unfinished) == sorted(one.said for one in open_ones)
    assert not list((tmp_path / "flows").rglob("*.part"))


# Reloading


def reloadable(tmp_path: Path) -> Path:
    addon = shutil.copytree(SCRIPT.parent, tmp_path / "addon", ignore=shutil.ignore_patterns("__pycache__"))
    return addon / "toolfix.py"


async def reload(stage: Stage, script: Path, text: str | None = None) -> None:
    """Write the script anew, and wait until it is loaded."""
    loads = stage.said("Loading script")
    later = script.stat().st_mtime + 1
    if text is not None:
        script.write_text(text)
    os.utime(script, (later, later))
    await stage.hears("Loading script", loads + 1)


def test_streams_that_are_open_while_the_script_is_reloaded_get_the_right_answer(
    start: Start, tmp_path: Path
) -> None:
    script = reloadable(tmp_path)
    stage = start("--set", f"toolfix_record={tmp_path / 'flows'}", script=script)

    async def play() -> None:
        for _ in range(3):
            answers = await stage.metric("toolfix_answers_total")
            open_ones = halted()
            await asyncio.gather(*(one.begin(stage) for one in open_ones))
            await reload(stage, script)
            await stage.works()
            for one in open_ones:
                got = await one.finish()
                assert got.end == COMPLETE
                assert arguments(one.protocol, got.body) == [RIGHT]
            # A new script counts anew; those that it took over count there.
            assert await stage.metric("toolfix_answers_total") == len(open_ones) + 1, answers
        await stage.settled()
        # They ended after the reload, and are recorded whole.
        while any(store.load(path).broken for path in store.find(tmp_path / "flows")):
            await asyncio.sleep(0.02)

    stage.run(play())


def test_streams_that_are_open_while_the_script_breaks_still_get_the_right_answer(
    start: Start, tmp_path: Path
) -> None:
    script = reloadable(tmp_path)
    stage = start(script=script)
    source = script.read_text()

    async def play() -> None:
        open_ones = halted()
        await asyncio.gather(*(one.begin(stage) for one in open_ones))
        await reload(stage, script, "this is no Python")
        for one in open_ones:
            got = await one.finish()
            assert got.end == COMPLETE
            assert arguments(one.protocol, got.body) == [RIGHT]
        await reload(stage, script, source)

    stage.run(play())
    assert stage.said("invalid syntax") == 1


def test_a_websocket_that_is_open_while_the_script_is_reloaded_goes_on_being_mended(
    start: Start, tmp_path: Path
) -> None:
    script = reloadable(tmp_path)
    stage = start(script=script)
    frames = messages()
    create = TextMessage(json.dumps({**json.loads(PROTOCOLS["responses"].request()), "type": "response.create"}))

    async def play() -> list[list[str]]:
        halted, go_on = asyncio.Event(), asyncio.Event()

        async def serve(line: Line) -> None:
            await line.raw(accepting(line.request))
            talk = Talk(line.reader, line.writer, ConnectionType.SERVER)
            while await talk.hear() is not None:
                for number, frame in enumerate(frames):
                    talk.say(TextMessage(frame))
                    if number == 3:
                        halted.set()
                        await go_on.wait()
            talk.say(CloseConnection(1000))

        stage.upstream.plays["reloaded"] = serve
        talk = await upgraded(stage, "reloaded")
        talk.say(create)
        first = [await talk.hear()]
        await halted.wait()
        await reload(stage, script)
        await stage.works()
        go_on.set()
        turns: list[Any] = [first, []]
        while "response.completed" not in turns[0][-1]:
            turns[0].append(await talk.hear())
        talk.say(create)
        while not turns[1] or "response.completed" not in turns[1][-1]:
            turns[1].append(await talk.hear())
        talk.writer.close()
        return turns

    for turn in stage.run(play()):
        assert arguments("responses", as_events(turn)) == [RIGHT]
