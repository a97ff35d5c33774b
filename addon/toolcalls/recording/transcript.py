"""What one response was: the bytes or messages that arrived, and those that were sent to the client, up to a limit.

On disk a message of a WebSocket is one line of JSON, with its sender and its time:

    {"from": "client", "ms": 0.0, "text": "…"}

`before` contains what arrived from either side, `after` what was sent on. Binary messages have "base64" for "text".
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from ..wire.encoding import Corrupt, Inflated, decoder

MAX_KEPT = 64 * 1024 * 1024
"""The most bytes kept of a response, for its recording and for mitmproxy's own views."""


@dataclass(slots=True, frozen=True)
class Frame:
    """A message of a WebSocket."""

    from_client: bool
    content: str | bytes
    when: float = 0.0

    def __len__(self) -> int:
        return len(self.content)

    @property
    def text(self) -> str:
        return self.content if isinstance(self.content, str) else self.content.decode("utf-8", "replace")


Piece = TypeVar("Piece", bytes, Frame)


@dataclass(slots=True)
class Captured(Generic[Piece]):
    """Chunks or messages, and the times at which they passed if these are given, up to a limit. Nothing is copied."""

    limit: int = field(default_factory=lambda: MAX_KEPT)
    chunks: list[Piece] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    size: int = 0

    @property
    def complete(self) -> bool:
        return self.size <= self.limit

    def add(self, chunk: Piece, when: float | None = None) -> None:
        self.size += len(chunk)
        if self.size > self.limit:
            return
        self.chunks.append(chunk)
        if when is not None:
            self.times.append(when)

    def joined(self: Captured[bytes]) -> bytes:
        return b"".join(self.chunks)

    def decoded(self: Captured[bytes], encoding: str) -> list[bytes]:
        """The chunks without their content encoding; after a chunk that cannot be decoded, as they arrived.

        They end at a chunk that inflates too much, because the answer was cut off there too, or at `MAX_KEPT` bytes.
        """
        undo = decoder(encoding)
        pieces: list[bytes] = []
        room = MAX_KEPT
        for chunk in self.chunks[:]:  # A live flow may just be adding one.
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


class BodyTranscript:
    """Both bodies of one response: what arrived, and what was sent; at most `limit` bytes of each are kept."""

    __slots__ = ("after", "before")

    def __init__(self, limit: int | None = None) -> None:
        limit = MAX_KEPT if limit is None else limit
        self.before: Captured[bytes] = Captured(limit)
        self.after: Captured[bytes] = Captured(limit)

    def add(self, chunk: bytes, out: list[bytes], when: float | None = None) -> None:
        """Keep a chunk that arrived, at what time if that is wanted, and the pieces that were sent in return."""
        if chunk:
            self.before.add(chunk, when)
        for piece in out:
            self.after.add(piece)

    def as_one_chunk(self, kept: Captured[bytes]) -> bytes:
        """One of the bodies, kept as one chunk from now on, so that the flow and both bodies share one copy."""
        body = kept.joined()
        for each in (self.before, self.after):
            if each is kept or each.joined() == body:
                each.chunks = [body]
        return body


@dataclass(slots=True)
class SocketTranscript:
    """The messages that arrived from either side (`before`), and those that were sent on (`after`)."""

    before: Captured[Frame] = field(default_factory=Captured)
    after: Captured[Frame] = field(default_factory=Captured)


def frame_lines(frames: list[Frame], start: float | None = None) -> bytes:
    """The messages in the form of a recording; `start` is the time that counts as 0, that of the first by default."""
    if start is None:
        start = frames[0].when if frames else 0.0
    lines = []
    for frame in frames:
        entry = {"from": "client" if frame.from_client else "server", "ms": round((frame.when - start) * 1000, 1)}
        if isinstance(frame.content, str):
            entry["text"] = frame.content
        else:
            entry["base64"] = base64.b64encode(frame.content).decode("ascii")
        lines.append(json.dumps(entry, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n")
    return b"".join(lines)


def frames_in(data: bytes) -> list[Frame]:
    """The messages of a file, with times in seconds from the first. Raises ValueError if it is not such a file."""
    return [_frame(json.loads(line)) for line in data.splitlines() if line.strip()]


def _frame(entry: Any) -> Frame:
    if not isinstance(entry, dict):
        raise ValueError("a line is not a JSON object")
    text = entry.get("text")
    content = text if isinstance(text, str) else base64.b64decode(str(entry.get("base64", "")))
    return Frame(entry.get("from") == "client", content, float(entry.get("ms", 0.0)) / 1000)
