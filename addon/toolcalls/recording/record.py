"""Writes recordings, one directory for each flow, in a thread of its own, so that no stream waits for a disk.

What has arrived of a long flow is written after 2, 4, 8 … seconds, and everything when the flow is over. If the proxy
ends or is killed before that, its recording says that it is not complete.
"""

from __future__ import annotations

import logging
import platform
import re
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from .. import __version__
from ..outcome import Outcome
from ..policy import BY_NAME
from ..wire.encoding import Corrupt, Inflated, decoder
from . import frames, store
from .body_transcript import BodyTranscript
from .captured import MAX_KEPT, CapturedBytes
from .frames import SocketTranscript
from .redact import redact_bytes
from .writer import BackgroundWriter

logger = logging.getLogger("toolfix")

MAX_DIRECTORY = 2 * 1024 * 1024 * 1024
"""The most bytes in the directory of recordings. At the limit recording stops; nothing is deleted."""
LOOK_AGAIN_SECONDS = 30.0
"""The time after which a full directory is measured again."""
FIRST_PART_SECONDS = 2.0


@dataclass(slots=True)
class Exchange:
    """Everything about one flow that a recording keeps. The bytes are not copied."""

    protocol: str
    method: str
    host: str
    path: str
    status: int
    content_type: str
    encoding: str
    id: str
    seed: Callable[[], str]
    started: float
    options: dict[str, str]
    request: bytes
    transcript: BodyTranscript | SocketTranscript
    """What has arrived and what was sent so far."""
    outcomes: list[Outcome]
    broken: bool = False
    """The connection broke before the end of the answer, so what was held never reached the client."""
    over: bool = False
    """The flow is over: nothing more will be added."""
    request_after: bytes | None = None
    """The mended request, if the request was changed."""
    request_steps: dict[str, int] = field(default_factory=dict)
    """What was changed in the request, and how often."""
    refusals: dict[str, str] = field(default_factory=dict)
    """The reasons of earlier refusals that were added to the request, by the id of the call."""
    given_back: dict[str, Any] = field(default_factory=dict)
    """The reasoning and signatures that were given back to the host, by the number of the message."""

    @property
    def size(self) -> int:
        bodies = (self.transcript.before, self.transcript.after)
        return len(self.request) + sum(min(body.size, MAX_KEPT) for body in bodies)

    @property
    def most(self) -> int:
        """The most bytes kept of an answer. Fewer if recording was turned on while the answer was arriving."""
        return self.transcript.before.limit if isinstance(self.transcript.before, CapturedBytes) else MAX_KEPT

    @property
    def whole(self) -> bool:
        """Whether every byte was kept."""
        return self.transcript.before.complete and self.transcript.after.complete


class Recorder:
    """Writes recordings into a directory that only the user can read."""

    def __init__(self, directory: str) -> None:
        self.directory = Path(directory).expanduser()
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        probe = self.directory / ".toolfix"
        store.private_file(probe, b"")
        probe.unlink()
        self.written = 0
        self.lost = 0
        self._last_error = ""
        """Why recordings are lost at the moment; empty while none is."""
        self._lost_before = 0
        self._used: int | None = None
        self._measured = 0.0
        self._live: dict[int, tuple[Exchange, float, float]] = {}
        self._lock = threading.Lock()
        self._writer = BackgroundWriter(self._write, self._write_parts, "toolfix-record")

    def begin(self, exchange: Exchange) -> None:
        """Take a flow whose answer begins. Parts of it are written while it lasts."""
        with self._lock:
            self._live[id(exchange)] = (exchange, time.monotonic() + FIRST_PART_SECONDS, FIRST_PART_SECONDS)

    def write(self, exchange: Exchange) -> None:
        """Take a flow that is over."""
        exchange.over = True
        with self._lock:
            self._live.pop(id(exchange), None)
        if not exchange.whole:
            logger.warning(
                f"toolfix recorded only the first {exchange.most // 2**20} MiB of an answer from {exchange.host}; "
                "the client got all of it."
            )
        if not self._writer.offer(exchange, exchange.size):
            self._lose("too much is waiting to be written")

    def close(self) -> None:
        """Write everything that waits, and what has arrived of the flows that are not over."""
        with self._lock:
            parts = [exchange for exchange, _, _ in self._live.values()]
            self._live.clear()
        for exchange in parts:
            if not self._writer.offer(exchange, exchange.size):
                self._lose("too much is waiting to be written")
        if not self._writer.close():
            logger.error(f"toolfix gave up writing recordings to {self.directory}: the disk does not respond.")

    def _write_parts(self) -> None:
        """Write what has arrived of the flows that have lasted for some time."""
        now = time.monotonic()
        with self._lock:
            due = [exchange for exchange, at, _ in self._live.values() if at <= now]
            for exchange in due:
                wait = 2 * self._live[id(exchange)][2]
                self._live[id(exchange)] = (exchange, now + wait, wait)
        for exchange in due:
            if not exchange.over:
                self._put(exchange, over=False)

    def _write(self, exchange: Exchange) -> None:
        self._put(exchange, over=exchange.over)

    def _put(self, exchange: Exchange, *, over: bool) -> None:
        """Write a flow. `over`: it is complete. If it ends while a part is being written, it is written again."""
        try:
            if not self._has_room(exchange.size):
                full = f"it holds {MAX_DIRECTORY // 2**30} GiB of recordings: move or delete some to go on recording"
                return self._lose(full, over)
            used = write_recording(self.directory / directory_name(exchange), exchange, self._writer.step_back)
        except OSError as error:
            return self._lose(error.strerror or str(error), over)
        self._used = (self._used or 0) + used
        if over:
            self.written += 1
        if self._last_error:
            lost = self.lost - self._lost_before
            words = "1 recording was lost" if lost == 1 else f"{lost} recordings were lost"
            logger.info(f"toolfix records to {self.directory} again; {words}.")
            self._last_error = ""
        return None

    def _has_room(self, size: int) -> bool:
        now = time.monotonic()
        if self._used is None or (self._used + size > MAX_DIRECTORY and now - self._measured > LOOK_AGAIN_SECONDS):
            self._measured = now
            self._used = sum(store.size_of(path) for path in self.directory.rglob("*"))
        return self._used + size <= MAX_DIRECTORY

    def _lose(self, why: str, for_good: bool = True) -> None:
        """Log one line for each kind of problem, however many recordings are lost.

        `for_good`: this is a loss, not a part of a flow that will be written again.
        """
        if why != self._last_error:
            if not self._last_error:
                self._lost_before = self.lost
            self._last_error = why
            logger.error(
                f"toolfix cannot write recordings to {self.directory} at the moment ({why}); "
                "answers are still mended."
            )
        self.lost += for_good


