"""Measures how long the calls of an answer are held, and when the client should get a keep-alive event meanwhile."""

from __future__ import annotations

import re

KEEP_ALIVE_SECONDS = 2.0
"""The longest silence for a client while a call keeps arriving. Idle limits that people set are at least seconds."""

_DATA = re.compile(rb"^data", re.MULTILINE)


class HoldTimer:
    """How long calls have been held, and how long the client has got no data; updated after each chunk or message."""

    __slots__ = ("_held_since", "_silent_since", "longest", "running")

    def __init__(self, now: float) -> None:
        self._silent_since = now
        self._held_since = now
        self.running = False
        """Whether a call was held at the last update."""
        self.longest = 0.0
        """The longest time that a call was held, in seconds."""

    def keep_alive_due(self, now: float, *, holding: bool, sent_data: bool) -> bool:
        """Update the timer; whether a keep-alive event should be sent now.

        `sent_data`: an event that resets the idle timers of clients was sent just now.
        """
        if not self.running:
            self._held_since = now
        self.longest = max(self.longest, now - self._held_since)
        due = not sent_data and now - max(self._silent_since, self._held_since) >= KEEP_ALIVE_SECONDS
        self.running = holding
        if sent_data or due:
            self._silent_since = now
        return due and holding


def has_data(out: list[bytes]) -> bool:
    """Whether these pieces contain an event with data. A comment does not reset a timer that counts events."""
    return any(_DATA.search(piece) for piece in out)
