"""A thread that writes recordings one after another, with a bounded queue. Streams never wait for it.

A job that does not fit into the queue is lost, with a log line. The thread pauses again and again while it works,
because Python runs only one thread at a time and a stream must not wait for a recording.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

logger = logging.getLogger("toolfix")

MAX_JOBS = 512
MAX_BYTES = 256 * 1024 * 1024
"""The most bytes that may wait to be written."""
STEP_BACK_SECONDS = 0.0005
TICK_SECONDS = 0.5
LAST_SECONDS = 20.0
"""How long the end of the proxy waits for recordings that are still to be written."""

Job = TypeVar("Job")


class BackgroundWriter(Generic[Job]):
    """Calls `write` for each job, and `tick` about twice a second, in a thread of its own."""

    def __init__(self, write: Callable[[Job], None], tick: Callable[[], None], name: str) -> None:
        self._write = write
        self._tick = tick
        self._queue: queue.Queue[tuple[Job, int] | None] = queue.Queue(MAX_JOBS)
        self._bytes = 0
        self._lock = threading.Lock()
        self._hurry = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def offer(self, job: Job, size: int) -> bool:
        """Take a job; return False at once if too much is waiting."""
        with self._lock:
            if self._hurry or self._bytes + size > MAX_BYTES:
                return False
            try:
                self._queue.put_nowait((job, size))
            except queue.Full:
                return False
            self._bytes += size
            return True

    def step_back(self) -> None:
        """Let the event loop run. A job calls this now and then."""
        if not self._hurry:
            time.sleep(STEP_BACK_SECONDS)

    def close(self) -> bool:
        """Write everything that waits; False if that took too long and was given up."""
        self._hurry = True
        with contextlib.suppress(queue.Full):
            self._queue.put(None, timeout=LAST_SECONDS)
        self._thread.join(LAST_SECONDS)
        return not self._thread.is_alive()

    def _run(self) -> None:
        due = time.monotonic() + TICK_SECONDS
        while True:
            with contextlib.suppress(queue.Empty):
                job = self._queue.get(timeout=max(0.0, due - time.monotonic()))
                if job is None:
                    return
                self._do(lambda: self._write(job[0]))  # noqa: B023
                with self._lock:
                    self._bytes -= job[1]
            if time.monotonic() >= due:
                self._do(self._tick)
                due = time.monotonic() + TICK_SECONDS

    def _do(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception:
            logger.exception("toolfix could not write a recording; the answer was not touched.")
