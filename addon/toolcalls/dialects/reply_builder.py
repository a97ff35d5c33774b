"""The verdict on one event while it is being built: what is sent, what is released, what stays held."""

from __future__ import annotations

from ..wire.events import PASS, Hold, Replace, Verdict


class ReplyBuilder:
    """Collects the effects of one event; `verdict` returns the simplest verdict with the same effects."""

    __slots__ = ("_hold", "_raw", "_release", "out")

    def __init__(self, raw: bytes = b"") -> None:
        """`raw`: the bytes of the event."""
        self._raw = raw
        self.out: list[bytes] = []
        self._release: list[str] = []
        self._hold: list[tuple[str, bytes]] = []

    def hold(self, key: str, raw: bytes) -> None:
        self._hold.append((key, raw))

    def release(self, key: str) -> None:
        """Drop everything that is held under the key, including what this event has held there: `out` replaces it."""
        self._release.append(key)
        self._hold = [entry for entry in self._hold if entry[0] != key]

    def add(self, other: Replace) -> None:
        """Add everything that another verdict sends, releases and holds."""
        self.out += other.out
        self._release += other.release
        self._hold += other.hold

    def verdict(self) -> Verdict:
        """The verdict on the event: PASS or Hold if it is simply forwarded or held, otherwise a Replace."""
        if not self._release:
            if not self._hold and len(self.out) == 1 and self.out[0] == self._raw:
                return PASS
            if not self.out and len(self._hold) == 1 and self._hold[0][1] == self._raw:
                return Hold(self._hold[0][0])
        return self.replacement()

    def replacement(self) -> Replace:
        return Replace(tuple(self.out), tuple(self._release), tuple(self._hold))


def replaced(verdict: Verdict, raw: bytes) -> Replace:
    """The verdict on an event that we rewrote, as a Replace, so that the rewritten bytes are sent."""
    if isinstance(verdict, Hold):
        return Replace(hold=((verdict.key, raw),))
    return verdict if isinstance(verdict, Replace) else Replace((raw,))
