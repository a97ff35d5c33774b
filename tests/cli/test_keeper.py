"""A proxy that dies is said and started again, a few times; then it is said that nothing works any more."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from toolcalls.cli.proxy_process import ProxyFailed
from toolcalls.cli.proxy_supervisor import MAX_RESTARTS, Keeper


class Proxy:
    """Stands for a mitmdump: ends when it is told to."""

    def __init__(self, port: int, *, fails: bool = False) -> None:
        self.port = port or 4711
        self._fails = fails
        self._ended = threading.Event()
        self._status = 0

    def start(self) -> None:
        if self._fails:
            raise ProxyFailed("[12:00:00.000] Error: address already in use\n")

    def wait(self) -> int:
        self._ended.wait(60)
        return self._status

    def die(self, status: int) -> None:
        self._status = status
        self._ended.set()

    def stop(self) -> None:
        self._ended.set()


class Stage:
    def __init__(self, make: Callable[[int], Proxy] = Proxy) -> None:
        self.made: list[Proxy] = []
        self.said: list[str] = []
        self.news = threading.Semaphore(0)
        self._make = make
        maker: Any = self.make
        self.keeper = Keeper(maker, self.say)

    def make(self, port: int) -> Proxy:
        proxy = self._make(port) if self.made else Proxy(port)
        self.made.append(proxy)
        return proxy

    def say(self, sentence: str) -> None:
        self.said.append(sentence)
        self.news.release()

    def hear(self) -> str:
        assert self.news.acquire(timeout=60)
        return self.said[-1]


def test_it_comes_back_on_the_same_port_a_few_times() -> None:
    stage = Stage()
    stage.keeper.start()
    for number in range(MAX_RESTARTS):
        stage.made[number].die(-9)
        assert stage.hear().startswith("the proxy has ended (signal 9); answers under way are lost.")
        while len(stage.made) <= number + 1:
            threading.Event().wait(0.01)
        assert stage.made[-1].port == 4711
    stage.made[-1].die(1)
    assert stage.hear().endswith("ended again (exit status 1): requests of the agent will fail from now on.")
    stage.keeper.stop()
    assert len(stage.said) == MAX_RESTARTS + 1


def test_it_says_when_it_cannot_come_back() -> None:
    stage = Stage(lambda port: Proxy(port, fails=True))
    stage.keeper.start()
    stage.made[0].die(1)
    stage.hear()
    assert stage.hear() == (
        "it did not start: Error: address already in use. Requests of the agent will fail from now on."
    )
    stage.keeper.stop()


def test_an_end_that_was_asked_for_is_no_news() -> None:
    stage = Stage()
    stage.keeper.start()
    stage.keeper.stop()
    assert stage.said == []
