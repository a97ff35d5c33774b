"""One call with an event for its beginning and one for its end, while its fragments arrive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from ..mend.finish import Finish
from ..mend.steps import LIST_INPUT
from . import payload
from .assembled_call import AssembledCall
from .parts import CallStart
from .refusal_reasons import CUT_INSIDE, START_CONTRADICTED

INPUT_FROM_START: Final = "input from the start event"


@dataclass(slots=True)
class BlockCall(AssembledCall):
    """A call that may be released at its own end, if its arguments are complete."""

    held_under: str = ""
    """The key under which its events are held."""
    given: Any = None
    """The arguments in its start event: some servers send them there instead of in fragments."""
    started: bool = False
    """Its start event has arrived; fragments may arrive without one."""
    done: bool = False
    """It was released."""
    valid: bool = False
    """Whether the fragments are one strict JSON object; set by `decide_arguments`."""

    @classmethod
    def of_start(cls, start: CallStart, **more: Any) -> BlockCall:
        """A call from its start event. `more`: other fields."""
        names = [start.name] if start.name else []
        return cls(
            id=start.id,
            names=names,
            extra=start.extra,
            index=start.index,
            key=start.id,
            given=start.given,
            **more,
        )

    def check_arguments(self, text: str, steps: tuple[str, ...]) -> None:
        value = self.read(text)
        self.valid = isinstance(value, dict)
        if payload.contradict((value, self.given)):
            self.refuse(START_CONTRADICTED)
        self.refuse_if_mixed(value)

    def is_whole(self) -> bool:
        """Whether the fragments so far are one strict JSON object and certainly belong to this call."""
        self.decide_arguments()
        return self.valid and not self.refusal_reason

    def is_strict(self) -> bool:
        if not self.fragments:
            return isinstance(self.given, dict) and bool(self.given) and self.suits(self.given)
        if len(self.fragments) > 1:
            self.join("".join(self.fragments))
            self.decided_count = -1  # One fragment now, not yet checked.
        return self.suits(payload.object_in(self.fragments[0]))

    def needs_no_finish(self) -> bool:
        """Whether the call is certainly complete, so that it can be trusted without a finish reason."""
        if self.refusal_reason or self.all_or_none or not self.started:
            return False
        if self.is_whole():
            return True
        given = self.given
        if isinstance(given, str) and payload.object_in(given) is None:
            return False
        return bool(given) and not self.decide_arguments()[0].strip()

    def finish_for(self, finish: Finish) -> Finish:
        if finish is Finish.COMPLETE and not self.ended and self.fragments:
            # The finish reason arrived in the middle of the call: more may follow.
            return Finish.UNKNOWN
        return finish

    def final_arguments(self, finish: Finish) -> tuple[str, tuple[str, ...]]:
        text, steps = self.decide_arguments()
        if text.strip() not in ("", "{}"):
            text, more = _as_object(text)
            return text, (*steps, *more)
        if self.given:
            if not self.ended and finish is not Finish.COMPLETE:
                # Fragments with other arguments may have been cut off.
                self.refuse(CUT_INSIDE)
            text, more = _as_object(payload.text_of(self.given))
            return text, (*steps, *more, INPUT_FROM_START)
        if not text and self.given == {} and (finish is Finish.COMPLETE or (self.ended and self.followed)):
            # Anthropic itself sends a call without arguments as an empty object without fragments. If the model went
            # on after the end of the call, nothing of it is missing.
            return "{}", steps
        return text, steps


def _as_object(text: str) -> tuple[str, tuple[str, ...]]:
    """The arguments as an object: GLM's endpoint sends lists, and an empty list means no arguments.

    (A list of one object is mended with the arguments.)
    """
    if text.lstrip().startswith("[") and payload.read_strict(text) == []:
        return "{}", (LIST_INPUT,)
    return text, ()
