"""The transcript of one response: what arrived from the upstream, and what was sent to the client.

Nearly every answer passes unchanged, so the bytes are kept once as long as what was sent is the beginning of what
arrived.
"""

from __future__ import annotations

from .captured import CapturedBytes

_MOST_UNSENT = 64 * 1024
"""If more bytes than this are held back, what is sent after them is not compared with what arrived."""


class BodyTranscript:
    """Both bodies of one response; at most `limit` bytes of each are kept."""

    __slots__ = ("_after", "_unsent", "_unsent_size", "before")

    def __init__(self, limit: int | None = None) -> None:
        self.before = CapturedBytes() if limit is None else CapturedBytes(limit=limit)
        """What arrived."""
        self._unsent: list[bytes] = []
        """The end of what arrived, if it was not sent yet and everything before it was sent unchanged."""
        self._unsent_size = 0
        self._after: CapturedBytes | None = None
        """What was sent, once that is not the beginning of what arrived."""

    @property
    def after(self) -> CapturedBytes:
        """What was sent; the same object as `before` if that is all that arrived."""
        if self._after is not None:
            return self._after
        return self._sent_unchanged() if self._unsent else self.before

    @property
    def is_shared(self) -> bool:
        """Whether all that arrived was sent, unchanged: then a chunk that passes need only be added to `before`."""
        return self._after is None and not self._unsent

    def add(self, chunk: bytes, out: list[bytes], when: float | None = None) -> None:
        """Keep a chunk that arrived, at what time if that is wanted, and the pieces that were sent in return."""
        if chunk:
            self.before.add(chunk, when)
        if self._after is None:
            if self._continues(chunk, b"".join(out)):
                return
            self._after, self._unsent = self._sent_unchanged(), []
        for piece in out:
            self._after.add(piece)

    def _continues(self, chunk: bytes, sent: bytes) -> bool:
        """Whether what was sent is the next part of what arrived."""
        if chunk:
            self._unsent.append(chunk)
            self._unsent_size += len(chunk)
        if self._unsent_size > _MOST_UNSENT:
            return False
        if sent:
            arrived = b"".join(self._unsent)
            if not arrived.startswith(sent):
                return False
            rest = arrived[len(sent) :]
            self._unsent, self._unsent_size = [rest] if rest else [], len(rest)
        return True

    def _sent_unchanged(self) -> CapturedBytes:
        """What was sent, as long as that is the beginning of what arrived."""
        return self.before.first(self.before.size - self._unsent_size)
