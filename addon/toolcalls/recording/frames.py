"""The messages of a WebSocket; on disk one line of JSON for each, with its sender and its time.

    {"from": "client", "ms": 0.0, "text": "…"}

`before` contains what arrived from either side, `after` what was sent on. Binary messages have "base64" for "text".
"""

from __future__ import annotations

import base64
import json
import time
from dataclasses import dataclass, field
from typing import Any

from .captured import MAX_KEPT


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


def lines(frames: list[Frame], start: float) -> bytes:
    """The messages in the form of a recording; `start` is the time that counts as 0."""
    return b"".join(_line(frame, round((frame.when - start) * 1000, 1)) for frame in frames)


def _line(frame: Frame, ms: float) -> bytes:
    entry: dict[str, Any] = {"from": "client" if frame.from_client else "server", "ms": ms}
    if isinstance(frame.content, str):
        entry["text"] = frame.content
    else:
        entry["base64"] = base64.b64encode(frame.content).decode("ascii")
    return json.dumps(entry, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def read(data: bytes) -> list[Frame]:
    """The messages of a file, with times in seconds from the first. Raises ValueError if it is not such a file."""
    return [_frame(json.loads(line)) for line in data.splitlines() if line.strip()]


def _frame(entry: Any) -> Frame:
    if not isinstance(entry, dict):
        raise ValueError("a line is not a JSON object")
    text = entry.get("text")
    content = text if isinstance(text, str) else base64.b64decode(str(entry.get("base64", "")))
    return Frame(entry.get("from") == "client", content, float(entry.get("ms", 0.0)) / 1000)
