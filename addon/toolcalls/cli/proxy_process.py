"""A real mitmdump with the addon as a child process, on a free loopback port."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

SCRIPT = Path(__file__).resolve().parents[2] / "toolfix.py"
"""The addon beside the engine: in a clone `addon/toolfix.py`, in an installation the module `toolfix`."""

_LISTENING = re.compile(r"listening at \S*?:(\d+)")
_STARTUP_ERROR = re.compile(r"error in script|Errors? logged during startup|: say |cannot be written")
_GRACE = 0.2
_MITMDUMP = "from mitmproxy.tools.main import mitmdump; mitmdump()"


class ProxyFailed(Exception):
    """mitmdump did not start; the message holds what it said."""


class ProxyProcess:
    """`with ProxyProcess(...) as proxy:` is listening at `proxy.port`."""

    def __init__(
        self,
        confdir: Path,
        arguments: Sequence[str] = (),
        *,
        script: Path | None = SCRIPT,
        python: str = sys.executable,
        listen: Sequence[str] = ("--listen-host", "127.0.0.1", "--listen-port", "0"),
        environment: dict[str, str] | None = None,
    ) -> None:
        scripts = ("-s", str(script)) if script else ()
        self._command = [
            python, "-c", _MITMDUMP, "--set", f"confdir={confdir}", *listen, *scripts, *arguments,
        ]  # fmt: skip
        self._environment = {**os.environ, "PYTHONUNBUFFERED": "1", **(environment or {})}
        self._process: subprocess.Popen[str] | None = None
        self._lines: list[str] = []
        self._reader: threading.Thread | None = None
        self.ca = confdir / "mitmproxy-ca-cert.pem"
        self.port = 0

    @property
    def output(self) -> str:
        return "".join(self._lines)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    def __enter__(self) -> ProxyProcess:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self, timeout: float = 30.0) -> None:
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=self._environment,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        deadline = time.monotonic() + timeout
        while not (found := _LISTENING.search(self.output)):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise ProxyFailed(self.output)
            time.sleep(0.02)
        self.port = int(found[1])
        # mitmdump says that it listens before it finds out that a script or an option is wrong, and then ends.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout if _STARTUP_ERROR.search(self.output) else _GRACE)
            self.stop()
            raise ProxyFailed(self.output)

    def _read(self) -> None:
        if self._process and self._process.stdout:
            for line in self._process.stdout:
                self._lines.append(line)

    def wait(self, timeout: float) -> int:
        """Wait until mitmdump ends by itself; its exit status."""
        if self._process is None:
            return 0
        status = self._process.wait(timeout)
        if self._reader:
            self._reader.join(5)
        return status

    def stop(self) -> None:
        if self._process and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(10)
        if self._reader:
            self._reader.join(5)
