"""`toolfix proxy`: in the foreground, on loopback, one readable line for every mended call."""

from __future__ import annotations

import queue
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.upstream import Play, Upstream

from .running import PATIENCE, client_environment
from .stage import CHAT, EVENT_STREAM, Plays, broken_call, request_body


class Foreground:
    """The command in a terminal of its own; what it says, line by line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.said: list[str] = []
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        if self.process.stdout:
            for line in self.process.stdout:
                self._lines.put(line.rstrip("\n"))

    def hear(self, words: str) -> str:
        while True:
            line = self._lines.get(timeout=PATIENCE)
            self.said.append(line)
            if words in line:
                return line


@contextmanager
def toolfix_proxy(confdir: Path, ca: Path, *options: str) -> Iterator[Foreground]:
    words = [sys.executable, "-m", "toolcalls.cli", "proxy", "-p", "0", "--set", f"confdir={confdir}", *options]
    process = subprocess.Popen(
        words,
        env=client_environment(ca),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        yield Foreground(process)
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0


def ask(port: str, url: str, confdir: Path, *more: str) -> bytes:
    ca = confdir / "mitmproxy-ca-cert.pem"
    command = [
        "curl",
        "-sS",
        "--max-time",
        "30",
        "--noproxy",
        "",
        "-x",
        f"http://127.0.0.1:{port}",
        "--cacert",
        str(ca),
    ]
    return subprocess.run(
        [*command, *more, "-d", "@-", url], input=request_body(), capture_output=True, check=True
    ).stdout


def test_a_mended_call_is_one_line(confdir: Path, certificate: Path, plays: Plays, upstream: Upstream) -> None:
    plays.add("command", Play(broken_call(), headers=EVENT_STREAM))
    with toolfix_proxy(confdir, certificate) as proxy:
        address = proxy.hear("listening at").split()[-1].rstrip(".")
        assert address.startswith("127.0.0.1:")
        ask(address.rpartition(":")[2], f"{upstream.url}/command{CHAT}", confdir)
        line = proxy.hear("mended")
        assert re.fullmatch(
            r"\[[\d:.]+\] localhost/command/v1/chat/completions: mended Bash: .+ \(38 → 34 characters\)", line
        )
        assert len(proxy.said) == 4, proxy.said
        assert any(
            re.fullmatch(
                rf'toolfix: in another terminal: eval "\$\(toolfix env --port {address.rpartition(":")[2]} .*', said
            )
            for said in proxy.said
        )
        proxy.process.send_signal(signal.SIGINT)
        assert proxy.hear("toolfix: 1 call") == "toolfix: 1 call, 1 mended, 0 refused"
        assert proxy.process.wait(PATIENCE) == 0


def test_observing_says_would_and_samples_are_for_debugging(
    confdir: Path, certificate: Path, plays: Plays, upstream: Upstream
) -> None:
    plays.add("command", Play(broken_call(), headers=EVENT_STREAM))
    options = ("--set", "toolfix_mode=observe", "--set", "termlog_verbosity=debug")
    with toolfix_proxy(confdir, certificate, *options) as proxy:
        port = proxy.hear("listening at").rstrip(".").rpartition(":")[2]
        body = ask(port, f"{upstream.url}/command{CHAT}", confdir)
        assert body == b"".join(broken_call())
        assert "would have mended Bash" in proxy.hear("have mended")
        assert "Bash before {'command'" in proxy.hear("before")
        assert "Bash after" in proxy.hear("after")
        proxy.process.send_signal(signal.SIGINT)
        summary = "toolfix: 1 call, 1 would have been mended, 0 would have been refused"
        assert proxy.hear("toolfix: 1 call") == summary
        assert proxy.process.wait(PATIENCE) == 0


@pytest.mark.parametrize("option", ["-v", "--verbose"])
def test_verbose_shows_every_call_and_no_header(
    option: str, confdir: Path, certificate: Path, plays: Plays, upstream: Upstream
) -> None:
    plays.add("command", Play(broken_call(), headers={**EVENT_STREAM, "x-answer": "header-of-the-host"}))
    with toolfix_proxy(confdir, certificate, option) as proxy:
        port = proxy.hear("listening at").rstrip(".").rpartition(":")[2]
        headers = ("-H", "Authorization: Bearer sk-secret", "-H", "x-api-key: another-secret")
        ask(port, f"{upstream.url}/command{CHAT}?key=third-secret", confdir, *headers)
        proxy.hear("found a tool call")
        proxy.hear("the answer is done; calls: 1 mended")
        proxy.hear("client disconnect")
        log = "\n".join(proxy.said).lower()
        assert not any(word in log for word in ("secret", "bearer", "authorization", "header-of-the-host"))


def test_reverse_mode_names_the_base_url(confdir: Path, certificate: Path) -> None:
    with toolfix_proxy(confdir, certificate, "--mode", "reverse:http://localhost:9") as proxy:
        assert "such as /v1; no CA is needed" in proxy.hear("set the client's base URL to http://127.0.0.1:")


@pytest.mark.parametrize("words", [["--port", "{}"], ["--port={}"], ["--listen-port", "{}"], ["-p", "{}"]])
def test_a_port_that_is_taken_is_named(words: list[str], confdir: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "toolcalls.cli", "proxy", "--set", f"confdir={confdir}"]
        command += [word.format(port) for word in words]
        done = subprocess.run(
            command,
            env=client_environment(confdir / "none.pem"),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert f"failed to listen on 127.0.0.1:{port}" in done.stdout and "address already in use" in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--nope"], "toolfix proxy: error: unrecognized arguments: --nope"),
        (["--set", "toolfix_fallbck=empty"], "Did you mean toolfix_fallback?"),
        (["--set", "tolfix_mode=observe"], "there is no option 'tolfix_mode'. Did you mean toolfix_mode?"),
        (["--set", "toolfix_mode=loud"], "toolfix_mode='loud' is not allowed"),
        (["--set", "toolfix_mode"], "has no '='"),
    ],
)
def test_a_wrong_command_line_is_one_sentence_and_exit_2(words: list[str], said: str, confdir: Path) -> None:
    command = [sys.executable, "-m", "toolcalls.cli", "proxy", "-p", "0", "--set", f"confdir={confdir}", *words]
    done = subprocess.run(
        command, env=client_environment(confdir / "none.pem"), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
