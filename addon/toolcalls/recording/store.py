"""A recording on disk: its files, and how they are written and read. Knows nothing about flows in flight."""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..engine import AUTO, PROTOCOLS
from ..outcome import Outcome
from ..policy import Policy, make_policy, read_options
from ..request.answered import GivenBack
from ..request.request import seed_of
from .transcript import Frame, frames_in

SUFFIXES = (".sse", ".json", ".ndjson", ".jsonl")
"""The suffixes of the bodies: an event stream, one document, a stream of lines, the messages of a WebSocket."""
_NEXT_LINE = re.compile(rb"\}[^\S\n]*+\n\s*+\{")
"""Two objects with nothing but a line break between them: the body is a stream of lines, not one document."""

REQUEST_AFTER = "request-after.json"

Chunk = dict[str, float]
"""The offset of a chunk in the upstream's body, and the time when it arrived."""


class NoRecording(Exception):
    """The path is not a recording that can be read; the message says why."""


class NotPrivate(Exception):
    """Others can write into the directory of the recordings."""


@dataclass(slots=True)
class Recording:
    directory: Path
    flow: dict[str, Any]
    request: bytes
    before: bytes
    after: bytes | None
    calls: list[dict[str, Any]] | None
    suffix: str = ".sse"
    request_after: bytes | None = None
    """The mended request; None if the request was not changed."""

    @property
    def name(self) -> str:
        return self.directory.name

    @property
    def delivered(self) -> list[dict[str, Any]]:
        """The calls that the client got or should get."""
        return [call for call in self.calls or [] if not call.get("dropped")]

    @property
    def protocol(self) -> str:
        known = self.flow.get("protocol")
        return known if known in PROTOCOLS else AUTO

    @property
    def seed(self) -> str:
        """The recorded seed: ids were made from the request before it was masked for the disk."""
        return str(self.flow.get("seed") or seed_of(self.request))

    @property
    def own(self) -> bool:
        """Whether this is a directory of ours, and not a flow of a flow file, which has no `after`."""
        return self.directory.is_dir()

    @property
    def broken(self) -> bool:
        """Whether the connection broke or the proxy ended before the answer was over; "complete" is of toolfix 0."""
        return self.flow.get("broken") is True or self.flow.get("complete") is False

    @property
    def refusals(self) -> dict[str, str]:
        """The remembered reasons of earlier refusals that this request needed."""
        return dict(self.flow.get("refusals", {}))

    @property
    def given_back(self) -> dict[int, GivenBack]:
        """The remembered reasoning and signatures that were given back to the host with this request."""
        entries = self.flow.get("given_back", {}).items()
        return {int(number): GivenBack(**entry) for number, entry in entries}

    @property
    def request_steps(self) -> dict[str, int]:
        """What was mended in the request when it was recorded, and how often."""
        return dict(self.flow.get("request_steps", {}))

    @property
    def options(self) -> tuple[str, ...]:
        """The mitmproxy options of the recording, as `name=text`."""
        return tuple(f"{name}={text}" for name, text in self.flow.get("policy", {}).items())

    @property
    def policy(self) -> Policy:
        texts = {str(name): str(text) for name, text in self.flow.get("policy", {}).items()}
        return make_policy(read_options(texts))

    @property
    def offsets(self) -> list[int]:
        """The offsets of the upstream's chunks; one chunk if the recording has none."""
        return [int(chunk["offset"]) for chunk in self.flow.get("chunks", ())] or [0]

    @property
    def times(self) -> list[float]:
        """When the chunks arrived, in milliseconds from the first; [] if nobody knows."""
        chunks = self.flow.get("chunks", ())
        return [float(chunk.get("ms") or 0) for chunk in chunks] if len(chunks) > 1 else []

    def pieces(self) -> list[bytes]:
        """The upstream body in its original chunks."""
        offsets = self.offsets
        ends = [*offsets[1:], len(self.before)]
        return [self.before[start:end] for start, end in zip(offsets, ends, strict=True) if end > start]


