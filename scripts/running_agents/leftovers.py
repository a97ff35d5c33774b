"""Stops the processes that a session leaves running, such as the daemon that Cline starts."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

PATIENCE = 3.0


def stop_leftovers(home: Path) -> list[int]:
    """Stop the processes with this home directory, which only one session used; return their ids."""
    found = _living_in(home)
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in _living_in(home):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        deadline = time.monotonic() + PATIENCE
        while _living_in(home) and time.monotonic() < deadline:
            time.sleep(0.05)
    return found


def _living_in(home: Path) -> list[int]:
    """The processes of this user with that home in their environment; none if the system has no /proc."""
    mark = f"HOME={home}".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            lives = mark in (process / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if lives and int(process.name) != os.getpid():
            found.append(int(process.name))
    return found
