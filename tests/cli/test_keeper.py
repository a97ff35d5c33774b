"""The proxy of a session comes back a few times if it dies, and the user hears of it."""

from __future__ import annotations

import errno
import queue
import socket
import threading
from typing import Any

import click
import pytest

from toolcalls.cli.proxy_process import MAX_RESTARTS, Keeper, ProxyFailed, listen
from toolcalls.policy import LOGGED

PATIENCE = 60


class Proxy:
    """Stands for a mitmdump: ends when it is told to. `fails`: which of its starts fail."""

    output = "[12:00:00.000] Error: address already in use\n"

    def __init__(self, *fails: bool) -> None:
        self.started: list[bool] = []
        self.port = 0
        self._fails = fails
        self._ends: queue.Queue[int] = queue.Queue()

    def start(self, *, at_once: bool) -> None:
        fails = len(self.started) < len(self._fails) and self._fails[len(self.started)]
        self.started.append(at_once)
        self.port = 0 if fails else 1
        if fails and at_once:
            raise ProxyFailed(self.output)
        if fails:
            self.die(1)

    def wait(self) -> int:
        return self._ends.get(timeout=PATIENCE)

    def die(self, status: int) -> None:
        self._ends.put(status)

    def stop(self) -> None:
        self.die(0)


class Stage:
    def __init__(self, *fails: bool) -> None:
        self.proxy = Proxy(*fails)
        self.listener = listen(0)
        self.said: queue.Queue[str] = queue.Queue()
        proxy: Any = self.proxy
        self.keeper = Keeper(proxy, self.listener, self.said.put)

    def hear(self) -> str:
        return self.said.get(timeout=PATIENCE)

    def port_is_closed(self) -> bool:
        for _ in range(600):  # A moment after the sentence.
            if self.listener.fileno() < 0:
                return True
            threading.Event().wait(0.01)
        return False


@pytest.mark.parametrize("at_once", [False, True])
def test_a_session_that_ends_stops_its_proxy_without_a_word(at_once: bool) -> None:
    stage = Stage()
    stage.keeper.start(at_once=at_once)
    stage.keeper.stop()
    assert stage.proxy.started == [at_once]
    assert stage.said.empty() and stage.port_is_closed()


def test_it_comes_back_a_few_times_for_the_next_client() -> None:
    stage = Stage()
    stage.keeper.start(at_once=True)
    for _ in range(MAX_RESTARTS):
        stage.proxy.die(-9)
        assert stage.hear().startswith("the proxy has ended (signal 9); answers under way are lost.")
        assert stage.listener.fileno() > 0
    stage.proxy.die(1)
    assert stage.hear().endswith("ended (exit status 1); the agent's requests will fail from now on.")
    assert stage.port_is_closed()
    assert stage.proxy.started == [True, *[False] * MAX_RESTARTS]
    stage.keeper.stop()
    assert stage.said.empty()


def test_it_says_when_it_cannot_come_back() -> None:
    stage = Stage(False, True)
    stage.keeper.start(at_once=True)
    stage.proxy.die(1)
    stage.hear()
    assert stage.hear() == (
        "the proxy could not be started, so the agent's requests will fail: Error: address already in use."
    )
    assert stage.port_is_closed()
    stage.keeper.stop()


def test_of_an_option_that_is_wrong_the_sentence_is_found_whatever_its_words() -> None:
    output = f"[12:00:00.000] Error: another one\n[12:00:00.000] {LOGGED}toolfix_new='x' will never do\nexiting...\n"
    assert ProxyFailed(output).message == "the proxy did not start: toolfix_new='x' will never do."


def test_a_port_that_the_system_refuses_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(address: object) -> None:
        raise PermissionError(errno.EACCES, f"Permission denied (while attempting to bind on address {address})")

    monkeypatch.setattr(socket, "create_server", refused)
    with pytest.raises(click.ClickException, match=r"^port 80 cannot be used: permission denied\.$"):
        listen(80)


def test_a_first_start_that_fails_is_an_error() -> None:
    stage = Stage(True)
    with pytest.raises(ProxyFailed):
        stage.keeper.start(at_once=True)
    stage.keeper.stop()
