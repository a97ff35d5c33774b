"""The chunks of a body as they passed, up to a limit."""

from __future__ import annotations

from dataclasses import dataclass, field

MAX_KEPT = 64 * 1024 * 1024
"""Most bytes kept of one response, for its recording and for mitmproxy's own views."""


@dataclass(slots=True)
class CapturedBytes:
    """Chunks by reference, with the times at which they came, up to a limit."""

    chunks: list[bytes] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    size: int = 0
    complete: bool = True
    limit: int = field(default_factory=lambda: MAX_KEPT)

    def add(self, chunk: bytes, when: float) -> None:
        self.size += len(chunk)
        if self.size > self.limit:
            self.complete = False
        if self.complete:
            self.chunks.append(chunk)
            self.times.append(when)

    def copy(self) -> CapturedBytes:
        return CapturedBytes(self.chunks.copy(), self.times.copy(), self.size, self.complete, self.limit)

    def joined(self) -> bytes:
        return b"".join(self.chunks)

    def settled(self) -> bytes:
        """All of it, in one piece from now on, so that the recording and the flow share one copy."""
        body = self.joined()
        self.chunks = [body] if body else []
        self.times = self.times[:1]
        return body
