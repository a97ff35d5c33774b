"""Writes recordings, one directory for each flow, in a thread of its own, so that no stream waits for a disk.

A flow is written when it is over, or when the proxy ends: then as far as it has come, as one that broke. A flow that
is larger than what is kept of it is not recorded, and the log says so.
"""

from __future__ import annotations

import logging
import platform
import queue
import re
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from typing import Any

from .. import __version__
from ..outcome import Outcome
from ..policy import BY_NAME
from ..request.mend import Changed
from ..request.request import seed_of
from . import store
from .redact import redact_bytes

logger = logging.getLogger("toolfix")

MAX_KEPT = 64 * 1024 * 1024
"""The most bytes kept of a response, for its recording and for mitmproxy's own views."""
MAX_DIRECTORY = 2 * 1024 * 1024 * 1024
"""The most bytes in the directory of recordings. At the limit recording stops; nothing is deleted."""
LOOK_AGAIN_SECONDS = 30.0
"""The time after which a full directory is measured again."""
MAX_BYTES = 256 * 1024 * 1024
"""The most bytes that may wait to be written."""
STEP_BACK_SECONDS = 0.0005
LAST_SECONDS = 20.0
"""How long the end of the proxy waits for recordings that are still to be written."""


@dataclass(slots=True)
class Captured:
    """Chunks, and the times at which they passed if these are given, up to a limit. The chunks are not copied."""

    limit: int = field(default_factory=lambda: MAX_KEPT)
    chunks: list[bytes] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    size: int = 0

    @property
    def complete(self) -> bool:
        return self.size <= self.limit

    def add(self, chunk: bytes, when: float | None = None) -> None:
        self.size += len(chunk)
        if self.size > self.limit:
            return
        self.chunks.append(chunk)
        if when is not None:
            self.times.append(when)

    def pass_on(self, chunk: bytes) -> list[bytes]:
        """A stream callable of mitmproxy that keeps every chunk and passes it unchanged."""
        self.add(chunk)
        return [chunk] if chunk else []

    def joined(self) -> bytes:
        return b"".join(self.chunks)


@dataclass(slots=True, eq=False)
class Exchange:
    """Everything about one flow that a recording keeps. The bytes are not copied."""

    flow: dict[str, Any] = field(default_factory=dict)
    """What flow.json says of the request and of the response of the host, even if the client got another one."""
    id: str = ""
    started: float = 0.0
    options: dict[str, str] = field(default_factory=dict)
    request: bytes = b""
    changed: Changed | None = None
    """The mended request, if the request was changed."""
    encoding: str = ""
    before: Captured = field(default_factory=Captured)
    """What has arrived so far, without its content encoding."""
    after: Captured = field(default_factory=Captured)
    """What was sent to the client."""
    outcomes: list[Outcome] = field(default_factory=list)
    suffix: str = ""
    """The suffix of the bodies; empty if it is told by what arrives."""
    broken: bool = False
    """The connection broke before the end of the answer, so what was held never reached the client."""
    over: bool = False
    """The flow is over: nothing more will be added."""

    @property
    def size(self) -> int:
        return len(self.request) + sum(min(body.size, MAX_KEPT) for body in (self.before, self.after))

    def add(self, chunk: bytes, out: list[bytes], when: float | None = None) -> None:
        """Keep a chunk that arrived, at what time if that is wanted, and the pieces that were sent in return."""
        if chunk:
            self.before.add(chunk, when)
        for piece in out:
            self.after.add(piece)

    def as_one_chunk(self, kept: Captured) -> bytes:
        """One of the bodies, kept as one chunk from now on, so that the flow and both bodies share one copy."""
        body = kept.joined()
        for each in (self.before, self.after):
            if each is kept or each.joined() == body:
                each.chunks = [body]
        return body


