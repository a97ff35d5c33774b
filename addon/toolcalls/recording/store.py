"""A recording on disk: its files, and how they are written and read. Knows nothing about flows in flight.

A message of a WebSocket is one line of JSON, with its sender and its time:

    {"from": "client", "ms": 0.0, "text": "…"}

`before` contains what arrived from either side, `after` what was sent on.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..engine import AUTO, PROTOCOLS
from ..outcome import Outcome
from ..policy import Policy, make_policy, read_options
from ..reasons import STATUS_WORDS
from ..request.answered import GivenBack
from ..request.request import seed_of

SUFFIXES = (".sse", ".json", ".ndjson", ".jsonl")
"""The suffixes of the bodies: an event stream, one document, a stream of lines, the messages of a WebSocket."""
_NEXT_LINE = re.compile(rb"\}[^\S\n]*+\n\s*+\{")
"""Two objects with nothing but a line break between them: the body is a stream of lines, not one document."""

REQUEST_AFTER = "request-after.json"
_TEXTS = ("name", "arguments", "received_name", "received_arguments", "reason")
"""The values of a call in calls.json that are texts, if they are there."""


class NoRecording(Exception):
    """The path is not a recording that can be read; the message says why."""


@dataclass(slots=True)
class Recording:
    directory: Path
    flow: dict[str, Any]
    request: bytes
    before: bytes
    after: bytes | None = None
    calls: list[dict[str, Any]] | None = None
    suffix: str = ".sse"
    request_after: bytes | None = None
    """The mended request; None if the request was not changed."""

    name: str = field(init=False)
    protocol: str = field(init=False)
    seed: str = field(init=False)
    """The recorded seed: ids were made from the request before it was masked for the disk."""
    broken: bool = field(init=False)
    """The connection broke or the proxy ended before the answer was over."""
    status: int = field(init=False)
    """The status of the host's response; 200 if nobody knows."""
    options: dict[str, str] = field(init=False)
    """The mitmproxy options of the recording."""
    refusals: dict[str, str] = field(init=False)
    """The remembered reasons of earlier refusals that this request needed."""
    request_steps: dict[str, Any] = field(init=False)
    """What was changed in the request, and how often."""
    given_back: dict[int, GivenBack] = field(init=False)
    """The remembered reasoning and signatures that were given back to the host with this request."""
    offsets: list[int] = field(init=False)
    """The offsets of the upstream's chunks; one chunk if the recording has none."""
    times: list[float] = field(init=False)
    """When the chunks arrived, in milliseconds from the first; [] if nobody knows."""
    frames: list[Frame] = field(init=False)
    """The messages of a WebSocket."""

    def __post_init__(self) -> None:
        flow = self.flow
        for call in self.calls or ():
            texts = [call.get(key, "") for key in _TEXTS] + call.get("steps", [])
            if call.get("status", "valid") not in STATUS_WORDS or not all(isinstance(text, str) for text in texts):
                raise ValueError("calls.json has an entry that is no call")
        self.name = self.directory.name
        self.protocol = flow["protocol"] if flow.get("protocol") in PROTOCOLS else AUTO
        self.seed = str(flow.get("seed") or seed_of(self.request))
        self.broken = flow.get("broken") is True
        self.status = int(flow.get("status") or 200)
        self.options = {name: str(text) for name, text in flow.get("policy", {}).items()}
        self.refusals = {identity: str(reason) for identity, reason in flow.get("refusals", {}).items()}
        self.request_steps = dict(flow.get("request_steps", {}))
        self.given_back = {int(at): GivenBack(**entry) for at, entry in flow.get("given_back", {}).items()}
        chunks = flow.get("chunks", ())
        self.offsets = [int(chunk["offset"]) for chunk in chunks] or [0]
        self.times = [float(chunk.get("ms") or 0) for chunk in chunks] if len(chunks) > 1 else []
        self.frames = frames_in(self.before) if self.suffix == ".jsonl" else []

    @property
    def own(self) -> bool:
        """Whether this is a directory of ours, and not a flow of a flow file, which has no `after`."""
        return self.directory.is_dir()

    @property
    def policy(self) -> Policy:
        return make_policy(read_options(self.options))

    def pieces(self) -> list[bytes]:
        """The upstream body in its original chunks."""
        ends = [*self.offsets[1:], len(self.before)]
        return [self.before[start:end] for start, end in zip(self.offsets, ends, strict=True) if end > start]


