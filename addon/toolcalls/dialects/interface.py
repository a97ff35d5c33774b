"""What a dialect is: the one class that every protocol fills in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Final

from ..unread.fast_path import Lesson
from ..wire import sse
from ..wire.events import Event, Replace, Verdict
from ..wire.framing import SSE, Framing

KEEP_ALIVE_COMMENT: Final = sse.comment(" toolfix holds a tool call until it is complete")
"""For want of an event of the protocol: it keeps a connection alive, but some clients count events only."""


class Dialect(ABC):
    """One protocol. Sans-IO: events in, verdicts out; its state lives from the first event to `close`.

    A protocol needs `read`, `close` and `body`. The other members have defaults: every event is read, and when we
    give up, what is held goes out as it came.
    """

    __slots__ = ()

    framing: Framing = SSE
    """How its streams are cut into events."""

    @property
    def lesson(self) -> Lesson | None:
        """What the last event that was read, and that passed or was held whole, says about those that follow it."""
        return None

    @abstractmethod
    def read(self, event: Event) -> Verdict:
        """Take one event."""

    @abstractmethod
    def close(self) -> Replace | None:
        """The response is over: what has to go out now. May be called again."""

    @abstractmethod
    def body(self, body: bytes) -> bytes:
        """Mend a response that came as one JSON document; the same bytes when nothing changes."""

    def is_document(self, first: Event) -> bool:
        """May the first line of a body be all of it? Asked where streams are lines, as a document is."""
        return False

    def framing_of(self, body: bytes) -> Framing:
        """How a body is cut that begins as a document does."""
        return self.framing

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

    @property
    def changed_sent_text(self) -> bool:
        """Did the upstream change text that the client had already received?"""
        return False

    def keep_alive(self) -> bytes:
        """An event that says nothing new, for a client whose idle timer counts events while a call is held.

        Changes nothing here: what the answer becomes must not depend on the time that it took. Nothing where a
        framing has no comments.
        """
        return KEEP_ALIVE_COMMENT if self.framing is SSE else b""

    def abort(self, reason: str) -> tuple[bytes, ...] | None:
        """We fail, or the limit is reached: the end of the response, behind which whatever still comes is swallowed.

        None: release what is held as it came.
        """
        return None
