"""The verdict on one event while it is being made: what goes out, what it releases, what stays held."""

from __future__ import annotations

from ..wire.events import PASS, Event, Hold, Replace, Verdict


class ReplyBuilder:
    """Filled by a dialect; `verdict` gives the plainest verdict that says the same."""

    __slots__ = ("_event", "_hold", "_release", "out")

    def __init__(self, event: Event | None = None) -> None:
        self._event = event
        self.out: list[bytes] = []
        self._release: list[str] = []
        self._hold: list[tuple[str, bytes]] = []

    def hold(self, key: str, raw: bytes) -> None:
        self._hold.append((key, raw))

    def release(self, key: str) -> None:
        """What is held under the key is replaced now, also what this very event holds there."""
        self._release.append(key)
        self._hold = [entry for entry in self._hold if entry[0] != key]

    def add(self, other: Replace) -> None:
        """Send, release and hold all that this does too."""
        self.out += other.out
        self._release += other.release
        self._hold += other.hold

    def verdict(self) -> Verdict:
        """What the dialect says about the event: that it passes or is held as it came, where that is all."""
        raw = self._event.raw if self._event else b""
        if not self._release:
            if not self._hold and len(self.out) == 1 and self.out[0] == raw:
                return PASS
            if not self.out and len(self._hold) == 1 and self._hold[0][1] == raw:
                return Hold(self._hold[0][0])
        return self.replacement()

    def replacement(self) -> Replace:
        return Replace(tuple(self.out), tuple(self._release), tuple(self._hold))
