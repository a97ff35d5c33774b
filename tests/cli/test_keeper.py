"""The proxy of a session: it starts with its first client, comes back a few times if it dies, and the user hears of it."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest

from toolcalls.cli.proxy_process import MAX_RESTARTS, Keeper, ProxyFailed


class Proxy:
    """Stands for a mitmdump: ends when it is told to."""

    def __init__(self, listener: socket.socket, *, fails: bool = False) -> None:
        self.listener = listener
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
    def __init__(self, *fails: bool) -> None:
        self.made: list[Proxy] = []
        self.said: list[str] = []
        self.news = threading.Semaphore(0)
        self._fails = fails
        maker: Any = self.make
        self.keeper = Keeper(maker, self.say)

    def make(self, listener: socket.socket) -> Proxy:
        number = len(self.made)
        self.made.append(Proxy(listener, fails=number < len(self._fails) and self._fails[number]))
        return self.made[-1]

    def say(self, sentence: str) -> None:
        self.said.append(sentence)
        self.news.release()

    def hear(self) -> str:
        assert self.news.acquire(timeout=60)
        return self.said[-1]

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", int(self.keeper.url.rpartition(":")[2])), 60)


def wait_until(condition: Callable[[], bool]) -> None:
    for _ in range(6000):
        if condition():
            return
        threading.Event().wait(0.01)
    raise AssertionError


def test_it_starts_with_its_first_client_which_waits_for_it() -> None:
    stage = Stage()
    stage.keeper.start()
    threading.Event().wait(0.05)
    assert not stage.made
    with stage.connect() as client:
        wait_until(lambda: bool(stage.made))
        taken, address = stage.made[0].listener.accept()
        assert address == client.getsockname()
        taken.close()
    stage.keeper.stop()
    assert stage.said == []


def test_a_session_without_a_client_has_no_proxy() -> None:
    stage = Stage()
    stage.keeper.start()
    stage.keeper.stop()
    assert (stage.made, stage.said) == ([], [])


def test_it_comes_back_a_few_times_for_the_next_client() -> None:
    stage = Stage()
    stage.keeper.start(at_once=True)
    for number in range(MAX_RESTARTS):
        stage.made[number].die(-9)
        assert stage.hear().startswith("the proxy has ended (signal 9); answers under way are lost.")
        assert len(stage.made) == number + 1
        with stage.connect():
            wait_until(lambda number=number: len(stage.made) > number + 1)
            stage.made[-1].listener.accept()[0].close()
    stage.made[-1].die(1)
    assert stage.hear().endswith("ended (exit status 1); requests of the agent will fail from now on.")
    with pytest.raises(OSError):
        for _ in range(600):  # The port is closed a moment after the sentence.
            stage.connect().close()
            threading.Event().wait(0.01)
    stage.keeper.stop()
    assert len(stage.said) == MAX_RESTARTS + 1


def test_it_says_when_it_cannot_come_back() -> None:
    stage = Stage(False, True)
    stage.keeper.start(at_once=True)
    stage.made[0].die(1)
    stage.hear()
    with contextlib.suppress(ConnectionError):  # The port may be closed before the client knows that it is connected.
        stage.connect().close()
    assert stage.hear() == (
        "the proxy does not start, requests of the agent will fail from now on. Error: address already in use."
    )
    stage.keeper.stop()


def test_a_first_start_that_fails_is_an_error() -> None:
    stage = Stage(True)
    with pytest.raises(ProxyFailed):
        stage.keeper.start(at_once=True)
    stage.keeper.stop()


def test_an_end_that_was_asked_for_is_no_news() -> None:
    stage = Stage()
    stage.keeper.start(at_once=True)
    stage.keeper.stop()
    assert stage.said == []
