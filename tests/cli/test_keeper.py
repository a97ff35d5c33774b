"""The proxy of a session is there until its end; if it is not, the user hears of it."""

from __future__ import annotations

import errno
import os
import queue
import signal
import socket
from pathlib import Path

import click
import pytest

from toolcalls.cli import proxy_process
from toolcalls.cli.proxy_process import ProxyFailed, ProxyProcess, listen
from toolcalls.policy import LOGGED

PATIENCE = 60
CHILD = """
import json, os, sys
wanted = json.loads(os.environ["TOOLFIX_MITMDUMP"])
if "fails" in wanted["arguments"]:
    sys.exit("[12:00:00.000] Error: no space left")
print(end="\\0listening\\n", flush=True)
sys.stdin.read()
"""


class Stage:
    """A proxy whose mitmdump is a program that does nothing, and what is said of it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str, lazy: bool = False) -> None:
        child = folder / "child.py"
        child.write_text(CHILD)
        self.said: queue.Queue[str] = queue.Queue()
        monkeypatch.setattr(proxy_process, "CHILD", child)
        monkeypatch.setattr(proxy_process, "remark", self.said.put)
        self.proxy = ProxyProcess(folder, arguments, script=None, lazy=lazy)

    def hear(self) -> str:
        return self.said.get(timeout=PATIENCE)


@pytest.mark.parametrize("lazy", [False, True])
def test_a_session_that_ends_stops_its_proxy_without_a_word(
    lazy: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(tmp_path, monkeypatch, lazy=lazy)
    with stage.proxy as proxy:
        assert proxy.port
    assert stage.said.empty() and proxy.process.wait(PATIENCE) == -signal.SIGTERM


def test_if_it_dies_that_is_said_and_clients_do_not_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(tmp_path, monkeypatch)
    with stage.proxy as proxy:
        os.kill(proxy.process.pid, signal.SIGKILL)
        sentence = "the proxy has ended (signal 9); the agent's requests will fail from now on."
        assert stage.hear() == sentence
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", proxy.port), PATIENCE)


def test_it_says_why_it_cannot_start_for_the_first_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(tmp_path, monkeypatch, "fails", lazy=True)
    with stage.proxy:
        assert stage.hear() == "the proxy did not start: Error: no space left."


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
    with pytest.raises(ProxyFailed, match="no space left"):
        stage.proxy.start()
    assert stage.said.empty()
