"""Runs a real mitmdump with the addon as a child process, on a free loopback port."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import click

from ..policy import LOGGED
from .inputs import remark
from .mitmdump_child import STARTED, VARIABLE

SCRIPT = Path(__file__).resolve().parents[2] / "toolfix.py"
"""The addon beside the engine: in a clone `addon/toolfix.py`, in an installation the module `toolfix`."""

CHILD = Path(__file__).with_name("mitmdump_child.py")
MAX_RESTARTS = 3

_STAMP = re.compile(r"^(\[[\d:.]+\]\s*|\S*mitmdump_child\.py: )")
_TELLING = re.compile(r"address already in use|[Uu]nknown option|[Ee]rror")
_LAST_LINES = 200


class ProxyFailed(click.ClickException):
    """mitmdump did not start; `why` is the line of its output that says why."""

    def __init__(self, output: str) -> None:
        lines = [line for line in (_STAMP.sub("", line).strip() for line in output.splitlines()) if line]
        ours = [line.removeprefix(LOGGED) for line in lines if line.startswith(LOGGED)]
        telling = [*ours, *filter(_TELLING.search, lines), *lines[-1:], "it said nothing"][0]
        self.why = telling.rstrip(".") + "."
        super().__init__(f"the proxy did not start: {self.why}")


class ProxyProcess:
    """A mitmdump: inside `with ProxyProcess(...) as proxy:` it listens on `proxy.port`.

    `sink` gets each line of the log; only the last ones are kept then. With a `listener`, clients may come before it
    listens (with `lazy` it starts with the first of them), and it is started again if it dies.
    """

    def __init__(
        self,
        confdir: Path,
        arguments: Sequence[str] = (),
        *,
        script: Path | None = SCRIPT,
        listen: Sequence[str] = ("--listen-host", "127.0.0.1", "--listen-port", "0"),
        environment: Mapping[str, str] | None = None,
        sink: Callable[[str], object] | None = None,
        listener: socket.socket | None = None,
        lazy: bool = False,
    ) -> None:
        self._command = [sys.executable, "-P", str(CHILD), "--set", f"confdir={confdir}", *listen]
        self._arguments = [*(("-s", str(script)) if script else ()), *arguments]
        self._environment = {**os.environ, "PYTHONUNBUFFERED": "1", **(environment or {})}
        self._sink = sink
        self._listener = listener
        self._lazy = lazy
        self._lines: deque[str] = deque(maxlen=_LAST_LINES if sink else None)
        self._changing = threading.Lock()
        self._stopping = False
        self.ca = confdir / "mitmproxy-ca-cert.pem"
        self.port = 0
        """0 until mitmproxy listens."""

    @property
    def output(self) -> str:
        return "".join(self._lines.copy())

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        return self._process.pid

    def __enter__(self) -> ProxyProcess:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start it, and wait until it listens, or not if it is lazy."""
        self._launch(lazy=self._lazy)
        self._reader = threading.Thread(target=self._keep, name="toolfix-keeper", daemon=True)
        if not self._lazy and not self._hear():
            raise ProxyFailed(self.output)
        self._reader.start()

    def _launch(self, *, lazy: bool) -> None:
        self.port = 0
        self._lines.clear()
        descriptor = self._listener.fileno() if self._listener else None
        wanted = {"arguments": self._arguments, "listener": descriptor, "lazy": lazy}
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            # Not on the command line: other users of the machine see that, and there may be a password among them.
            env={**self._environment, VARIABLE: json.dumps(wanted)},
            pass_fds=(descriptor,) if descriptor else (),
            # Ctrl-C in the terminal is the command's own.
            start_new_session=True,
        )

    def _hear(self) -> bool:
        """Read the log until mitmproxy listens, or to its end; return whether it listens."""
        for line in self._process.stdout or ():
            if line.startswith(STARTED):
                self.port = int(line.removeprefix(STARTED))
                return True
            self._lines.append(line)
            if self._sink:
                self._sink(line)
        return False

    def _keep(self) -> None:
        """Read the log, and start mitmdump again a few times if it ends by itself and clients can wait meanwhile."""
        for left in range(MAX_RESTARTS, -1, -1):
            while self._hear():
                pass
            status = self.wait()
            with self._changing:
                if self._stopping or not self._listener:
                    return
                why = f"signal {-status}" if status < 0 else f"exit status {status}"
                if status > 0 and not self.port:
                    why = ProxyFailed(self.output).why.rstrip(".")
                what_now = "answers under way are lost. Starting it again."
                if left:
                    self._launch(lazy=True)
                else:
                    # Who connects from now on gets an error and does not wait.
                    self._listener.close()
                    what_now = "the agent's requests will fail from now on."
            remark(f"the proxy has ended ({why}); {what_now}")

    def wait(self, timeout: float | None = None) -> int:
        """Wait until mitmdump ends by itself; return its exit status."""
        return self._process.wait(timeout)

    def stop(self) -> None:
        with self._changing:
            self._stopping = True
            self._process.terminate()
        try:
            self.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
        if self._reader.is_alive():
            self._reader.join(10)


def listen(port: int) -> socket.socket:
    """A socket on this port of 127.0.0.1, or on a free one if it is 0."""
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as error:
        why = os.strerror(error.errno or 0).lower()
        words = f"port {port} cannot be used ({why}): leave --port out for a free one, or name another."
        raise click.ClickException(words) from None