class Recorder:
    """Writes recordings into a directory that only the user can read."""

    def __init__(self, directory: str) -> None:
        self.directory = Path(directory).expanduser()
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        store.make_private(self.directory)
        probe = self.directory / ".toolfix"
        store.private_file(probe, b"")
        probe.unlink()
        self.written = 0
        self.lost = 0
        self._problem = ""
        """Why recordings are lost at the moment; empty while none is."""
        self._used, self._measured = MAX_DIRECTORY, -LOOK_AGAIN_SECONDS
        """The size of the directory, and when it was measured; it counts as full until then."""
        self._lock = threading.Lock()
        self._live: set[Exchange] = set()
        self._queue: queue.SimpleQueue[Exchange | None] = queue.SimpleQueue()
        self._waiting = 0
        """The bytes in the queue."""
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="toolfix-record", daemon=True)
        self._thread.start()

    # Called by the proxy, which never waits

    def begin(self, exchange: Exchange) -> None:
        """Take a flow whose answer begins, so that it is written even if the proxy ends before it."""
        self._live.add(exchange)

    def write(self, exchange: Exchange) -> None:
        """Take a flow that is over."""
        exchange.over = True
        self._offer(exchange)

    def close(self) -> None:
        """Write everything that waits, and what has arrived of the flows that are not over."""
        for exchange in list(self._live):
            if exchange.before.chunks:
                self._offer(exchange)
        self._closing = True
        self._queue.put(None)
        self._thread.join(LAST_SECONDS)
        if self._thread.is_alive():
            logger.error(f"toolfix gave up writing recordings to {self.directory}: the disk does not respond.")

    def _offer(self, exchange: Exchange) -> None:
        self._live.discard(exchange)
        if not (exchange.before.complete and exchange.after.complete):
            return self._lose(f"an answer from {exchange.flow['host']} has more than {MAX_KEPT // 2**20} MiB")
        with self._lock:
            fits = not self._closing and self._waiting + exchange.size <= MAX_BYTES
            self._waiting += exchange.size if fits else 0
        if not fits:
            return self._lose("too much is waiting to be written")
        return self._queue.put(exchange)

    # The thread

    def _run(self) -> None:
        while (exchange := self._queue.get()) is not None:
            try:
                self._put(exchange)
            except OSError as error:
                self._lose(error.strerror or str(error))
            except Exception:
                logger.exception("toolfix could not write a recording; the answer was not touched.")
            with self._lock:
                self._waiting -= exchange.size

    def _put(self, exchange: Exchange) -> None:
        now = time.monotonic()
        if self._used + exchange.size > MAX_DIRECTORY and now - self._measured > LOOK_AGAIN_SECONDS:
            self._measured = now
            self._used = sum(path.stat().st_size for path in self.directory.rglob("*") if path.is_file())
        if self._used + exchange.size > MAX_DIRECTORY:
            full = f"it holds {MAX_DIRECTORY // 2**30} GiB of recordings: move or delete some to go on recording"
            return self._lose(full)
        self._used += write_recording(self.directory / directory_name(exchange), exchange, self._step_back)
        self.written += 1
        if self._problem:
            logger.info(f"toolfix records to {self.directory} again.")
            self._problem = ""
        return None

    def _step_back(self) -> None:
        """Let the event loop run."""
        if not self._closing:
            time.sleep(STEP_BACK_SECONDS)

    def _lose(self, why: str) -> None:
        """Log one line for each kind of problem, however many recordings are lost."""
        if why != self._problem:
            self._problem = why
            logger.error(
                f"toolfix cannot write recordings to {self.directory} at the moment ({why}); "
                "answers are still mended."
            )
        self.lost += 1


def directory_name(exchange: Exchange) -> str:
    """A name that sorts by time, and that is safe whatever the name of the host is."""
    moment = datetime.fromtimestamp(exchange.started, UTC).strftime("%Y%m%d-%H%M%S")
    host = re.sub(r"[^A-Za-z0-9.-]", "_", exchange.flow["host"])[:60]
    return f"{moment}-{host}-{exchange.flow['protocol']}-{re.sub(r'[^A-Za-z0-9]', '', exchange.id)[:8]}"


def write_recording(directory: Path, exchange: Exchange, step_back: Callable[[], None] = lambda: None) -> int:
    """Write the files of a recording, each whole or not at all, and return the number of bytes."""
    new = not directory.exists()
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    used = 0
    try:
        for name, data in _files(exchange).items():
            step_back()
            masked = redact_bytes(data, step_back)
            store.private_file(directory / name, masked)
            used += len(masked)
    except OSError:
        if new:
            shutil.rmtree(directory, ignore_errors=True)
        raise
    return used


def _files(exchange: Exchange) -> dict[str, bytes]:
    """Each file by its name. flow.json is the last one, because a directory without it is not a recording."""
    arrived, changed = exchange.before, exchange.changed
    before = arrived.joined()
    suffix = exchange.suffix or store.suffix_of(before)
    offsets = accumulate(map(len, arrived.chunks), initial=0)
    chunks = [
        {"offset": offset, "ms": round((when - arrived.times[0]) * 1000, 1)}
        for offset, when, _ in zip(offsets, arrived.times, arrived.chunks, strict=False)
    ]
    return {
        "request.json": exchange.request[:MAX_KEPT],
        **({store.REQUEST_AFTER: changed.body} if changed else {}),
        f"before{suffix}": before,
        f"after{suffix}": exchange.after.joined(),
        "calls.json": store.pretty(store.calls_json(exchange.outcomes)),
        # One chunk per line.
        "flow.json": _A_CHUNK.sub(rb"{\1, \2}", store.pretty({**_flow(exchange), "chunks": chunks})),
    }


_A_CHUNK = re.compile(rb'\{\s+("offset": [0-9]+),\s+("ms": [0-9.]+)\s+\}')


def _flow(exchange: Exchange) -> dict[str, Any]:
    options = {name: text for name, text in exchange.options.items() if text != BY_NAME[name].default}
    options.pop("toolfix_record", None)
    flow: dict[str, Any] = {
        **exchange.flow,
        "started": datetime.fromtimestamp(exchange.started, UTC).isoformat(),
        "seed": seed_of(exchange.request),
        "policy": options,
        "versions": {"toolfix": __version__, "python": platform.python_version()},
        "broken": exchange.broken or not exchange.over,
    }
    if changed := exchange.changed:
        given_back = {str(number): asdict(back) for number, back in changed.given_back.items()}
        seldom = {"request_steps": changed.steps, "given_back": given_back, "refusals": changed.reasons}
        flow |= {name: value for name, value in seldom.items() if value}
    return flow
