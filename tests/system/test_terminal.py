"""What hostile names do to a terminal: the log of a real proxy in tmux, which obeys every escape that it gets."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.stage import CHAT, DONE, EVENT_STREAM, ROOT, chat_event
from tests.upstream import Play, Upstream

MARK = "nothing above this line is lost"
HOSTILE = "Bash\r\nERROR: all is lost\x1b[2J\x1b[H\x1b]2;owned\x07\x1bkowned\x1b\\\x9b2J\x1b[8m"
"""It would begin a line, clear the screen, name the window twice, clear it once more and hide what follows."""


class Terminal:
    """A tmux server of its own with one window of 200 × 50."""

    def __init__(self, folder: Path) -> None:
        self._server = ["tmux", "-L", f"toolfix-{uuid.uuid4().hex}", "-f", "/dev/null"]
        self._environ = {**os.environ, "HOME": str(folder), "LANG": "C.UTF-8", "TERM": "xterm-256color"}

    def tmux(self, *words: str) -> str:
        done = subprocess.run(
            [*self._server, *words], env=self._environ, capture_output=True, encoding="utf-8", check=True, timeout=60
        )
        return done.stdout

    def screen(self) -> str:
        return self.tmux("capture-pane", "-p", "-S", "-200", "-J")

    def shows(self, words: str) -> str:
        """The screen, once these words are on it."""
        for _ in range(600):
            if words in (screen := self.screen()):
                return screen
            time.sleep(0.1)
        raise AssertionError(f"{words!r} is not on the screen:\n{screen}")


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path)
    terminal.tmux("new-session", "-d", "-x", "200", "-y", "50", "-n", "proxy", "sh")
    try:
        yield terminal
    finally:
        terminal.tmux("kill-server")


def test_a_terminal_that_is_sent_the_name_as_it_is_obeys_it(terminal: Terminal, tmp_path: Path) -> None:
    """So that the next test says something."""
    (tmp_path / "name").write_bytes(HOSTILE.encode("latin-1"))
    # The word that is waited for is not in the command: the terminal shows that first, before it is carried out.
    ends = r"printf '\033[0m%s%s\n' beh ind"
    terminal.tmux("send-keys", f"echo {MARK}; cat {tmp_path / 'name'}; {ends}", "Enter")
    terminal.shows("behind")
    assert MARK not in terminal.tmux("capture-pane", "-p"), "the screen was cleared"
    assert "owned" in terminal.tmux("list-panes", "-F", "#T"), "the window has its name"


def test_the_log_of_the_proxy_moves_nothing_and_names_nothing(terminal: Terminal, tmp_path: Path) -> None:
    call = {"index": 0, "id": "c", "type": "function", "function": {"name": HOSTILE, "arguments": "{'a': 1,}"}}
    answer = [chat_event({"tool_calls": [call]}), chat_event({}, "tool_calls"), DONE]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mitmdump = Path(sys.executable).with_name("mitmdump")
    options = f"--listen-host 127.0.0.1 --listen-port {port} --set confdir={tmp_path} --set flow_detail=0"
    before = terminal.tmux("list-panes", "-F", "#T #W")
    terminal.tmux("send-keys", f"echo {MARK}; {mitmdump} -s {ROOT / 'addon/toolfix.py'} {options}", "Enter")
    terminal.shows("proxy listening at")
    with Upstream(lambda _seen: Play(answer, headers=EVENT_STREAM)) as upstream:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        tool = {"type": "function", "function": {"name": "Bash", "parameters": {"type": "object"}}}
        asked = {"model": "m", "stream": True, "messages": [], "tools": [tool]}
        connection.request("POST", f"{upstream.url}/x\x1b{CHAT}".replace("\x1b", "%1b[2J"), json.dumps(asked))
        assert connection.getresponse().read()
    screen = terminal.shows("ERROR: all is lost")
    assert MARK in screen, "the screen was not cleared"
    assert not any(line.lstrip().startswith("ERROR: all is lost") for line in screen.splitlines())
    assert r"\x1b[2J" in screen
    assert terminal.tmux("list-panes", "-F", "#T #W") == before, "nobody renamed the window"
