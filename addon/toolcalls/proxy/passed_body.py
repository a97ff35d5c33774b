"""The stream callable of a response that is not mended: it streams, and little of it is kept."""

from __future__ import annotations

from ..recording.captured import CapturedBytes


class PassedBody:
    """Gives back every chunk as it came. Keeps them up to `most` bytes, for mitmproxy's views and files."""

    __slots__ = ("kept",)

    def __init__(self, most: int) -> None:
        self.kept = CapturedBytes(limit=most)

    def feed(self, chunk: bytes) -> list[bytes]:
        """A chunk of the body. Nothing for an empty one: it would end a chunked response."""
        if not chunk:
            return []
        self.kept.add(chunk, 0.0)
        if not self.kept.complete:
            self.kept.chunks.clear()
        return [chunk]
