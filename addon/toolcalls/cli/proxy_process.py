"""Runs a real mitmdump with the addon as a child process, on a free loopback port, and starts it again if it dies."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from .mitmdump_child import ARGUMENTS, LISTENER

SCRIPT = Path(__file__).resolve().parents[2] / "toolfix.py"
"""The addon beside the engine: in a clone `addon/toolfix.py`, in an installation the module `toolfix`."""

CHILD = Path(__file__).with_name("mitmdump_child.py")

_LISTENING = re.compile(r"listening at \S*?:(\d+)")
_STARTUP_ERROR = re.compile(r"error in script|Errors? logged during startup|is not allowed: |cannot be written")
_STAMP = re.compile(r"^(\[[\d:.]+\]\s*|\S*mitmdump_child\.py: )")
_TELLING = re.compile(r"is not allowed|address already in use|cannot be written|[Uu]nknown option|[Ee]rror")
_GRACE = 0.2
_LAST_LINES = 200
MAX_RESTARTS = 3
_HANDS_OVER = os.name == "posix"
"""Whether a socket can be handed to a child process. On Windows the proxy opens its port itself, at once."""


class ProxyFailed(click.ClickException):
    """mitmdump did not start; `why` is the line of its output that says why."""

    def __init__(self, output: str) -> None:
        lines = [line for line in (_STAMP.sub("", line).strip() for line in output.splitlines()) if line]
        telling = next((line for line in lines if _TELLING.search(line)), lines[-1] if lines else "it said nothing")
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
        scripts = ("-s", str(script)) if script else ()
        self._command = [sys.executable, "-P", str(CHILD), "--set", f"confdir={confdir}", *listen]
        self._environment = {**os.environ, "PYTHONUNBUFFERED": "1", **(environment or {})}
        # Not on the command line: other users of the machine see that, and there may be a password among them.
        self._environment[ARGUMENTS] = json.dumps([*scripts, *arguments])
        self._inherited = (listener.fileno(),) if listener else ()
        if listener:
            self._environment[LISTENER] = str(listener.fileno())
        self._sink = sink
        self._process: subprocess.Popen[str] | None = None
        self._lines: deque[str] = deque(maxlen=_LAST_LINES if sink else None)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._listens_or_ended = threading.Event()
        self.ca = confdir / "mitmproxy-ca-cert.pem"
        self.port = 0

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

    def start(self, timeout: float = 60.0) -> None:
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=self._environment,
            pass_fds=self._inherited,
            start_new_session=bool(self._inherited),
        )
        self._reader.start()
        self._listens_or_ended.wait(timeout)
        # mitmdump reports that it listens before it finds a bad script or option; then it ends.
        status = None
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = self._process.wait(timeout if _STARTUP_ERROR.search(self.output) else _GRACE)
        # One that was killed had started: it may be killed later too.
        if not self.port or (status is not None and status >= 0):
            self.stop()
            raise ProxyFailed(self.output)

    def _read(self) -> None:
        assert self._process and self._process.stdout
        for line in self._process.stdout:
            self._lines.append(line)
            if not self.port and (found := _LISTENING.search(line)):
                self.port = int(found[1])
                self._listens_or_ended.set()
            if self._sink:
                self._sink(line)
        self._listens_or_ended.set()

    def wait(self, timeout: float | None = None) -> int:
        """Wait until mitmdump ends by itself; return its exit status."""
        if self._process is None:
            return 0
        status = self._process.wait(timeout)
        self._let_go()
        return status

    def _let_go(self) -> None:
        if self._process and self._process.stdin:
            self._reader.join(5)
            self._process.stdin.close()

    def stop(self) -> None:
        if self._process and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(10)
        self._let_go()


class Keeper:
    """Keeps a proxy running on a port that it holds itself. `make` makes one; `say` tells the user.

    A proxy is started when a client waits for one, because most of a short command's time would be its start.
    """

    def __init__(self, make: Callable[..., ProxyProcess], say: Callable[[str], None], port: int = 0) -> None:
        self._listener = socket.create_server(("127.0.0.1", port))
        self._port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}"
        self._make = make
        self._say = say
        self._wake, self._woken = socket.socketpair()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="toolfix-keeper", daemon=True)
        self._proxy: ProxyProcess | None = None

    def start(self, *, at_once: bool = False) -> None:
        """`at_once`: start the proxy now; raises ProxyFailed if it does not start."""
        if not _HANDS_OVER:
            self._listener.close()
        if at_once or not _HANDS_OVER:
            self._start_proxy()
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._wake.send(b"x")
        if self._proxy:
            self._proxy.stop()
        if self._thread.is_alive():
            self._thread.join(40)
        for one in (self._listener, self._wake, self._woken):
            one.close()

    def _start_proxy(self) -> ProxyProcess:
        if _HANDS_OVER:
            self._proxy = self._make(listener=self._listener)
        else:
            self._proxy = self._make(listen=("--listen-host", "127.0.0.1", "--listen-port", str(self._port)))
        self._proxy.start()
        if self._stopping.is_set():
            self._proxy.stop()
        return self._proxy

    def _keep(self) -> None:
        failing = "requests of the agent will fail from now on."
        for left in range(MAX_RESTARTS, -1, -1):
            if self._proxy is None and _HANDS_OVER:
                select.select([self._listener, self._woken], [], [])
            if self._stopping.is_set():
                break
            try:
                status = (self._proxy or self._start_proxy()).wait()
            except ProxyFailed as failed:
                if not self._stopping.is_set():
                    self._say(f"the proxy does not start, {failing} {failed.why}")
                break
            if self._stopping.is_set():
                break
            self._proxy = None
            how = f"signal {-status}" if status < 0 else f"exit status {status}"
            last = "answers under way are lost. Starting it again." if left else failing
            self._say(f"the proxy has ended ({how}); {last}")
        # Who connects from now on gets an error and does not wait.
        self._listener.close()
