"""The stream callable of one response: feeds the engine, and captures what arrives and what is sent.

mitmproxy calls it with every chunk. It never raises (an exception would leave the client hanging) and never returns
an empty chunk (which would end a chunked response early). It also sends keep-alive events, which are not recorded.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import FrameType

from ..engine import Recovered, Response
from ..recording.captured import MAX_KEPT as MAX_KEPT
from ..recording.captured import CapturedBytes
from .hold_timer import HoldTimer, has_data

LONG_HOLD_SECONDS = 60.0
MAX_KEPT_UNOBSERVED = 1024 * 1024
"""The most bytes kept of a response if no view, file or recorder wants them.

Dozens of finished flows wait for the garbage collection at any time, so each must stay small. Nearly every answer is
smaller than this."""


_MANY_PIECES = 8
"""More pieces than this are joined: sending one piece takes mitmproxy longer than joining a hundred."""


class BodyStream:
    """Feeds one response to the engine and captures at most `most` bytes of it.

    With `observe` the client gets the bytes as they arrived, and the output of the engine is only captured.
    """

    __slots__ = (
        "_after",
        "_asked_to_end",
        "_clock",
        "_doubtful_end",
        "_ends",
        "_feed",
        "_found",
        "_hold",
        "_observe",
        "_sent",
        "before",
        "failure",
        "response",
    )

    def __init__(
        self,
        response: Response,
        *,
        observe: bool = False,
        doubtful_end: bool = False,
        ends: Callable[[FrameType], bool | None] | None = None,
        most: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        found: Callable[[], None] = lambda: None,
    ) -> None:
        """`ends` looks at the frame that calls `feed` with an empty chunk: is this the end of the body?

        `doubtful_end`: an empty chunk need not be the end. `found` is called when the stream begins to hold a call.
        """
        self.response = response
        self._feed = response.feed
        self._ends = ends
        self._found = found
        self.before = CapturedBytes() if most is None else CapturedBytes(limit=most)
        self._sent = 0
        """How many bytes were sent to the client, as long as they are what arrived."""
        self._after: CapturedBytes | None = None
        """What was sent to the client, once that is no longer just what arrived."""
        self.failure: Exception | None = None
        self._observe = observe
        self._doubtful_end = doubtful_end
        self._asked_to_end = False
        self._clock = clock
        self._hold = HoldTimer(clock())

    @property
    def longest_hold(self) -> float:
        """The longest time that a call of this answer was held, in seconds."""
        return self._hold.longest

    @classmethod
    def of_recovered(cls, response: Response, error: bytes, answer: Recovered) -> BodyStream:
        """A stream that captures an error, and the answer that the client gets instead."""
        stream = cls(response)
        now = stream._clock()
        stream._record_output([answer.body], now)
        stream.before.add(error, now)
        response.outcomes += answer.outcomes
        return stream

    def feed(self, chunk: bytes) -> list[bytes]:
        """The pieces to send to the client for a chunk of the body."""
        if not chunk and self._ends is not None:
            return self.end(self._ends(sys._getframe(1)))
        self._asked_to_end = False
        now = self._clock()
        out = self._feed(chunk)
        if self._after is None and self.response.unchanged:
            # Nearly every answer passes unchanged, so that what was sent need not be kept apart from what arrived.
            self.before.add(chunk, now)
            self._sent += len(out[0]) if len(out) == 1 else sum(map(len, out))
            return [chunk] if self._observe else out
        if len(out) > _MANY_PIECES:
            out = [b"".join(out)]
        self._record_output(out, now)
        self.before.add(chunk, now)
        if self._observe:
            return [chunk]
        return self._keep_alive(out, now) if self.response.holding or self._hold.running else out

    @property
    def after(self) -> CapturedBytes:
        """What was sent to the client; the same object as `before` if that is all that arrived."""
        if self._after is None and self._sent < self.before.size:
            self._after = self.before.first(self._sent)
        return self.before if self._after is None else self._after

    def _record_output(self, out: list[bytes], now: float) -> None:
        """Capture what is sent, from now on separately from what arrived."""
        if self._after is None:
            self._after = self.before.first(self._sent)
        for piece in out:
            self._after.add(piece, now)

    def end(self, sure: bool | None) -> list[bytes]:
        """Take an empty chunk; `sure` says whether it is the end, None if that is unknown.

        Over HTTP/2 it may be an empty frame in mid-stream, so while a call is held the first empty chunk is ignored.
        """
        if sure is False:
            return []
        if sure is None and self._doubtful_end and self.response.holding and not self._asked_to_end:
            self._asked_to_end = True
            return []
        now = self._clock()
        out = self.response.close()
        if out:
            self._record_output(out, now)
        return [] if self._observe else out

    def _keep_alive(self, out: list[bytes], now: float) -> list[bytes]:
        """Add a keep-alive event if one is due, so that no idle timer of the client fires while a call is held."""
        if not self._hold.running:
            self._found()
        if self._hold.keep_alive_due(now, holding=self.response.holding, sent_data=has_data(out)):
            event = self.response.keep_alive()
            return [*out, event] if event else out
        return out
