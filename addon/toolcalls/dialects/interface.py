"""The interface of a dialect: the class that every protocol implements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Final

from ..unread.fast_path import Lesson
from ..wire import sse
from ..wire.events import Event, Replace, Verdict
from ..wire.framing import SSE, Framing

KEEP_ALIVE_COMMENT: Final = sse.comment(" toolfix holds a tool call until it is complete")
"""Keeps the connection alive if the protocol has no event for that. Some clients count only events, not comments."""


class Dialect(ABC):
    """One protocol. Sans-IO: events in, verdicts out; its state lives from the first event to `close`.

    A protocol needs `read`, `close` and `body`. The other members have defaults: every event is parsed, and when we
    give up, everything that is held is released unchanged.
    """

    __slots__ = ()

    framing: Framing = SSE
    """How the protocol's streams are cut into events."""

    @property
    def lesson(self) -> Lesson | None:
        """How to handle the following events without parsing them, learnt from the last event passed to `read`.

        Only an event that passed or was held as a whole gives a lesson.
        """
        return None

    @abstractmethod
    def read(self, event: Event) -> Verdict:
        """Take one event and decide what happens to it."""

    def break_off(self, half: Event) -> Verdict:
        """Decide what happens to half an event, with which the stream ended.

        It passes behind everything that is held, unless an end of ours follows or it may keep a client from a call.
        """
        return self.read(half)

    @abstractmethod
    def close(self) -> Replace | None:
        """What has to be sent now that the response is over. May be called more than once."""

    @abstractmethod
    def body(self, body: bytes) -> bytes:
        """Mend a response that arrived as one JSON document; the same bytes if nothing changes."""

    def is_document(self, first: Event) -> bool:
        """Whether the first line of a body may be a whole document. Asked if the protocol streams lines of JSON."""
        return False

    def framing_of(self, body: bytes) -> Framing:
        """The framing of a body that begins like a document but may be a stream."""
        return self.framing

    @property
    def waits(self) -> bool:
        """Whether an event waits until it is known what follows. Meanwhile `read` also gets events without data."""
        return False

    @property
    def converting(self) -> bool:
        """Whether the stream is converted to another protocol, so that no event may pass unchanged."""
        return False

    @property
    def holding(self) -> bool:
        """Whether a call is held that the ledger does not know about, because its events were already replaced."""
        return False

    @property
    def changed_sent_text(self) -> bool:
        """Whether the upstream changed text that the client had already received."""
        return False

    def keep_alive(self) -> bytes:
        """An event without new content, for clients whose idle timer counts events while a call is held.

        Must not change any state: the result must not depend on timing. b"" if the framing has no comments.
        """
        return KEEP_ALIVE_COMMENT if self.framing is SSE else b""

    def abort(self, reason: str) -> tuple[bytes, ...] | None:
        """The end of the response after a failure of ours or at a limit; everything that arrives later is swallowed.

        None: release what is held, unchanged.
        """
        return None
