"""The chunks of a body, captured as they pass, up to a limit."""

from __future__ import annotations

from dataclasses import dataclass, field

MAX_KEPT = 64 * 1024 * 1024
"""The most bytes kept of a response, for its recording and for mitmproxy's own views."""


@dataclass(slots=True)
class CapturedBytes:
    """Chunks, and the times at which they passed if these are given, up to a limit. The chunks are not copied."""

    chunks: list[bytes] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    size: int = 0
    complete: bool = True
    limit: int = field(default_factory=lambda: MAX_KEPT)

    def add(self, chunk: bytes, when: float | None = None) -> None:
        self.size += len(chunk)
        if self.size > self.limit:
            self.complete = False
            return
        self.chunks.append(chunk)
        if when is not None:
            self.times.append(when)

    def first(self, size: int) -> CapturedBytes:
        """The first `size` bytes, as chunks of their own."""
        found = CapturedBytes(limit=self.limit)
        for chunk in self.chunks:
            if found.size < size:
                found.add(chunk[: size - found.size])
        if found.size < size:
            # The rest was not kept. Nothing may be kept after it either, or the body would have a gap.
            found.complete, found.size, found.limit = False, size, 0
        return found

    def joined(self) -> bytes:
        return b"".join(self.chunks)

    def as_one_chunk(self) -> bytes:
        """The whole body, kept as one chunk from now on, so that this object and the flow share one copy."""
        body = self.joined()
        self.chunks = [body] if body else []
        self.times = self.times[:1]
        return body
