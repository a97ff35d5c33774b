"""What one response was: the bytes or messages that arrived, and those that were sent to the client, up to a limit.

On disk a message of a WebSocket is one line of JSON, with its sender and its time:

    {"from": "client", "ms": 0.0, "text": "…"}

`before` contains what arrived from either side, `after` what was sent on. Binary messages have "base64" for "text".
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import Any

from ..wire.encoding import Corrupt, Inflated, decoder

MAX_KEPT = 64 * 1024 * 1024
"""The most bytes kept of a response, for its recording and for mitmproxy's own views."""


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

    def decoded(self, encoding: str) -> list[bytes]:
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


class Transcript:
    """Both sides of one response: what arrived, and what was sent; at most `limit` bytes of each are kept."""

    __slots__ = ("after", "before")

    def __init__(self, limit: int | None = None) -> None:
        limit = MAX_KEPT if limit is None else limit
        self.before = Captured(limit)
        self.after = Captured(limit)

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


@dataclass(slots=True, frozen=True)
class Frame:
    """A message of a WebSocket, and when it passed, in seconds."""

    from_client: bool
    content: str | bytes
    when: float = 0.0

    @property
    def text(self) -> str:
        return self.content if isinstance(self.content, str) else self.content.decode("utf-8", "replace")

    def line(self, start: float = 0.0) -> bytes:
        """The message in the form of a recording; `start` is the time that counts as 0."""
        entry: dict[str, Any] = {
            "from": "client" if self.from_client else "server",
            "ms": round((self.when - start) * 1000, 1),
        }
        if isinstance(self.content, str):
            entry["text"] = self.content
        else:
            entry["base64"] = base64.b64encode(self.content).decode("ascii")
        return json.dumps(entry, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def frames_in(data: bytes) -> list[Frame]:
    """The messages of a file, with times from the first. Raises ValueError or TypeError if it is not such a file."""
    return [_frame(json.loads(line)) for line in data.splitlines() if line.strip()]


def _frame(entry: Any) -> Frame:
    if not isinstance(entry, dict):
        raise ValueError("a line is not a JSON object")
    text = entry.get("text")
    content = text if isinstance(text, str) else base64.b64decode(str(entry.get("base64", "")))
    return Frame(entry.get("from") == "client", content, float(entry.get("ms", 0.0)) / 1000)
