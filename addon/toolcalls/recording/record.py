"""Writing what happened: one directory a flow, by a thread of its own, so that no stream waits for a disk.

A flow that lasts is written as far as it has come, after 2, 4, 8 … seconds, and once more when it is over; what
the proxy leaves behind when it ends or is killed is a recording that says that it is not complete.
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
from typing import Any, NamedTuple, Protocol

from .. import __version__
from ..outcome import Outcome
from ..policy import BY_NAME
from ..wire.encoding import Corrupt, Inflated, decoder
from . import frames, store
from .captured import MAX_KEPT, CapturedBytes
from .frames import SocketTranscript
from .redact import redact_bytes
from .writer import BackgroundWriter

logger = logging.getLogger("toolfix")

MAX_DIRECTORY = 2 * 1024 * 1024 * 1024
"""Most bytes in the directory of recordings. Nothing is deleted: recording stops."""
LOOK_AGAIN_SECONDS = 30.0
"""A full directory is measured again after this time."""
FIRST_PART_SECONDS = 2.0


class Transcript(Protocol):
    """What came of a stream, and what went out."""

    before: CapturedBytes
    after: CapturedBytes


@dataclass(slots=True)
class StreamTranscript:
    """What came and went of a stream that is over."""

    before: CapturedBytes
    after: CapturedBytes


@dataclass(slots=True)
class Exchange:
    """Everything about one flow that a recording keeps. Bytes by reference."""

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
    transcript: Transcript | SocketTranscript
    """What came and what went, so far."""
    outcomes: list[Outcome]
    broken: bool = False
    """The connection broke before the answer was over: what was held never reached the client."""
    over: bool = False
    """Nothing more comes."""
    request_after: bytes | None = None
    """What went up instead of the request, where that was changed."""
    request_steps: dict[str, int] = field(default_factory=dict)
    """What was changed in it, and how often."""
    refusals: dict[str, str] = field(default_factory=dict)
    """Earlier refusals that the change told of, by id."""
    given_back: dict[str, Any] = field(default_factory=dict)
    """What the host got back of what it said before, by the number of the message."""

    @property
    def size(self) -> int:
        bodies = (self.transcript.before, self.transcript.after)
        return len(self.request) + sum(min(body.size, MAX_KEPT) for body in bodies)

    @property
    def most(self) -> int:
        """So many bytes of an answer are kept. Fewer where recording began when it was under way."""
        return self.transcript.before.limit if isinstance(self.transcript.before, CapturedBytes) else MAX_KEPT

    @property
    def whole(self) -> bool:
        """Was every byte kept?"""
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
        self._trouble = ""
        self._lost_before = 0
        self._used: int | None = None
        self._measured = 0.0
        self._live: dict[int, tuple[Exchange, float, float]] = {}
        self._lock = threading.Lock()
        self._writer = BackgroundWriter(self._write, self._write_parts, "toolfix-record")

    def begin(self, exchange: Exchange) -> None:
        """A flow whose answer begins. It is kept by reference."""
        with self._lock:
            self._live[id(exchange)] = (exchange, time.monotonic() + FIRST_PART_SECONDS, FIRST_PART_SECONDS)

    def write(self, exchange: Exchange) -> None:
        """A flow that is over."""
        exchange.over = True
        with self._lock:
            self._live.pop(id(exchange), None)
        if not exchange.whole:
            logger.warning(
                f"toolfix records only the first {exchange.most // 2**20} MiB of an answer of {exchange.host}; "
                "all of it was passed on."
            )
        if not self._writer.offer(exchange, exchange.size):
            self._lose("too much is waiting to be written")

    def close(self) -> None:
        """Write what waits, and the flows that are not over as far as they have come."""
        with self._lock:
            parts = [exchange for exchange, _, _ in self._live.values()]
            self._live.clear()
        for exchange in parts:
            if not self._writer.offer(exchange, exchange.size):
                self._lose("too much is waiting to be written")
        if not self._writer.close():
            logger.error(f"toolfix gave up writing recordings to {self.directory}: the disk does not answer.")

    def _write_parts(self) -> None:
        """The flows that have lasted for some time, as far as they have come."""
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
        """`over`: this is all of it. A flow may end while a part is being written, and is written once more then."""
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
        if self._trouble:
            logger.info(f"toolfix records to {self.directory} again; {self.lost - self._lost_before} were lost.")
            self._trouble = ""
        return None

    def _has_room(self, size: int) -> bool:
        now = time.monotonic()
        if self._used is None or (self._used + size > MAX_DIRECTORY and now - self._measured > LOOK_AGAIN_SECONDS):
            self._measured = now
            self._used = sum(store.size_of(path) for path in self.directory.rglob("*"))
        return self._used + size <= MAX_DIRECTORY

    def _lose(self, why: str, for_good: bool = True) -> None:
        """One line for each kind of trouble, however many recordings it costs. A part may be written later."""
        if why != self._trouble:
            if not self._trouble:
                self._lost_before = self.lost
            self._trouble = why
            logger.error(
                f"toolfix cannot write recordings to {self.directory} now ({why}); answers are mended as before."
            )
        self.lost += for_good


def directory_name(exchange: Exchange) -> str:
    """Sortable, and safe whatever the upstream calls itself."""
    moment = datetime.fromtimestamp(exchange.started, UTC).strftime("%Y%m%d-%H%M%S")
    host = re.sub(r"[^A-Za-z0-9.-]", "_", exchange.host)[:60]
    return f"{moment}-{host}-{exchange.protocol}-{re.sub(r'[^A-Za-z0-9]', '', exchange.id)[:8]}"


def write_recording(directory: Path, exchange: Exchange, step_back: Callable[[], None] = lambda: None) -> int:
    """Write the files, each whole or not at all, flow.json last: without it there is no recording. The bytes used."""
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
    """Name and content, in the order in which they are written."""
    return {
        "request.json": exchange.request[:MAX_KEPT],
        **({store.REQUEST_AFTER: exchange.request_after} if exchange.request_after is not None else {}),
        f"before{bodies.suffix}": bodies.before,
        f"after{bodies.suffix}": bodies.after,
        "calls.json": store.pretty(store.calls_json(exchange.outcomes[:])),
        "flow.json": store.pretty_flow(_flow(exchange, bodies.over), bodies.chunks, step_back),
    }


class _Bodies(NamedTuple):
    """What came and what went so far, of a flow that may still go on."""

    suffix: str
    over: bool
    before: bytes
    after: bytes
    chunks: list[store.Chunk]


def _bodies(exchange: Exchange) -> _Bodies:
    over, transcript = exchange.over, exchange.transcript
    if isinstance(transcript, SocketTranscript):
        came, went = transcript.before.frames[:], transcript.after.frames[:]
        start = came[0].when if came else 0.0
        return _Bodies(".jsonl", over, frames.lines(came, start), frames.lines(went, start), [])
    pieces = decoded(transcript.before, exchange.encoding)
    before = b"".join(pieces)
    chunks = _chunks(pieces, transcript.before.times[:])
    return _Bodies(store.suffix_of(before), over, before, transcript.after.joined(), chunks)


def decoded(kept: CapturedBytes, encoding: str) -> list[bytes]:
    """The upstream's chunks without their content encoding; from where they cannot be decoded, as they came.

    Up to the chunk that inflates beyond all measure, where the answer was cut off, or to as much as is kept.
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
