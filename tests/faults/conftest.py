"""A proxy a module, because each costs a second or two; and after every fault the look at what it left behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .stage import Stage

Start = Callable[..., Stage]


@pytest.fixture(scope="session")
def confdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """mitmproxy's own directory, with its CA."""
    return tmp_path_factory.mktemp("confdir")


@pytest.fixture(scope="module")
def shared(confdir: Path) -> Iterator[Stage]:
    """The proxy with everything as users have it."""
    stage = Stage(confdir)
    try:
        yield stage.start()
    finally:
        stage.stop()


@pytest.fixture
def stage(shared: Stage) -> Iterator[Stage]:
    yield shared
    survived(shared)


@pytest.fixture
def start(confdir: Path) -> Iterator[Start]:
    """A proxy of the test's own, with options of its own."""
    stages: list[Stage] = []

    def start(*arguments: str, **more: Any) -> Stage:
        stages.append(Stage(confdir, arguments, **more))
        return stages[-1].start()

    yield start
    try:
        for stage in stages:
            if stage.alive:
                survived(stage)
    finally:
        for stage in stages:
            stage.stop()


def survived(stage: Stage) -> None:
    """After a fault: the next request works, and nothing is left of the one before."""
    stage.run(stage.works())
    stage.run(stage.settled())
    assert not stage.tracebacks(), stage.tracebacks()[0]