def suffix_of(body: bytes) -> str:
    """The suffix for a body: one document, or a stream of events or lines."""
    if body.lstrip()[:1] not in (b"{", b"["):
        return ".sse"
    return ".ndjson" if _NEXT_LINE.search(body) else ".json"


def is_recording(path: Path) -> bool:
    return (path / "flow.json").is_file()


def find(path: Path) -> list[Path]:
    """The recordings at a path: the path itself, or all in the folders below it."""
    if is_recording(path):
        return [path]
    return sorted(flow.parent for flow in path.rglob("flow.json"))


def load(directory: Path) -> Recording:
    def read(name: str) -> bytes | None:
        file = directory / name
        return file.read_bytes() if file.is_file() else None

    def parsed(name: str, text: bytes) -> Any:
        try:
            return json.loads(text)
        except ValueError as error:
            raise NoRecording(f"{directory / name} cannot be read ({error}): record it again.") from error

    try:
        flow = parsed("flow.json", (directory / "flow.json").read_bytes())
        if not isinstance(flow, dict):
            raise NoRecording(f"{directory / 'flow.json'} is not a JSON object: record it again.")
        for name, kind in {"policy": dict, "refusals": dict, "given_back": dict, "chunks": list}.items():
            if not isinstance(flow.get(name, kind()), kind):
                raise NoRecording(f"{directory / 'flow.json'}: {name!r} cannot be read: record it again.")
        for suffix in SUFFIXES:
            if (before := read(f"before{suffix}")) is not None:
                break
        else:
            names = ", ".join(f"before{suffix}" for suffix in SUFFIXES)
            raise NoRecording(f"{directory} has none of {names}: record it again.")
        calls = read("calls.json")
        return Recording(
            directory,
            flow,
            request=read("request.json") or b"",
            before=before,
            after=read(f"after{suffix}"),
            calls=None if calls is None else parsed("calls.json", calls),
            suffix=suffix,
            request_after=read(REQUEST_AFTER),
        )
    except (OSError, ValueError) as error:
        raise NoRecording(f"{directory} cannot be read ({error}): record it again.") from error


def read_frames(recording: Recording) -> list[Frame]:
    """The messages of a WebSocket recording."""
    try:
        return frames_in(recording.before)
    except (ValueError, TypeError) as error:
        raise NoRecording(f"{recording.directory} has messages that cannot be read ({error}).") from error


def make_private(directory: Path) -> None:
    """Raise `NotPrivate` if others can write into a directory; an empty one of the user is made private instead.

    Whoever can write into it can put a link where a recording will be.
    """
    found = directory.stat()
    if os.name == "nt" or not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return
    ours = found.st_uid == os.geteuid() and not found.st_mode & stat.S_ISVTX
    if ours and not any(directory.iterdir()):
        directory.chmod(0o700)
        found = directory.stat()
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise NotPrivate


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


def replace_file(path: Path, data: bytes) -> None:
    """Replace a file of a recording, whole or not at all, with the permissions of its flow.json."""
    private_file(path, data)
    path.chmod(path.with_name("flow.json").stat().st_mode)


def size_of(path: Path) -> int:
    try:
        return path.lstat().st_size if path.is_file() else 0
    except OSError:
        return 0


def pretty(value: Any) -> bytes:
    """JSON with one value per line, which diffs well."""
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "backslashreplace")


def pretty_flow(flow: dict[str, Any], chunks: list[Chunk]) -> bytes:
    """The text of flow.json, with one chunk per line."""
    head = pretty(flow).removesuffix(b"\n}\n")
    lines = ",\n  ".join(map(json.dumps, chunks))
    return head + (f',\n "chunks": [\n  {lines}\n ]\n}}\n' if chunks else ',\n "chunks": []\n}\n').encode()


def calls_json(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    return [outcome.as_json() for outcome in outcomes]
