"""The stream callable of one response: feeds the engine, and keeps what arrives and what is sent.

mitmproxy calls it with every chunk. It never raises (an exception would leave the client hanging) and never returns
an empty chunk (which would end a chunked response early). It also sends keep-alive events, which are not recorded.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import FrameType

from ..engine import Recovered, Response
from ..recording.body_transcript import BodyTranscript
from .hold_timer import HoldTimer, has_data

LONG_HOLD_SECONDS = 60.0
MAX_KEPT_UNOBSERVED = 1024 * 1024
"""The most bytes kept of a response if no view, file or recorder wants them.

Dozens of finished flows wait for the garbage collection at any time, so each must stay small. Nearly every answer is
smaller than this."""


_MANY_PIECES = 8
"""More pieces than this are joined: sending one piece takes mitmproxy longer than joining a hundred."""


class BodyStream:
    """Feeds one response to the engine and keeps at most `most` bytes of it, with the times of chunks if `timed`.

    With `observe` the client gets the bytes as they arrived, and the output of the engine is only kept.
    """

    __slots__ = (
        "_asked_to_end",
        "_clock",
        "_doubtful_end",
        "_ends",
        "_feed",
        "_found",
        "_hold",
        "_keep_passed",
        "_observe",
        "_only_passes",
        "_timed",
        "failure",
        "response",
        "transcript",
    )

    def __init__(
        self,
        response: Response,
        *,
        observe: bool = False,
        doubtful_end: bool = False,
        ends: Callable[[FrameType], bool | None] | None = None,
        most: int | None = None,
        timed: bool = False,
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
        self.transcript = BodyTranscript(most)
        self._keep_passed = self.transcript.before.add
        self._only_passes = True
        """Nothing is held, and everything so far was sent as it arrived."""
        self.failure: Exception | None = None
        self._observe = observe
        self._timed = timed
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
        stream.transcript.add(error, [answer.body])
        response.outcomes += answer.outcomes
        return stream

    def feed(self, chunk: bytes) -> list[bytes]:
        """The pieces to send to the client for a chunk of the body."""
        if not chunk and self._ends is not None:
            return self.end(self._ends(sys._getframe(1)))
        arrived = self._clock() if self._timed else None
        out = self._feed(chunk)
        if self._only_passes and len(out) == 1 and out[0] is chunk:
            self._keep_passed(chunk, arrived)  # Nearly every chunk of nearly every answer.
            return out
        if len(out) > _MANY_PIECES:
            out = [b"".join(out)]
        self._asked_to_end = False
        self.transcript.add(chunk, out, arrived)
        holds = self.response.holding or self._hold.running
        self._only_passes = not holds and self.transcript.is_shared
        if self._observe:
            return [chunk]
        return self._keep_alive(out) if holds else out

    def end(self, sure: bool | None) -> list[bytes]:
        """Take an empty chunk; `sure` says whether it is the end, None if that is unknown.

        Over HTTP/2 it may be an empty frame in mid-stream, so while a call is held the first empty chunk is ignored.
        """
        if sure is False:
            return []
        if sure is None and self._doubtful_end and self.response.holding and not self._asked_to_end:
            self._asked_to_end = True
            return []
        out = self.response.close()
        if out:
            self.transcript.add(b"", out)
        return [] if self._observe else out

    def _keep_alive(self, out: list[bytes]) -> list[bytes]:
        """Add a keep-alive event if one is due, so that no idle timer of the client fires while a call is held."""
        if not self._hold.running:
            self._found()
        if self._hold.keep_alive_due(self._clock(), holding=self.response.holding, sent_data=has_data(out)):
            event = self.response.keep_alive()
            return [*out, event] if event else out
        return out