def suffix_of(body: bytes) -> str:
    """The suffix for a body: one document, or a stream of events or lines."""
    if body.lstrip()[:1] not in (b"{", b"["):
        return ".sse"
    return ".ndjson" if _NEXT_LINE.search(body) else ".json"


def find(path: Path) -> list[Path]:
    """The recordings at a path: the path itself, or all in the folders below it."""
    if (path / "flow.json").is_file():
        return [path]
    return sorted(flow.parent for flow in path.rglob("flow.json"))


def load(directory: Path) -> Recording:
    try:
        files = {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}
        flow, calls = (_json_in(name, files.get(name, b"null")) for name in ("flow.json", "calls.json"))
        if not isinstance(flow, dict):
            raise ValueError("flow.json is not a JSON object")
        suffix = next((suffix for suffix in SUFFIXES if f"before{suffix}" in files), None)
        if suffix is None:
            raise ValueError(f"it has none of {', '.join(f'before{suffix}' for suffix in SUFFIXES)}")
        before, after = files[f"before{suffix}"], files.get(f"after{suffix}")
        request = files.get("request.json", b"")
        return Recording(directory, flow, request, before, after, calls, suffix, files.get(REQUEST_AFTER))
    except (OSError, ValueError, TypeError, AttributeError, KeyError, OverflowError, RecursionError) as error:
        raise NoRecording(f"{directory} cannot be read ({error}): record it again.") from error


def _json_in(name: str, text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


@dataclass(slots=True, frozen=True)
class Frame:
    """A message of a WebSocket, and when it passed, in seconds."""

    from_client: bool
    text: str
    when: float = 0.0

    def line(self, start: float = 0.0) -> bytes:
        """The message in the form of a recording; `start` is the time that counts as 0."""
        sender = "client" if self.from_client else "server"
        entry = {"from": sender, "ms": round((self.when - start) * 1000, 1), "text": self.text}
        return json.dumps(entry, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def frames_in(data: bytes) -> list[Frame]:
    """The messages of a file, with times from the first. Raises an exception if it is not such a file."""
    entries = (json.loads(line) for line in data.splitlines() if line.strip())
    return [
        Frame(entry.get("from") == "client", str(entry["text"]), float(entry.get("ms", 0.0)) / 1000)
        for entry in entries
    ]


def make_private(directory: Path) -> None:
    """Raise an `OSError` if others can write into a directory; an empty one of the user is made private instead.

    Whoever can write into it can put a link where a recording will be.
    """
    by_others = stat.S_IWGRP | stat.S_IWOTH
    found = directory.stat()
    if os.name == "nt" or not found.st_mode & by_others:
        return
    ours = found.st_uid == os.geteuid() and not found.st_mode & stat.S_ISVTX
    if ours and not any(directory.iterdir()):
        directory.chmod(0o700)
    if directory.stat().st_mode & by_others:
        raise PermissionError(errno.EPERM, "others can write into it, until chmod go-w")


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def private_file(path: Path, data: bytes) -> None:
    """Write a file that only the user can read, whole or not at all."""
    part = path.with_name(f"{path.name}.part")
    try:
        with open(part, "wb", opener=_open_private) as file:
            file.write(data)
        part.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink()
        raise


def private_report(path: Path, data: bytes) -> None:
    """Write to a path that the user named, even a device or a link. A file becomes readable by its user only."""
    with open(path, "wb", opener=_open_private) as file:
        if path.is_file():
            path.chmod(0o600)
        file.write(data)


def pretty(value: Any) -> bytes:
    """JSON with one value per line, which diffs well."""
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "backslashreplace")


def calls_json(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    return [outcome.as_json() for outcome in outcomes]