def directory_name(exchange: Exchange) -> str:
    """A name that sorts by time, and that is safe whatever the name of the host is."""
    moment = datetime.fromtimestamp(exchange.started, UTC).strftime("%Y%m%d-%H%M%S")
    host = re.sub(r"[^A-Za-z0-9.-]", "_", exchange.host)[:60]
    return f"{moment}-{host}-{exchange.protocol}-{re.sub(r'[^A-Za-z0-9]', '', exchange.id)[:8]}"


def write_recording(directory: Path, exchange: Exchange, step_back: Callable[[], None] = lambda: None) -> int:
    """Write the files of a recording, each whole or not at all, and return the number of bytes.

    flow.json is the last one, because a directory without it is not a recording.
    """
    new = not directory.exists()
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    used = 0
    bodies = _bodies(exchange)
    try:
        for name, data in _files(exchange, bodies, step_back).items():
            step_back()
            masked = redact_bytes(data, step_back)
            store.private_file(directory / name, masked)
            used += len(masked)
        if not new:
            store.remove_others(directory, bodies.suffix)
    except OSError:
        if new:
            shutil.rmtree(directory, ignore_errors=True)
        raise
    return used


def _files(exchange: Exchange, bodies: _Bodies, step_back: Callable[[], None]) -> dict[str, bytes]:
    """The content of each file by its name, in the order in which they are written."""
    return {
        "request.json": exchange.request[:MAX_KEPT],
        **({store.REQUEST_AFTER: exchange.request_after} if exchange.request_after is not None else {}),
        f"before{bodies.suffix}": bodies.before,
        f"after{bodies.suffix}": bodies.after,
        "calls.json": store.pretty(store.calls_json(exchange.outcomes[:])),
        "flow.json": store.pretty_flow(_flow(exchange, bodies.over), bodies.chunks, step_back),
    }


class _Bodies(NamedTuple):
    """What has arrived and what was sent so far, of a flow that may not be over."""

    suffix: str
    over: bool
    before: bytes
    after: bytes
    chunks: list[store.Chunk]


def _bodies(exchange: Exchange) -> _Bodies:
    over, transcript = exchange.over, exchange.transcript
    if isinstance(transcript, SocketTranscript):
        before_frames, after_frames = transcript.before.frames[:], transcript.after.frames[:]
        start = before_frames[0].when if before_frames else 0.0
        return _Bodies(".jsonl", over, frames.lines(before_frames, start), frames.lines(after_frames, start), [])
    pieces = decoded(transcript.before, exchange.encoding)
    before = b"".join(pieces)
    chunks = _chunks(pieces, transcript.before.times[:])
    return _Bodies(store.suffix_of(before), over, before, transcript.after.joined(), chunks)


def decoded(kept: CapturedBytes, encoding: str) -> list[bytes]:
    """The upstream's chunks without their content encoding; after a chunk that cannot be decoded, as they arrived.

    They end at a chunk that inflates too much, because the answer was cut off there too, or at `MAX_KEPT` bytes.
    """
    undo = decoder(encoding)
    pieces: list[bytes] = []
    room = MAX_KEPT
    for chunk in kept.chunks[:]:
        try:
            piece = undo.decode(chunk) if undo else chunk
        except Inflated as error:
            pieces.append(error.before[: max(room, 0)])
            break
        except Corrupt:
            undo = None
            piece = chunk
        room -= len(piece)
        if room < 0:
            break
        pieces.append(piece)
    return pieces


def _chunks(pieces: list[bytes], times: list[float]) -> list[store.Chunk]:
    offset = 0
    chunks: list[store.Chunk] = []
    for chunk, when in zip(pieces, times, strict=False):  # A live flow may just be adding one.
        chunks.append({"offset": offset, "ms": round((when - times[0]) * 1000, 1)})
        offset += len(chunk)
    return chunks


def _flow(exchange: Exchange, over: bool) -> dict[str, Any]:
    changed = {name: text for name, text in exchange.options.items() if text != BY_NAME[name].default}
    changed.pop("toolfix_record", None)
    flow: dict[str, Any] = {
        "protocol": exchange.protocol,
        "method": exchange.method,
        "host": exchange.host,
        "path": exchange.path,
        "status": exchange.status,
        "content_type": exchange.content_type,
        "started": datetime.fromtimestamp(exchange.started, UTC).isoformat(),
        "seed": exchange.seed(),
        "policy": changed,
        "versions": {"toolfix": __version__, "python": platform.python_version()},
        "complete": over and exchange.whole,
        "broken": exchange.broken,
    }
    if exchange.request_steps:
        flow["request_steps"] = exchange.request_steps
    if exchange.given_back:
        flow["given_back"] = exchange.given_back
    if exchange.refusals:
        flow["refusals"] = exchange.refusals
    return flow
