"""Runs a real mitmdump with the addon as a child process, on a free loopback port, and starts it again if it dies."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import click

from ..policy import LOGGED
from .mitmdump_child import VARIABLE

SCRIPT = Path(__file__).resolve().parents[2] / "toolfix.py"
"""The addon beside the engine: in a clone `addon/toolfix.py`, in an installation the module `toolfix`."""

CHILD = Path(__file__).with_name("mitmdump_child.py")

_LISTENING = re.compile(r"listening at \S*?:(\d+)")
_STARTUP_ERROR = re.compile(rf"error in script|Errors? logged during startup|{LOGGED}")
_STAMP = re.compile(r"^(\[[\d:.]+\]\s*|\S*mitmdump_child\.py: )")
_TELLING = re.compile(r"address already in use|[Uu]nknown option|[Ee]rror")
_GRACE = 0.2
_LAST_LINES = 200
MAX_RESTARTS = 3


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

    `sink` gets each line of the log; only the last ones are kept then. `listener`: the socket of a `Keeper`; Ctrl-C
    in the terminal does not reach such a proxy.
    """

    def __init__(
        self,
        confdir: Path,
        arguments: Sequence[str] = (),
        *,
        script: Path | None = SCRIPT,
        listen: Sequence[str] = ("--listen-host", "127.0.0.1", "--listen-port", "0"),
        environment: dict[str, str] | None = None,
        sink: Callable[[str], object] | None = None,
        listener: socket.socket | None = None,
    ) -> None:
        self._command = [sys.executable, "-P", str(CHILD), "--set", f"confdir={confdir}", *listen]
        self._arguments = [*(("-s", str(script)) if script else ()), *arguments]
        self._environment = {**os.environ, "PYTHONUNBUFFERED": "1", **(environment or {})}
        self._listener = listener
        self._sink = sink
        self._process: subprocess.Popen[str] | None = None
        self._lines: deque[str] = deque(maxlen=_LAST_LINES if sink else None)
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
        return self._process.pid if self._process else 0

    def __enter__(self) -> ProxyProcess:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self, timeout: float = 60.0, *, at_once: bool = True) -> None:
        """Start it, and wait until it listens. If not `at_once`, that is only when the first client comes."""
        self.port = 0
        self._lines.clear()
        self._listens_or_ended = threading.Event()
        descriptor = self._listener.fileno() if self._listener else None
        wanted = {"arguments": self._arguments, "listener": descriptor, "at_once": at_once}
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
            start_new_session=bool(descriptor),
        )
        self._reader = threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True)
        self._reader.start()
        if not at_once:
            return
        self._listens_or_ended.wait(timeout)
        # mitmdump reports that it listens before it finds a bad script or option; then it ends.
        status = None
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = self._process.wait(timeout if _STARTUP_ERROR.search(self.output) else _GRACE)
        # One that was killed had started: it may be killed later too.
        if not self.port or (status is not None and status >= 0):
            self.stop()
            raise ProxyFailed(self.output)

    def _read(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._lines.append(line)
            if not self.port and (found := _LISTENING.search(line)):
                self.port = int(found[1])
                self._listens_or_ended.set()
            if self._sink:
                self._sink(line)
        self._listens_or_ended.set()

    def wait(self, timeout: float | None = None) -> int:
        """Wait until mitmdump ends by itself; return its exit status."""
        if self._process is None or self._process.stdin is None:
            return 0
        status = self._process.wait(timeout)
        self._reader.join(5)
        self._process.stdin.close()
        return status

    def stop(self) -> None:
        if self._process and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self.wait(10)


def listen(port: int) -> socket.socket:
    """A socket on this port of 127.0.0.1, or on a free one if it is 0."""
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            words = f"port {port} is taken: leave --port out for a free one, or name another."
        else:
            words = f"port {port} cannot be used: {os.strerror(error.errno or 0).lower()}."
        raise click.ClickException(words) from None


class Keeper:
    """Keeps a proxy running that listens with this socket, so that its port stays. `say` tells the user."""

    def __init__(self, proxy: ProxyProcess, listener: socket.socket, say: Callable[[str], None]) -> None:
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        self._proxy = proxy
        self._listener = listener
        self._say = say
        self._changing = threading.Lock()
        self._stopping = False
        self._thread = threading.Thread(target=self._keep, name="toolfix-keeper", daemon=True)

    def start(self, *, at_once: bool = False) -> None:
        """Start the proxy. `at_once`: not with its first client but now; raises ProxyFailed if it does not start."""
        self._proxy.start(at_once=at_once)
        self._thread.start()

    def stop(self) -> None:
        with self._changing:
            self._stopping = True
            self._proxy.stop()
        if self._thread.is_alive():
            self._thread.join(40)
        self._listener.close()

    def _keep(self) -> None:
        failing = "the agent's requests will fail from now on."
        for left in range(MAX_RESTARTS, -1, -1):
            status = self._proxy.wait()
            with self._changing:
                if self._stopping:
                    return
                if not self._proxy.port and status > 0:
                    why = ProxyFailed(self._proxy.output).why
                    self._say(f"the proxy could not be started, so the agent's requests will fail: {why}")
                    break
                how = f"signal {-status}" if status < 0 else f"exit status {status}"
                last = "answers under way are lost. Starting it again." if left else failing
                self._say(f"the proxy has ended ({how}); {last}")
                if left:
                    self._proxy.start(at_once=False)
        # Who connects from now on gets an error and does not wait.
        self._listener.close()
