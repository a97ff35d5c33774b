"""The stream callable of one response: the engine, and a record of what came and what went.

mitmproxy calls it with every chunk. It never raises (an exception leaves the client hanging) and never
gives back an empty chunk (which ends a chunked response early). Sends the keep-alive events, which are not recorded.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import FrameType

from ..engine import Recovered, Response
from ..recording.captured import MAX_KEPT as MAX_KEPT
from ..recording.captured import CapturedBytes
from .hold_timer import HoldTimer, speaks

LONG_HOLD_SECONDS = 60.0
MAX_KEPT_UNOBSERVED = 1024 * 1024
"""Most bytes kept of one response where no view, file or recorder wants them.

A finished flow waits with dozens of others for the garbage collection, and nearly every answer is smaller."""


_MANY_PIECES = 8
"""mitmproxy takes longer to send a piece than to join a hundred."""


class BodyStream:
    """Feeds one answer. With `observe` the bytes pass as they are and only the record is kept, of `most` bytes."""

    __slots__ = (
        "_asked_to_end",
        "_clock",
        "_doubtful_end",
        "_ends",
        "_feed",
        "_found",
        "_hold",
        "_observe",
        "after",
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
        """`ends` tells by the frame that feeds an empty chunk whether that is the end, for `end`.

        `found` is called when a call begins to be held.
        """
        self.response = response
        self._feed = response.feed
        self._ends = ends
        self._found = found
        self.before = CapturedBytes() if most is None else CapturedBytes(limit=most)
        self.after = self.before
        """What went out: the object `before` itself, as long as every chunk goes out as it came in."""
        self.failure: Exception | None = None
        self._observe = observe
        self._doubtful_end = doubtful_end
        self._asked_to_end = False
        self._clock = clock
        self._hold = HoldTimer(clock())

    @property
    def longest_hold(self) -> float:
        """The longest that a call of this answer was held, in seconds."""
        return self._hold.longest

    @classmethod
    def of_recovered(cls, response: Response, error: bytes, answer: Recovered) -> BodyStream:
        """Record an error in whose place the client gets an answer."""
        stream = cls(response)
        now = stream._clock()
        stream._record_output([answer.body], now)
        stream.before.add(error, now)
        response.outcomes += answer.outcomes
        return stream

    def feed(self, chunk: bytes) -> list[bytes]:
        """A chunk of the body."""
        if not chunk and self._ends is not None:
            return self.end(self._ends(sys._getframe(1)))
        self._asked_to_end = False
        now = self._clock()
        out = self._feed(chunk)
        before = self.before
        if len(out) == 1 and out[0] is chunk and not self._hold.running and self.after is before:
            # Nearly every chunk: it passes, so nothing of it is held. This is `CapturedBytes.add` in one piece.
            before.size += len(chunk)
            if before.size <= before.limit:
                before.chunks.append(chunk)
                before.times.append(now)
            else:
                before.complete = False
            return out
        if len(out) > _MANY_PIECES:
            out = [b"".join(out)]
        self._record_output(out, now)
        self.before.add(chunk, now)
        if self._observe:
            return [chunk]
        return self._keep_alive(out, now) if self.response.holding or self._hold.running else out

    def _record_output(self, out: list[bytes], now: float) -> None:
        """Record what goes out, apart from what came in."""
        after = self.after
        if after is self.before:
            after = self.after = after.copy()
        for piece in out:
            after.add(piece, now)

    def end(self, sure: bool | None) -> list[bytes]:
        """An empty chunk. Over HTTP/2 it may be an empty frame in mid-stream, so a live call outlasts the first."""
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
        """While a call is held, the client's idle timer hears of us now and then."""
        if not self._hold.running:
            self._found()
        if self._hold.keep_alive_due(now, holding=self.response.holding, spoke=speaks(out)):
            said = self.response.keep_alive()
            return [*out, said] if said else out
        return out
