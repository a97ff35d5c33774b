"""Writing what happened: one directory a flow, by a thread of its own, so that no stream waits for a disk."""

from __future__ import annotations

import logging
import platform
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .. import __version__
from ..calls import Outcome
from ..guard import Kept
from ..policy import BY_NAME
from ..wire.encoding import decoder
from . import store
from .redact import redact, redact_bytes

logger = logging.getLogger("toolfix")


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
    seed: str
    started: float
    options: dict[str, str]
    request: bytes
    before: Kept
    after: Kept
    outcomes: list[Outcome]
    broken: bool = False
    """The connection broke before the answer was over: what was held never reached the client."""
    request_after: bytes | None = None
    """What went up instead of the request, where that was changed."""
    refusals: dict[str, str] = field(default_factory=dict)
    """Earlier refusals that the change told of, by id."""


class Recorder:
    """Writes recordings into a directory that only the user can read."""

    def __init__(self, directory: str) -> None:
        self.directory = Path(directory).expanduser()
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        probe = self.directory / ".toolfix"
        store.private_file(probe, b"")
        probe.unlink()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="toolfix-record")

    def write(self, exchange: Exchange) -> None:
        self._thread.submit(self._write, exchange)

    def close(self) -> None:
        self._thread.shutdown(wait=True)

    def _write(self, exchange: Exchange) -> None:
        try:
            write_recording(self.directory / directory_name(exchange), exchange)
        except OSError as error:
            logger.error(
                f"toolfix could not write a recording to {self.directory} ({error}); the answer was not touched."
            )
        except Exception:
            logger.exception("toolfix could not write a recording; the answer was not touched.")


def directory_name(exchange: Exchange) -> str:
    """Sortable, and safe whatever the upstream calls itself."""
    moment = datetime.fromtimestamp(exchange.started, UTC).strftime("%Y%m%d-%H%M%S")
    host = re.sub(r"[^A-Za-z0-9.-]", "_", exchange.host)[:60]
    return f"{moment}-{host}-{exchange.protocol}-{re.sub(r'[^A-Za-z0-9]', '', exchange.id)[:8]}"


def write_recording(directory: Path, exchange: Exchange) -> None:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    pieces = _decoded(exchange)
    before = b"".join(pieces)
    suffix = ".json" if before.lstrip()[:1] in (b"{", b"[") else ".sse"
    files: dict[str, bytes] = {
        "flow.json": store.pretty(_flow(exchange, pieces)),
        "request.json": redact_bytes(exchange.request),
        f"before{suffix}": redact_bytes(before),
        f"after{suffix}": redact_bytes(exchange.after.joined()),
    }
    if exchange.request_after is not None:
        files[store.REQUEST_AFTER] = redact_bytes(exchange.request_after)
    files["calls.json"] = redact_bytes(store.pretty(store.calls_json(exchange.outcomes)))
    for name, data in files.items():
        store.private_file(directory / name, data)


def _decoded(exchange: Exchange) -> list[bytes]:
    """The upstream's chunks without their content encoding; from where they cannot be decoded, as they came."""
    undo = decoder(exchange.encoding)
    pieces: list[bytes] = []
    for chunk in exchange.before.chunks:
        try:
            pieces.append(undo.decode(chunk) if undo else chunk)
        except Exception:
            undo = None
            pieces.append(chunk)
    return pieces


def _flow(exchange: Exchange, pieces: list[bytes]) -> dict[str, Any]:
    offset = 0
    chunks = []
    start = exchange.before.times[0] if exchange.before.times else 0.0
    for chunk, when in zip(pieces, exchange.before.times, strict=True):
        chunks.append({"offset": offset, "ms": round((when - start) * 1000, 1)})
        offset += len(chunk)
    changed = {name: text for name, text in exchange.options.items() if text != BY_NAME[name].default}
    changed.pop("toolfix_record", None)
    flow = {
        "protocol": exchange.protocol,
        "method": exchange.method,
        "host": exchange.host,
        "path": redact(exchange.path),
        "status": exchange.status,
        "content_type": exchange.content_type,
        "started": datetime.fromtimestamp(exchange.started, UTC).isoformat(),
        "seed": exchange.seed,
        "policy": changed,
        "versions": {"toolfix": __version__, "python": platform.python_version()},
        "complete": exchange.before.complete and exchange.after.complete,
        "broken": exchange.broken,
        "chunks": chunks,
    }
    if exchange.refusals:
        flow["refusals"] = {identity: redact(reason) for identity, reason in exchange.refusals.items()}
    return flow
