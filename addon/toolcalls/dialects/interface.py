"""What a dialect is: the one class that every protocol fills in."""

from __future__ import annotations

from abc import ABC, abstractmethod

from ..wire.events import Event, Hold, Replace, Verdict


class Dialect(ABC):
    """One protocol. Sans-IO: events in, verdicts out; its state lives from the first event to `close`.

    A protocol needs `read`, `close` and `body`. The other members have defaults: nothing passes unread, nothing is
    held unread, and when we give up, what is held goes out as it came.
    """

    __slots__ = ()

    @abstractmethod
    def read(self, event: Event) -> Verdict:
        """Take one event."""

    @abstractmethod
    def close(self) -> Replace | None:
        """The response is over: what has to go out now. May be called again."""

    @abstractmethod
    def body(self, body: bytes) -> bytes:
        """Mend a response that came as one JSON document; the same bytes when nothing changes."""

    @property
    def reads_everything(self) -> bool:
        """Has a call been seen, so that every event is read from here on? Before, blocks may pass unread."""
        return True

    def try_pass(self, block: bytes) -> bool:
        """A cheap first look at whole events: True only if none of them can concern us."""
        return False

    def try_hold(self, block: bytes) -> Hold | None:
        """Take a block of nothing but fragments of one call without reading its events; None to have them read."""
        return None

    @property
    def waits(self) -> bool:
        """Is an event kept back until it is known what follows? Then events without data are given to `read` too."""
        return False

    @property
    def converting(self) -> bool:
        """Is another protocol made of this one? Then nothing passes as it came."""
        return False

    @property
    def holding(self) -> bool:
        """Is a call kept back of which the ledger knows nothing, because its events were answered?"""
        return False

    def abort(self, reason: str) -> tuple[bytes, ...] | None:
        """We fail, or the limit is reached: the end of the response, behind which whatever still comes is swallowed.

        None: release what is held as it came.
        """
        return None
