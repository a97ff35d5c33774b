"""How long the calls of an answer are held, and when the client should hear of us meanwhile."""

from __future__ import annotations

import re

KEEP_ALIVE_SECONDS = 2.0
"""So long a client hears nothing of a call that keeps arriving. Idle limits that people set begin at some seconds."""

_DATA = re.compile(rb"^data", re.MULTILINE)


class HoldTimer:
    """Told after each chunk or message of the upstream what was held and what went out."""

    __slots__ = ("_held_since", "_silent_since", "longest")

    def __init__(self, now: float) -> None:
        self._silent_since = now
        self._held_since: float | None = None
        self.longest = 0.0
        """The longest that a call was held."""

    @property
    def running(self) -> bool:
        """Was a call held when we last looked?"""
        return self._held_since is not None

    def keep_alive_due(self, now: float, *, holding: bool, spoke: bool) -> bool:
        """Should the client hear of us now? `spoke`: something that clients count went out just now."""
        if self._held_since is None:
            self._held_since = now
        self.longest = max(self.longest, now - self._held_since)
        due = not spoke and now - max(self._silent_since, self._held_since) >= KEEP_ALIVE_SECONDS
        if not holding:
            self._held_since = None
        if spoke or due:
            self._silent_since = now
        return due and holding


def speaks(out: list[bytes]) -> bool:
    """Is there an event with data in what goes out? A comment resets no timer that counts events."""
    return any(_DATA.search(piece) for piece in out)
