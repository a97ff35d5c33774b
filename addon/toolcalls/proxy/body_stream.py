"""The stream callable of a response that is mended, and what is known of all that is held back.

mitmproxy calls one with every chunk. It never raises (an exception would leave the client hanging) and never returns
an empty chunk (which would end a chunked response early). It also sends keep-alive events, which are not recorded.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from ..engine import Response
from ..recording.record import MAX_KEPT, Captured, Exchange

MAX_KEPT_UNOBSERVED = 1024 * 1024
"""The most bytes kept of a response if no view, file or recorder wants them.

Dozens of finished flows wait for the garbage collection at any time, so each must stay small. Nearly every answer is
smaller than this."""
KEEP_ALIVE_SECONDS = 2.0
"""The longest silence for a client while a call keeps arriving. Idle limits that people set are at least seconds."""
_MANY_PIECES = 8
"""More pieces than this are joined: sending one piece takes mitmproxy longer than joining a hundred."""
_DATA = re.compile(rb"^data", re.MULTILINE)


@dataclass(slots=True)
class HoldTimer:
    """How long calls have been held, and how long the client has got no data; updated after each chunk or message."""

    clock: Callable[[], float] = time.monotonic
    held_since: float | None = None
    """None if nothing was held at the last update."""
    silent_since: float = 0.0
    longest: float = 0.0
    """The longest time that a call was held, in seconds."""

    def keep_alive_due(self, *, holding: bool, sent_data: bool) -> bool:
        """Update the timer; whether a keep-alive event should be sent now.

        `sent_data`: an event that resets the idle timers of clients was sent just now.
        """
        if not holding and self.held_since is None:
            return False
        now = self.clock()
        if self.held_since is None:
            self.held_since = self.silent_since = now
        self.longest = max(self.longest, now - self.held_since)
        due = not sent_data and now - self.silent_since >= KEEP_ALIVE_SECONDS
        if sent_data or due:
            self.silent_since = now
        if not holding:
            self.held_since = None
        return due and holding


class HeldBytes:
    """What each answer holds, in the order in which they began to hold; all of them at most `most()` bytes."""

    def __init__(self, most: Callable[[], int] = lambda: sys.maxsize) -> None:
        self._most = most
        self._of: WeakKeyDictionary[object, int] = WeakKeyDictionary()

    @property
    def total(self) -> int:
        return sum(self._of.values())

    def fits(self, answer: object, size: int) -> bool:
        """Note what an answer holds now. False: it must let go of that, because those before it hold too much."""
        if not size:
            self.release(answer)
            return True
        self._of[answer] = size
        room = self._most()
        for other, held in self._of.items():
            room -= held
            if other is answer:
                break
        if room < 0:
            self.release(answer)
        return room >= 0

    def release(self, answer: object) -> None:
        """The answer holds nothing any more, or has ended in any way."""
        self._of.pop(answer, None)


@dataclass(slots=True, eq=False, weakref_slot=True)
class BodyStream:
    """Feeds one response to the engine and keeps at most `most` bytes of it, with the times of chunks if `timed`.

    With `observe` the client gets the bytes as they arrived, and the output of the engine is only kept. `found` is
    called while the stream holds a call; `all_held` knows what every answer of the process holds.
    """

    response: Response
    exchange: Exchange = field(default_factory=Exchange)
    observe: bool = False
    most: int = MAX_KEPT
    timed: bool = False
    clock: Callable[[], float] = time.monotonic
    found: Callable[[], None] = lambda: None
    all_held: HeldBytes = field(default_factory=HeldBytes)
    hold: HoldTimer = field(init=False)

    def __post_init__(self) -> None:
        self.exchange.before, self.exchange.after = Captured(self.most), Captured(self.most)
        self.hold = HoldTimer(self.clock)

    def feed(self, chunk: bytes) -> list[bytes]:
        """The pieces to send to the client for a chunk of the body; an empty one is the end."""
        if not chunk:
            # An empty frame of HTTP/2 comes in the same way as the end: only the event that mitmproxy handles tells.
            event = sys._getframe(1).f_locals.get("event")
            return [] if type(event).__name__ == "ResponseData" else self.end()
        now = self.clock() if self.timed else None
        out = self.response.feed(chunk)
        if len(out) == 1 and out[0] is chunk and self.hold.held_since is None:
            # Nearly every chunk of nearly every answer.
            self.exchange.add(chunk, out, now)
            return out
        if not self.all_held.fits(self, self.response.held_bytes):
            out = [*out, *self.response.stop_holding()]
        if len(out) > _MANY_PIECES:
            out = [b"".join(out)]
        decoded = self.response.decoded
        self.exchange.add(chunk if decoded is None else decoded, out, now)
        if self.observe:
            return [chunk]
        if self.response.holds_call:
            self.found()
        # No idle timer of the client may fire while a call is held; a comment does not reset one that counts events.
        if self.hold.keep_alive_due(holding=self.response.holding, sent_data=any(map(_DATA.search, out))):
            event = self.response.keep_alive()
            return [*out, event] if event else out
        return out

    def end(self) -> list[bytes]:
        out = self.response.close()
        self.exchange.add(b"", out)
        return [] if self.observe else out
