"""Runs a real mitmdump with the addon as a child process, on a loopback port."""

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
from . import remark
from .mitmdump_child import STARTED, VARIABLE

SCRIPT = Path(__file__).resolve().parents[2] / "toolfix.py"
"""The addon beside the engine: in a clone `addon/toolfix.py`, in an installation the module `toolfix`."""

CHILD = Path(__file__).with_name("mitmdump_child.py")

_STAMP = re.compile(r"^(\[[\d:.]+\]\s*|\S*mitmdump_child\.py: )")
_TELLING = re.compile(r"[Uu]nknown option|[Ee]rror")
_LAST_LINES = 200


class ProxyFailed(click.ClickException):
    """mitmdump did not start, for the reason that a line of its output gives."""

    def __init__(self, output: str) -> None:
        lines = [line for line in (_STAMP.sub("", line).strip() for line in output.splitlines()) if line]
        ours = [line.removeprefix(LOGGED) for line in lines if line.startswith(LOGGED)]
        telling = [*ours, *filter(_TELLING.search, lines), *lines[-1:], "it said nothing"][0]
        super().__init__(f"the proxy did not start: {telling.rstrip('.')}.")


class ProxyProcess:
    """A mitmdump: inside `with ProxyProcess(...) as proxy:` clients reach it on `proxy.port`.

    `sink` gets each line of the log; only the last ones are kept then. If it is `lazy`, mitmproxy starts with the
    first client, which waits for it.
    """

    def __init__(
        self,
        confdir: Path,
        arguments: Sequence[str] = (),
        *,
        script: Path | None = SCRIPT,
        port: int = 0,
        environment: Mapping[str, str] | None = None,
        sink: Callable[[str], object] | None = None,
        lazy: bool = False,
    ) -> None:
        # Some modes listen to UDP too.
        own = ("--set", f"confdir={confdir}", "--listen-host", "127.0.0.1", "--listen-port", "0")
        self._command = [sys.executable, "-P", str(CHILD), *own]
        self._arguments = [*(("-s", str(script)) if script else ()), *arguments]
        self._environment = {**os.environ, "PYTHONUNBUFFERED": "1", **(environment or {})}
        self._sink = sink
        self._lazy = lazy
        self._lines: deque[str] = deque(maxlen=_LAST_LINES if sink else None)
        self._stopping = False
        self.ca = confdir / "mitmproxy-ca-cert.pem"
        self.port = port
        """0 for a free one, until it is started."""

    @property
    def output(self) -> str:
        return "".join(self._lines.copy())

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> ProxyProcess:
        """Start it, and wait until it listens, or not if it is lazy."""
        with listen(self.port) as listener:
            self.port = listener.getsockname()[1]
            wanted = {"arguments": self._arguments, "listener": listener.fileno(), "lazy": self._lazy}
            self.process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                # Not on the command line: other users of the machine see that, and there may be a password in it.
                env={**self._environment, VARIABLE: json.dumps(wanted)},
                pass_fds=(listener.fileno(),),
                # Ctrl-C in the terminal is the command's own.
                start_new_session=True,
            )
        self._reader = threading.Thread(target=self._keep, name="toolfix-keeper", daemon=True)
        if not self._lazy and not self._hear():
            raise ProxyFailed(self.output)
        self._reader.start()
        return self

    __enter__ = start

    def _hear(self) -> bool:
        """Read the log until mitmproxy listens, or to its end; return whether it listens."""
        for line in self.process.stdout or ():
            if line == STARTED:
                return True
            self._lines.append(line)
            if self._sink:
                self._sink(line)
        return False

    def _keep(self) -> None:
        """Read the log to its end, and say so if mitmdump ends by itself."""
        listened = not self._lazy or self._hear()
        self._hear()
        status = self.process.wait()
        if not self._stopping:
            how = f"signal {-status}" if status < 0 else f"exit status {status}"
            ended = f"the proxy has ended ({how}); the agent's requests will fail from now on."
            remark(ended if listened else ProxyFailed(self.output).message)

    def stop(self, *_: object) -> None:
        self._stopping = True
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
        if self._reader.is_alive():
            self._reader.join(10)

    __exit__ = stop


def listen(port: int) -> socket.socket:
    """A socket on this port of 127.0.0.1, or on a free one if it is 0."""
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as error:
        why = os.strerror(error.errno or 0).lower()
        words = f"port {port} cannot be used ({why}): leave --port out for a free one, or name another."
        raise click.ClickException(words) from None
