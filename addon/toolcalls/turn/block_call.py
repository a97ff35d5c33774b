"""One call that begins and ends with events of its own, while its fragments come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from ..mend.finish import Finish
from . import payload
from .assembled_call import AssembledCall
from .outgoing_calls import CUT_INSIDE
from .parts import CallStart

CONTRADICTION: Final = "the start of the call and its fragments tell different arguments"
INPUT_FROM_START: Final = "input from the start event"
LIST_INPUT: Final = "list input"


@dataclass(slots=True)
class BlockCall(AssembledCall):
    """A call that may leave at its own end, if its arguments are whole."""

    held_under: str = ""
    """The key under which its events are held."""
    given: Any = None
    """The arguments that its beginning told: some servers use that instead of fragments."""
    started: bool = False
    """Its beginning came: fragments may come without any."""
    ended: bool = False
    done: bool = False
    """It went out."""
    valid: bool = False
    """Are the fragments one strict JSON object? Known once they are settled."""

    @classmethod
    def of_start(cls, start: CallStart, *, started: bool = True) -> BlockCall:
        """A call as its beginning tells it."""
        names = [start.name] if start.name else []
        return cls(
            id=start.id,
            names=names,
            extra=start.extra,
            place=start.place,
            key=start.id,
            given=start.given,
            started=started,
        )

    def look_at(self, text: str, steps: tuple[str, ...]) -> None:
        value = self.read(text)
        self.valid = isinstance(value, dict)
        if payload.contradict((value, self.given)):
            self.doubt = self.doubt or CONTRADICTION
        self.doubt_if_mixed(value)

    def is_whole(self) -> bool:
        """Are the fragments so far strictly valid, and beyond doubt those of this call?"""
        self.settle()
        return self.valid and not self.doubt

    def is_strict(self) -> bool:
        if not self.fragments:
            return isinstance(self.given, dict) and bool(self.given)
        if len(self.fragments) > 1:
            self.join("".join(self.fragments))
            self.joined, self.settled = (0, "", ()), -1  # They are one fragment now, and not settled.
        return payload.object_in(self.fragments[0]) is not None

    def ready(self) -> bool:
        """Complete beyond doubt: it needs no finish reason to be believed."""
        if self.doubt or self.unsure:
            return False
        if self.is_whole():
            return True
        given = self.given
        if isinstance(given, str) and payload.object_in(given) is None:
            return False
        return bool(given) and not self.settle()[0].strip()

    def finish_for(self, finish: Finish) -> Finish:
        if finish is Finish.COMPLETE and not self.ended and self.fragments:
            # A finish reason in the middle of a call: more of it may follow.
            return Finish.UNKNOWN
        return finish

    def final_arguments(self, finish: Finish) -> tuple[str, tuple[str, ...]]:
        text, steps = self.settle()
        if text.strip() not in ("", "{}"):
            text, more = _as_object(text)
            return text, (*steps, *more)
        if self.given:
            if not self.ended and finish is not Finish.COMPLETE:
                # Fragments may have been cut off that say something else.
                self.doubt = self.doubt or CUT_INSIDE
            text, more = _as_object(payload.text_of(self.given))
            return text, (*steps, *more, INPUT_FROM_START)
        if not text and self.given == {} and (finish is Finish.COMPLETE or (self.ended and self.followed)):
            # An empty object and no fragment is how Anthropic itself sends a call without arguments. Where the model
            # went on behind the end of the call, that was all of it.
            return "{}", steps
        return text, steps


def _as_object(text: str) -> tuple[str, tuple[str, ...]]:
    """GLM's endpoint sends lists; an empty one is no input. (One of a single object is mended with the arguments.)"""
    if text.lstrip().startswith("[") and payload.read_strict(text) == []:
        return "{}", (LIST_INPUT,)
    return text, ()
