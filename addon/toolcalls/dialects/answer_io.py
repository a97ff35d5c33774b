"""What a protocol fills in to be a dialect: a reader of its events and a writer of them (`reader_writer.py`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from ..turn.answer import CompletedCall
from ..turn.finish_reason import FinishWords
from ..turn.live import LivePart
from ..turn.parts import ReadEvent
from ..wire.events import Event
from .interface import KEEP_ALIVE_COMMENT


@dataclass(slots=True, frozen=True)
class AnswerForm:
    """How a protocol says things, as far as that decides when they go out."""

    whole_calls: bool = False
    """Does a call come in one piece? Then whatever follows it shows that it is complete; one that the finish reason
    cuts off may be half a call that the server closed."""
    says_complete: bool = False
    """Does every complete answer say so, in one word? Where it does not, nothing is made of its text."""
    splits_end: bool = False
    """Does the finish reason always wait? Then an event with a text too is two, and never goes out as it came."""
    text_key: str = ""
    """The key of the JSON string that holds the text of an event; "" where events are always read."""
    arguments_key: str = ""
    """The key of the JSON string that holds a fragment of arguments; "" likewise."""


class AnswerReader(ABC):
    """One protocol's events → their parts."""

    form = AnswerForm()

    @abstractmethod
    def read(self, event: Event) -> ReadEvent | None:
        """What an event, or a whole body, says; None where it is none of this protocol."""

    def read_apart(self, event: Event) -> list[ReadEvent]:
        """What an event says, one thing after the other, where their order would be lost: each as an event."""
        read = self.read(event)
        return [] if read is None else [read]


class StreamWriter(ABC):
    """What an answer lets go → one protocol's events."""

    words: FinishWords
    """How the protocol says why the model stopped."""
    ids: bool = True
    """Does each call have to have an id? If not, one that came without an id has none."""

    @abstractmethod
    def text(self, read: ReadEvent | None, text: str) -> bytes:
        """An event that says a text, like the one that was read; None: there is none to be like."""

    @abstractmethod
    def rest(self, read: ReadEvent) -> bytes:
        """An event without its text, its calls and its finish reason."""

    @abstractmethod
    def calls(self, read: ReadEvent) -> bytes:
        """An event with nothing but its calls."""

    @abstractmethod
    def call(self, call: CompletedCall) -> bytes:
        """A complete call."""

    @abstractmethod
    def end(self, read: ReadEvent | None, reason: str) -> bytes:
        """The event with the finish reason, and no text and no calls; None: one of ours."""

    def remember(self, read: ReadEvent, *, held: bool = False) -> None:  # noqa: B027 (most writers need nothing of it)
        """An event of the answer that does not go on as it came: those that are written may have to be like it.

        `held`: nothing of it goes out now.
        """

    def beside_calls(self, read: ReadEvent, texts: list[bytes] | None, *, flows: bool) -> list[bytes]:
        """What an event says besides its calls and its finish reason.

        `texts`: events in the place of its text; None: its own text. What goes on with the finish reason is left out.
        `flows`: parts of its calls follow.
        """
        if texts is None:
            texts = [self.text(read, read.text)] if read.text else []
        return [*texts, self.rest(read)] if read.has_other_content and read.stop is None else texts

    def ends_again(self, read: ReadEvent) -> bool:
        """Is this finish reason the one that goes out, although one is waiting?"""
        return True

    def note(self, note: str) -> bytes:
        """A line of text of ours."""
        return self.text(None, note)

    def keep_alive(self) -> bytes:
        """An event that says nothing new."""
        return KEEP_ALIVE_COMMENT

    def live(self, part: LivePart) -> bytes:
        """A part of a call that goes out while it comes. Not asked for where calls come whole."""
        raise NotImplementedError

    def rest_of_call(self, number: int, arguments: str) -> bytes:
        """What the client still lacks of a call that it got while it came. Not asked for where calls come whole."""
        raise NotImplementedError


class AnswerWriter(StreamWriter):
    """What an answer lets go → one protocol's events, or a whole body."""

    @abstractmethod
    def document(self, read: ReadEvent, texts: list[str], calls: list[CompletedCall], reason: str | None) -> bytes:
        """A whole body with these texts in the places of its own, these calls and this finish reason."""
