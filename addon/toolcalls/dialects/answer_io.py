"""The two classes that a protocol implements to become a dialect: a reader and a writer (`reader_writer.py`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic, TypeVar

from ..turn.answer import CompletedCall
from ..turn.finish_reason import FinishWords
from ..turn.fragment_answer import AnswerTraits
from ..turn.live import LivePart
from ..turn.parts import ReadEvent
from ..wire.events import Event
from .interface import KEEP_ALIVE_COMMENT

R = TypeVar("R", bound=ReadEvent)
"""What the reader of the protocol makes of an event."""


@dataclass(slots=True, frozen=True)
class ProtocolTraits(AnswerTraits):
    """The properties of a protocol that decide when something is sent to the client."""

    end_always_waits: bool = False
    """The finish reason always waits, so an event that also contains text is split and never sent unchanged."""
    text_key: str = ""
    """The key of the JSON string that holds the text of an event; "" if events must always be parsed."""
    arguments_key: str = ""
    """The key of the JSON string that holds a fragment of arguments; "" if events must always be parsed."""


class AnswerReader(ABC):
    """Turns the events of one protocol into parts."""

    traits = ProtocolTraits()

    @abstractmethod
    def read(self, event: Event) -> ReadEvent | None:
        """The parts of an event, or of a whole body; None if it does not belong to this protocol."""

    def read_apart(self, event: Event) -> list[ReadEvent]:
        """The event as several events if the order of its parts would otherwise be lost."""
        read = self.read(event)
        return [] if read is None else [read]


class StreamWriter(ABC, Generic[R]):
    """Writes what an answer releases as events of one protocol."""

    words: FinishWords
    """The protocol's finish reasons."""

    @abstractmethod
    def text(self, read: R | None, text: str) -> bytes:
        """An event with this text, modelled on `read`. `read` is None if there is no event to copy from."""

    @abstractmethod
    def calls(self, read: R) -> bytes:
        """The event with nothing but its calls."""

    @abstractmethod
    def call(self, call: CompletedCall) -> bytes:
        """A complete call."""

    @abstractmethod
    def end(self, read: R | None, reason: str) -> bytes:
        """The event with this finish reason, without text and calls. If `read` is None, a new event is made."""

    def remember(self, read: R, *, held: bool = False) -> None:
        """Note an event that is not forwarded unchanged, because events written later may have to resemble it.

        `held`: nothing of the event is sent now.
        """

    @abstractmethod
    def without_calls(self, read: R, texts: list[bytes] | None, *, calls_follow: bool) -> list[bytes]:
        """Everything in an event except its calls, its finish reason and what is sent together with that reason.

        `texts`: events that replace the event's text; None: keep its own text.
        `calls_follow`: parts of the event's calls are sent right after this.
        """

    def ends_again(self, read: R) -> bool:
        """Whether this event with a finish reason replaces the one that is already waiting."""
        return True

    def note(self, note: str) -> bytes:
        """A line of text that toolfix adds."""
        return self.text(None, note)

    def keep_alive(self) -> bytes:
        """An event without new content."""
        return KEEP_ALIVE_COMMENT

    def live(self, part: LivePart) -> bytes:
        """A part of a call that is sent while it arrives. Never needed if calls arrive in one piece."""
        raise NotImplementedError

    def rest_of_call(self, number: int, arguments: str) -> bytes:
        """The missing end of a call that was sent while it arrived. Never needed if calls arrive in one piece."""
        raise NotImplementedError


class AnswerWriter(StreamWriter[ReadEvent]):
    """Writes what an answer releases as events of one protocol, or as a whole body."""

    @abstractmethod
    def rest(self, read: ReadEvent) -> bytes:
        """The event without its text, its calls and its finish reason."""

    def without_calls(self, read: ReadEvent, texts: list[bytes] | None, *, calls_follow: bool) -> list[bytes]:
        if texts is None:
            texts = [self.text(read, read.text)] if read.text else []
        return [*texts, self.rest(read)] if read.has_other_content and read.stop is None else texts

    @abstractmethod
    def document(self, read: ReadEvent, texts: list[str], calls: list[CompletedCall], reason: str | None) -> bytes:
        """The whole body with its texts replaced by these, and with these calls and this finish reason."""
