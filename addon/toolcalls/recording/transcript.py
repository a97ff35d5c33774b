"""What one response was: the bytes or messages that arrived, and those that were sent to the client, up to a limit.

On disk a message of a WebSocket is one line of JSON, with its sender and its time:

    {"from": "client", "ms": 0.0, "text": "…"}

`before` contains what arrived from either side, `after` what was sent on. Binary messages have "base64" for "text".
"""

from __future__ import annotations

import base64
import json
import time
from dataclasses import dataclass, field
from typing import Any

MAX_KEPT = 64 * 1024 * 1024
"""The most bytes kept of a response, for its recording and for mitmproxy's own views."""


@dataclass(slots=True)
class CapturedBytes:
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

    def joined(self) -> bytes:
        return b"".join(self.chunks)


class BodyTranscript:
    """Both bodies of one response: what arrived, and what was sent; at most `limit` bytes of each are kept."""

    __slots__ = ("after", "before")

    def __init__(self, limit: int | None = None) -> None:
        limit = MAX_KEPT if limit is None else limit
        self.before = CapturedBytes(limit)
        self.after = CapturedBytes(limit)

    def add(self, chunk: bytes, out: list[bytes], when: float | None = None) -> None:
        """Keep a chunk that arrived, at what time if that is wanted, and the pieces that were sent in return."""
        if chunk:
            self.before.add(chunk, when)
        for piece in out:
            self.after.add(piece)

    def as_one_chunk(self, kept: CapturedBytes) -> bytes:
        """One of the bodies, kept as one chunk from now on, so that the flow and both bodies share one copy."""
        body = kept.joined()
        for each in (self.before, self.after):
            if each is kept or each.joined() == body:
                each.chunks, each.times = [body] if body else [], each.times[:1]
        return body


@dataclass(slots=True, frozen=True)
class Frame:
    from_client: bool
    content: str | bytes
    when: float = 0.0

    @property
    def text(self) -> str:
        return self.content if isinstance(self.content, str) else self.content.decode("utf-8", "replace")


@dataclass(slots=True)
class Frames:
    """Messages in order, up to a limit of bytes."""

    frames: list[Frame] = field(default_factory=list)
    size: int = 0
    complete: bool = True

    def add(self, from_client: bool, content: str | bytes, when: float | None = None) -> None:
        if self.size + len(content) > MAX_KEPT:
            self.complete = False
        if self.complete:
            self.frames.append(Frame(from_client, content, time.monotonic() if when is None else when))
            self.size += len(content)


@dataclass(slots=True)
class SocketTranscript:
    """The messages that arrived from either side (`before`), and those that were sent on (`after`)."""

    before: Frames = field(default_factory=Frames)
    after: Frames = field(default_factory=Frames)


def frame_lines(frames: list[Frame], start: float) -> bytes:
    """The messages in the form of a recording; `start` is the time that counts as 0."""
    return b"".join(_line(frame, round((frame.when - start) * 1000, 1)) for frame in frames)


def _line(frame: Frame, ms: float) -> bytes:
    entry: dict[str, Any] = {"from": "client" if frame.from_client else "server", "ms": ms}
    if isinstance(frame.content, str):
        entry["text"] = frame.content
    else:
        entry["base64"] = base64.b64encode(frame.content).decode("ascii")
    return json.dumps(entry, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def frames_in(data: bytes) -> list[Frame]:
    """The messages of a file, with times in seconds from the first. Raises ValueError if it is not such a file."""
    return [_frame(json.loads(line)) for line in data.splitlines() if line.strip()]


def _frame(entry: Any) -> Frame:
    if not isinstance(entry, dict):
        raise ValueError("a line is not a JSON object")
    text = entry.get("text")
    content = text if isinstance(text, str) else base64.b64decode(str(entry.get("base64", "")))
    return Frame(entry.get("from") == "client", content, float(entry.get("ms", 0.0)) / 1000)
