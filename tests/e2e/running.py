"""`toolfix run` as a process, for tests: what it is given, what it says, and what is under it."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from .stage import ROOT

PATIENCE = 60.0
NO_ANSWER = "toolfix: no answer from a model went through the proxy"
Run = Callable[..., subprocess.CompletedProcess[str]]
PROXY_VARIABLES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")


def client_environment(ca: Path | None = None, **more: str) -> dict[str, str]:
    """A user's environment: no proxy, no toolfix, and the CA that the upstream needs as a company's would be set."""
    unwanted = (*PROXY_VARIABLES, "NO_PROXY", "no_proxy", "SSL_CERT_DIR")
    kept = {name: value for name, value in os.environ.items() if name not in unwanted and "TOOLFIX" not in name}
    trusted = {"SSL_CERT_FILE": str(ca)} if ca else {}
    return {**kept, "PYTHONPATH": str(ROOT / "addon"), **trusted, **more}


def command(confdir: Path, *options: str, cmd: tuple[str, ...] = ()) -> list[str]:
    return [sys.executable, "-m", "toolcalls.cli", "run", "--set", f"confdir={confdir}", *options, "--", *cmd]


def curl(url: str, asked: str) -> tuple[str, ...]:
    return ("curl", "-sS", "--max-time", "30", "-H", "content-type: application/json", "-d", asked, url)


def last_line(result: subprocess.CompletedProcess[str]) -> str:
    assert "Traceback" not in result.stderr, result.stderr
    return result.stderr.splitlines()[-1]


def _hear_signals() -> None:
    """Tests that run in the background inherit ignored signals, which a command under nohup rightly keeps."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class Running:
    """A session under way. Its stderr is read line by line."""

    def __init__(self, words: list[str], environ: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            words,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=_hear_signals,
        )
        self.said: list[str] = []
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        if self.process.stderr:
            for line in self.process.stderr:
                self._lines.put(line)

    def hear(self, words: str) -> str:
        """Wait for a line with these words."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                line = self._lines.get(timeout=0.2)
            except queue.Empty:
                continue
            self.said.append(line)
            if words in line:
                return line
        raise AssertionError(f"nobody said {words!r}: {self.said}")

    def read_line(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def write_line(self, text: str = "") -> None:
        assert self.process.stdin
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def proxy_pid(self) -> int:
        """The one mitmdump among its children."""
        listed = subprocess.run(
            ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(self.process.pid)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        found = [line for line in listed.splitlines() if "mitmdump_child.py" in line]
        assert len(found) == 1, listed
        return int(found[0].split()[0])

    def end(self) -> tuple[int, str, str]:
        """Exit status, the rest of stdout, and all of stderr."""
        if self.process.stdin:
            self.process.stdin.close()
        out = self.process.stdout.read() if self.process.stdout else ""
        status = self.process.wait(PATIENCE)
        time.sleep(0.05)
        while not self._lines.empty():
            self.said.append(self._lines.get())
        return status, out, "".join(self.said)
