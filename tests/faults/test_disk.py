"""The disk is full or read-only while answers are recorded: it is said once, counted, and nobody waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from toolcalls.recording import store

from .conftest import survived
from .stage import SETTLING, Stage
from .streams import PROTOCOLS

Recording = tuple[Stage, Path]


@pytest.fixture(scope="module")
def recording(confdir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    folder = tmp_path_factory.mktemp("recorded") / "flows"
    stage = Stage(confdir, ("--set", f"toolfix_record={folder}"))
    try:
        yield stage.start(), folder
    finally:
        stage.stop()


async def until(condition: Callable[[], bool]) -> None:
    async def look() -> None:
        while not condition():
            await asyncio.sleep(0.02)

    await asyncio.wait_for(look(), SETTLING)


WORDS = {"full": "No space left on device", "read-only": "Read-only file system"}


@pytest.mark.parametrize("state", WORDS)
def test_answers_are_mended_while_the_disk_fails_and_recorded_again_afterwards(
    state: str, recording: Recording
) -> None:
    stage, folder = recording
    trouble = f"toolfix cannot write recordings to {folder} at the moment ({WORDS[state]})"

    async def play() -> None:
        await until(lambda: len(store.find(folder)) >= len(PROTOCOLS))
        before = {path.name for path in store.find(folder)}
        lost = await stage.metric("toolfix_recordings_total")
        await stage.probe(disk=state, folder=str(folder))
        for name in PROTOCOLS:
            await stage.works(name)
        await stage.hears(trouble)
        deadline = asyncio.get_running_loop().time() + SETTLING
        while await stage.metric("toolfix_recordings_total") - lost < len(PROTOCOLS):
            assert asyncio.get_running_loop().time() < deadline, "what is lost is counted"
            await asyncio.sleep(0.02)
        assert stage.said(trouble) == 1, "once, however many are lost"
        assert {path.name for path in store.find(folder)} == before
        await stage.probe(disk="fine")
        await stage.works()
        await stage.hears(f"toolfix records to {folder} again.")

    stage.run(play())
    survived(stage)
    # The answers of that are being recorded still.
    asyncio.run(until(lambda: all((path / "flow.json").is_file() for path in folder.iterdir())))
    assert not list(folder.rglob("*.part")), "no half of a file is left"
    assert all(store.load(path).after is not None for path in store.find(folder)), "and no half of a recording"


def test_a_folder_that_is_gone_is_made_again(recording: Recording) -> None:
    stage, folder = recording

    async def play() -> None:
        await until(lambda: bool(store.find(folder)))
        folder.rename(folder.with_name("elsewhere"))
        await stage.works()
        await until(lambda: bool(store.find(folder)))

    stage.run(play())
    survived(stage)


def test_a_folder_that_became_a_file_stops_the_recording_and_nothing_else(recording: Recording) -> None:
    """What no permission can undo: it fails for root too."""
    stage, folder = recording

    async def play() -> None:
        folder.rename(folder.with_name("away"))
        folder.write_bytes(b"")
        for name in PROTOCOLS:
            await stage.works(name)
        await stage.hears("toolfix cannot write recordings")
        await stage.hears("Not a directory")
        folder.unlink()
        await stage.works()
        await until(lambda: bool(store.find(folder)))

    stage.run(play())
    survived(stage)
