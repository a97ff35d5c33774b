"""The proxy of a session comes back a few times if it dies, and the user hears of it."""

from __future__ import annotations

import errno
import os
import queue
import signal
import socket
import threading
from pathlib import Path

import click
import pytest

from toolcalls.cli import proxy_process
from toolcalls.cli.proxy_process import MAX_RESTARTS, ProxyFailed, ProxyProcess, listen
from toolcalls.policy import LOGGED

PATIENCE = 60
CHILD = """
import json, os, sys
wanted = json.loads(os.environ["TOOLFIX_MITMDUMP"])
with open({starts!r}, "a") as file:
    print("lazy" if wanted["lazy"] else "at once", file=file)
if "fails" in wanted["arguments"]:
    sys.exit("[12:00:00.000] Error: address already in use")
print("\\0listening on 4711", flush=True)
sys.stdin.read()
"""


class Stage:
    """A proxy whose mitmdump is a program that does nothing, and what is said of it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str, lazy: bool = False) -> None:
        self._starts = folder / "starts"
        child = folder / "child.py"
        child.write_text(CHILD.format(starts=str(self._starts)))
        self.said: queue.Queue[str] = queue.Queue()
        monkeypatch.setattr(proxy_process, "CHILD", child)
        monkeypatch.setattr(proxy_process, "remark", self.said.put)
        self.listener = listen(0)
        self.proxy = ProxyProcess(folder, arguments, script=None, listener=self.listener, lazy=lazy)

    @property
    def starts(self) -> list[str]:
        return self._starts.read_text().splitlines()

    def die(self, number: int) -> None:
        for _ in range(6000):
            if self.proxy.port:
                break
            threading.Event().wait(0.01)
        os.kill(self.proxy.pid, number)

    def hear(self) -> str:
        return self.said.get(timeout=PATIENCE)

    def port_is_closed(self) -> bool:
        for _ in range(600):  # A moment after the sentence.
            if self.listener.fileno() < 0:
                return True
            threading.Event().wait(0.01)
        return False


@pytest.mark.parametrize("lazy", [False, True])
def test_a_session_that_ends_stops_its_proxy_without_a_word(
    lazy: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(tmp_path, monkeypatch, lazy=lazy)
    with stage.proxy as proxy:
        assert lazy or proxy.port == 4711
    assert lazy or stage.starts == ["at once"]
    assert stage.said.empty() and proxy.wait(PATIENCE) == -signal.SIGTERM


def test_it_comes_back_a_few_times_for_the_next_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(tmp_path, monkeypatch)
    with stage.proxy:
        for _ in range(MAX_RESTARTS):
            stage.die(signal.SIGKILL)
            assert stage.hear().startswith("the proxy has ended (signal 9); answers under way are lost.")
            assert stage.listener.fileno() > 0
        stage.die(signal.SIGTERM)
        assert stage.hear() == "the proxy has ended (signal 15); the agent's requests will fail from now on."
        assert stage.port_is_closed()
    assert stage.starts == ["at once", *["lazy"] * MAX_RESTARTS]
    assert stage.said.empty()


def test_it_says_why_it_cannot_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(tmp_path, monkeypatch, "fails", lazy=True)
    with stage.proxy:
        for _ in range(MAX_RESTARTS + 1):
            assert stage.hear().startswith("the proxy has ended (Error: address already in use); ")
        assert stage.port_is_closed()


def test_of_an_option_that_is_wrong_the_sentence_is_found_whatever_its_words() -> None:
    output = f"[12:00:00.000] Error: another one\n[12:00:00.000] {LOGGED}toolfix_new='x' will never do\nexiting...\n"
    assert ProxyFailed(output).message == "the proxy did not start: toolfix_new='x' will never do."


def test_a_port_that_the_system_refuses_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(address: object) -> None:
        raise PermissionError(errno.EACCES, f"Permission denied (while attempting to bind on address {address})")

    monkeypatch.setattr(socket, "create_server", refused)
    with pytest.raises(click.ClickException, match=r"^port 80 cannot be used \(permission denied\): "):
        listen(80)


def test_a_first_start_that_fails_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(tmp_path, monkeypatch, "fails")
    with pytest.raises(ProxyFailed, match="address already in use"):
        stage.proxy.start()
    assert stage.said.empty()
