"""A mitmproxy script beside the addon: tells what the proxy holds on to, and brings about what a network cannot.

Loaded in front of the addon, so that the clocks that the addon takes are the ones that can be turned. Answers on a
loopback port of its own, one JSON object a line: an order in, what was counted out.
"""

from __future__ import annotations

import asyncio
import ctypes
import errno
import gc
import json
import logging
import os
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from mitmproxy.addons import script

logger = logging.getLogger("probe")
script.ReloadInterval = 0.05  # A second is long where it is waited for.

OURS = ("Response", "BodyStream", "Ledger", "FlowState", "ResponsesSocket", "Exchange")
"""The classes of which one object is made for an answer, and which must be gone when it is over."""


def counted() -> dict[str, Any]:
    """What there is now, after a thorough clean-up."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    kinds = Counter(type(thing).__name__ for thing in gc.get_objects() if _is_ours(type(thing)))
    return {
        "tasks": len(asyncio.all_tasks()),
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "threads": threading.active_count(),
        "objects": sum(kinds.values()),
        "resident": int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE"),
        "kinds": dict(kinds),
        "names": sorted(task.get_name() for task in asyncio.all_tasks()),
    }


def _is_ours(kind: type) -> bool:
    return kind.__name__ in OURS and kind.__module__.startswith(("toolcalls.", "__mitmproxy_script__"))


class Clocks:
    """The time of day jumps for everybody. The other clock jumps for the addon alone: asyncio lives by it."""

    def __init__(self) -> None:
        self.day = 0.0
        self.ticks = 0.0
        self.stopped_at: float | None = None
        """The time at which the addon's clock stands still."""
        real_time, real_monotonic = time.time, time.monotonic

        def monotonic() -> float:
            asking = str(sys._getframe(1).f_globals.get("__name__", ""))
            if not asking.startswith("toolcalls"):
                return real_monotonic()
            return (real_monotonic() if self.stopped_at is None else self.stopped_at) + self.ticks

        time.time = lambda: real_time() + self.day
        time.monotonic = monotonic


class Disk:
    """The disk as the recorder sees it: files below a folder cannot be opened, or take no more bytes."""

    def __init__(self) -> None:
        self.state = "fine"
        self.folder = "\0"
        self._open, self._mkdir = os.open, os.mkdir
        os.open = self._opened  # type: ignore[assignment]
        os.mkdir = self._made  # type: ignore[assignment]

    def _concerns(self, path: Any, flags: int = os.O_WRONLY) -> bool:
        writes = flags & (os.O_WRONLY | os.O_RDWR)
        return bool(writes) and isinstance(path, (str, os.PathLike)) and str(path).startswith(self.folder)

    def _opened(self, path: Any, flags: int, *more: Any, **named: Any) -> int:
        if self._concerns(path, flags) and self.state == "full":
            # The kernel's own refusal, at the write and not before.
            return self._open("/dev/full", os.O_WRONLY)
        if self._concerns(path, flags) and self.state == "read-only":
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
        return self._open(path, flags, *more, **named)

    def _made(self, path: Any, *more: Any, **named: Any) -> None:
        if self._concerns(path) and self.state == "read-only":
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
        self._mkdir(path, *more, **named)


class Steps:
    """The longest that the loop was busy with one thing, in seconds of the processor: so long every stream waits."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._known = False

    def take(self) -> float:
        """Since the last time; the first time it only begins to look."""
        if not self._known:
            self._known = True
            run = asyncio.Handle._run  # type: ignore[attr-defined]

            def timed(handle: asyncio.Handle) -> None:
                before = time.thread_time()
                run(handle)
                self.longest = max(self.longest, time.thread_time() - before)

            asyncio.Handle._run = timed  # type: ignore[attr-defined]
        longest, self.longest = self.longest, 0.0
        return longest


class Probe:
    def __init__(self) -> None:
        self.steps = Steps()
        self.clocks = Clocks()
        self.disk = Disk()
        self.server: asyncio.Server | None = None

    async def running(self) -> None:
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        logger.info(f"probe at {self.server.sockets[0].getsockname()[1]}.")

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await self._line(reader):
            order = json.loads(line)
            self.clocks.day = order.get("day", self.clocks.day)
            if "stopped" in order:
                self.clocks.stopped_at = time.monotonic() if order["stopped"] else None
            self.clocks.ticks = order.get("ticks", self.clocks.ticks)
            self.disk.state = order.get("disk", self.disk.state)
            self.disk.folder = order.get("folder", self.disk.folder)
            # Counting costs a tenth of a second: not where the clocks are only turned.
            steps = {"longest": self.steps.take()} if "steps" in order else {}
            writer.write(json.dumps(steps if order else counted()).encode() + b"\n")
            await writer.drain()
        writer.close()

    async def _line(self, reader: asyncio.StreamReader) -> bytes:
        try:
            return await reader.readline()
        except asyncio.CancelledError:  # The proxy ends: no traceback of ours in its log.
            return b""


addons = [Probe()]
