"""The stream callable of a response that is not mended, but only passed on."""

from __future__ import annotations

from ..recording.captured import CapturedBytes


class PassedBody:
    """Returns every chunk unchanged, and keeps a body of up to `most` bytes for mitmproxy's views and files."""

    __slots__ = ("kept",)

    def __init__(self, most: int) -> None:
        self.kept = CapturedBytes(limit=most)

    def feed(self, chunk: bytes) -> list[bytes]:
        """The chunk itself, or nothing for an empty one, which would end a chunked response."""
        if not chunk:
            return []
        self.kept.add(chunk)
        if not self.kept.complete:
            self.kept.chunks.clear()
        return [chunk]
