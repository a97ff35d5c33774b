"""A recording on disk: its files, and how they are written and read. Knows nothing about flows in flight."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..outcome import STRUCTURED, Outcome
from ..request.given_back import GivenBack
from ..request.request import seed_of
from . import frames
from .frames import Frame

SUFFIXES = (".sse", ".json", ".ndjson", ".jsonl")
"""The suffixes of the bodies: an event stream, one document, a stream of lines, the messages of a WebSocket."""
_NEXT_LINE = re.compile(rb"\}[^\S\n]*+\n\s*+\{")
"""Two objects with nothing but a line break between them: the body is a stream of lines, not one document."""

REQUEST_AFTER = "request-after.json"

Chunk = dict[str, float]
"""The offset of a chunk in the upstream's body, and the time when it arrived."""
_AT_ONCE = 256
"""How many chunks are written at a time, because live streams wait meanwhile."""


class NoRecording(Exception):
    """The path is not a recording that can be read; the message says why."""


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
        return [call for call in self.calls or [] if not call.get("dropped") and call.get("name") != STRUCTURED]

    @property
    def protocol(self) -> str:
        return str(self.flow.get("protocol", "auto"))

    @property
    def seed(self) -> str:
        """The recorded seed: ids were made from the request before it was masked for the disk."""
        return str(self.flow.get("seed") or seed_of(self.request))

    @property
    def own(self) -> bool:
        """Whether this is a directory of ours, and not a flow of a flow file, which has no `after`."""
        return self.directory.is_dir()

    @property
    def complete(self) -> bool:
        """False if a limit or the end of the proxy cut off the recording."""
        return self.flow.get("complete") is not False

    @property
    def refusals(self) -> dict[str, str]:
        """The remembered reasons of earlier refusals that this request needed."""
        known = self.flow.get("refusals")
        return {str(key): str(reason) for key, reason in known.items()} if isinstance(known, dict) else {}

    @property
    def given_back(self) -> dict[int, GivenBack]:
        """The remembered reasoning and signatures that were given back to the host with this request."""
        known = self.flow.get("given_back")
        entries = known.items() if isinstance(known, dict) else ()
        return {int(number): GivenBack.from_json(entry) for number, entry in entries}

    @property
    def request_steps(self) -> dict[str, int]:
        """What was mended in the request when it was recorded, and how often."""
        steps = self.flow.get("request_steps")
        return steps if isinstance(steps, dict) else {}

    @property
    def options(self) -> tuple[str, ...]:
        """The mitmproxy options of the recording, as `name=text`."""
        policy = self.flow.get("policy")
        return tuple(f"{name}={text}" for name, text in policy.items()) if isinstance(policy, dict) else ()

    @property
    def offsets(self) -> list[int]:
        """The offsets of the upstream's chunks; one chunk if the recording has none."""
        chunks = self.flow.get("chunks")
        offsets = [int(chunk["offset"]) for chunk in chunks] if isinstance(chunks, list) else []
        return offsets or [0]

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
    try:
        flow = json.loads((directory / "flow.json").read_bytes())
        suffix = next((s for s in SUFFIXES if (directory / f"before{s}").is_file()), None)
        if not isinstance(flow, dict):
            raise NoRecording(f"{directory / 'flow.json'} is not a JSON object: record it again.")
        if suffix is None:
            names = ", ".join(f"before{suffix}" for suffix in SUFFIXES)
            raise NoRecording(f"{directory} has none of {names}: record it again.")
        request = directory / "request.json"
        after = directory / f"after{suffix}"
        calls = directory / "calls.json"
        request_after = directory / REQUEST_AFTER
        return Recording(
            directory,
            flow,
            request.read_bytes() if request.is_file() else b"",
            (directory / f"before{suffix}").read_bytes(),
            after.read_bytes() if after.is_file() else None,
            json.loads(calls.read_bytes()) if calls.is_file() else None,
            suffix,
            request_after.read_bytes() if request_after.is_file() else None,
        )
    except (OSError, ValueError) as error:
        raise NoRecording(f"{directory} cannot be read ({error}): record it again.") from error


def read_frames(recording: Recording) -> list[Frame]:
    """The messages of a WebSocket recording."""
    try:
        return frames.read(recording.before)
    except (ValueError, TypeError) as error:
        raise NoRecording(f"{recording.directory} has messages that cannot be read ({error}).") from error


def private_file(path: Path, data: bytes) -> None:
    """Write a file that only the user can read, whole or not at all.

    It uses as few system calls as possible, because a live stream may have to wait around each of them.
    """
    part = f"{path}.part"
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o600)
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(descriptor, left) :]
        finally:
            os.close(descriptor)
        os.replace(part, path)  # noqa: PTH105 - a path object costs as much as the call
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(part)  # noqa: PTH108
        raise


def private_report(path: Path, data: bytes) -> None:
    """Write to a path that the user named, even a device or a link. A file becomes readable by its user only."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o600)
    with os.fdopen(descriptor, "wb") as file:
        if path.is_file():
            path.chmod(0o600)
        file.write(data)


def replace_file(path: Path, data: bytes) -> None:
    """Replace a file of a recording, whole or not at all, with the permissions of its flow.json."""
    private_file(path, data)
    path.chmod(path.with_name("flow.json").stat().st_mode)


def remove_others(directory: Path, suffix: str) -> None:
    """Remove bodies with another suffix: a flow that is written again may have looked different at first."""
    for other in SUFFIXES:
        if other != suffix:
            for side in ("before", "after"):
                (directory / f"{side}{other}").unlink(missing_ok=True)


def size_of(path: Path) -> int:
    try:
        return path.lstat().st_size if path.is_file() else 0
    except OSError:
        return 0


def pretty(value: Any) -> bytes:
    """JSON with one value per line, which diffs well."""
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "backslashreplace")


def pretty_flow(flow: dict[str, Any], chunks: list[Chunk], between: Callable[[], None] = lambda: None) -> bytes:
    """The text of flow.json, with one chunk per line. There may be thousands, so `between` is called now and then."""
    head = json.dumps(flow, ensure_ascii=False, indent=1).removesuffix("\n}")
    parts: list[str] = []
    for at in range(0, len(chunks), _AT_ONCE):
        parts.append(json.dumps(chunks[at : at + _AT_ONCE])[1:-1].replace("}, {", "},\n  {"))
        between()
    lines = ",\n  ".join(parts)
    text = f'{head},\n "chunks": [\n  {lines}\n ]\n}}\n' if chunks else f'{head},\n "chunks": []\n}}\n'
    return text.encode("utf-8", "backslashreplace")


def calls_json(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    return [outcome.as_json() for outcome in outcomes]
