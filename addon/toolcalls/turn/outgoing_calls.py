"""What becomes of the calls of one answer, whatever its protocol.

A dialect gathers calls and hands them over when they may leave. Here it is decided, call by call: was it sent before,
is it mended or refused, does a structured call say what one in the text says, what is told to the client where a call
was dropped and none is left. The dialect writes what comes back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from ..mend.arguments import Finish, mend_arguments
from ..mend.mender import Mender
from ..outcome import Outcome
from ..textcalls.scanner import FoundCall
from ..tools.declared import Tools
from .live import LiveArguments
from .resent import ComparedCall, ResentCalls

WRITTEN_AS_TEXT: Final = "written as text"
WRITTEN_AS_REASONING: Final = "written as reasoning"
CUT_INSIDE: Final = "the answer was cut off before the call was complete"
_CUT_BEFORE: Final = "the answer was cut off before the arguments"


@dataclass(slots=True)
class GatheredCall:
    """A call as the answer told it: all that decides what becomes of it."""

    name: str
    arguments: str
    id: str | None = ""
    """The id that the upstream gave; None where calls have no ids."""
    steps: tuple[str, ...] = ()
    """What had to be done to gather it."""
    doubt: str = ""
    """Why it must not run, whatever its arguments are."""
    unfinished: bool = False
    """It was cut off with the answer: where it is refused, it is dropped without a word."""
    finish: Finish | None = None
    """How the answer ended for this call, where that is not how it ended for the others."""
    namespace: str | None = None
    value: dict[str, Any] | None = None
    """The arguments as they are read strictly, where somebody had to look already: they may be long."""
    live: LiveArguments | None = None
    """The part of its arguments that the client has already."""
    compared: ComparedCall = field(default_factory=lambda: ComparedCall("", "", ""))
    """What it is compared by with the other calls of the answer."""


class OutgoingCalls:
    """The calls of one answer on their way to the client: which went out, and which did not."""

    __slots__ = (
        "_awaits_arguments",
        "_found",
        "_mender",
        "_safe_ids",
        "_spoiler",
        "_uncompared",
        "_values",
        "notes",
        "resent",
        "sent",
    )

    def __init__(
        self,
        tools: Tools,
        mender: Mender,
        *,
        safe_ids: bool = False,
        spoiler: str = "",
        awaits_arguments: bool = True,
    ) -> None:
        """`safe_ids`: ids have the alphabet of Messages. `spoiler`: ends a live call that is refused, where clients
        run even a prefix. `awaits_arguments`: a cut-off call without any arguments is half a call."""
        self._mender = mender
        self._safe_ids = safe_ids
        self._spoiler = spoiler
        self._awaits_arguments = awaits_arguments
        self._found: list[tuple[FoundCall, str]] = []
        """With the step that says where each was found."""
        self._uncompared: list[Outcome] = []
        """What became of structured calls that no call in the text was compared with yet."""
        self._values: dict[str, list[Any]] = {}
        """The arguments of the others, by the names of their tools: each is read once."""
        self.resent = ResentCalls(tools)
        self.sent = 0
        """How many calls the client got."""
        self.notes: list[str] = []
        """What is to be said of calls that were dropped."""

    def complete(
        self, calls: Iterable[GatheredCall], finish: Finish, *, before_error: bool = False
    ) -> Iterator[Outcome | None]:
        """What becomes of each of these structured calls; None where it was sent before, or is none.

        Each is decided when it is asked for, so that ids are given in the order in which calls are written.
        """
        batch = list(calls)
        for call, kept in zip(batch, self.resent.keep_new(call.compared for call in batch), strict=True):
            if not kept or not (call.name or call.arguments or call.doubt):
                yield None
                continue
            if self._safe_ids and call.live is None and not self._mender.ids.keeps(call.id or ""):
                call.steps = (*call.steps, "new id")
            outcome = self._decide(call, call.finish or finish, before_error or call.unfinished)
            self._uncompared.append(outcome)
            yield self._count(outcome, live=call.live is not None)

    def found(self, calls: Iterable[FoundCall], step: str = WRITTEN_AS_TEXT) -> None:
        """Calls that were written where none should be: in the text, unless the step says otherwise."""
        self._found += [(call, step) for call in calls]

    @property
    def has_found(self) -> bool:
        return bool(self._found)

    def complete_found(self, *, before_error: bool = False) -> Iterator[Outcome]:
        """What becomes of the calls in the text. One that a structured call says too is that call."""
        found, self._found = self._found, []
        for call, step in found:
            if not self._is_structured_too(call):
                # It is whole, however the answer ended, and gets an id of ours.
                gathered = GatheredCall(call.name, call.arguments, steps=(step,))
                yield self._count(self._decide(gathered, Finish.COMPLETE, before_error))

    def pop_notes(self) -> list[str]:
        """What is to be said of dropped calls, if no call is left that the client could answer."""
        notes, self.notes = self.notes, []
        return [] if self.sent else list(filter(None, notes))

    def _decide(self, call: GatheredCall, finish: Finish, before_error: bool) -> Outcome:
        name, arguments, steps = call.name, call.arguments, call.steps
        if call.live is not None:
            return self._mender.mend_rest(
                name,
                arguments,
                call.live.sent,
                finish,
                steps=steps,
                before_error=before_error,
                spoiler=self._spoiler,
                doubt=call.doubt,
            )
        doubt = call.doubt
        if self._awaits_arguments and not doubt and finish is not Finish.COMPLETE and not arguments.strip():
            doubt = _CUT_BEFORE
        if doubt:
            # Without a name there is nobody to tell.
            unfinished = before_error or (bool(call.doubt) and not name)
            return self._mender.refuse(
                name, arguments, doubt, steps=steps, before_error=unfinished, id=call.id, safe_ids=self._safe_ids
            )
        return self._mender.mend(
            name,
            arguments,
            finish,
            namespace=call.namespace,
            steps=steps,
            before_error=before_error,
            id=call.id,
            safe_ids=self._safe_ids,
            value=call.value,
        )

    def count_sent(self) -> None:
        """The client got the beginning of a live call, or a call that is none of ours to mend."""
        self.sent += 1

    def _count(self, outcome: Outcome, *, live: bool = False) -> Outcome:
        if outcome.dropped:
            self.notes.append(outcome.note)
        elif not live:
            self.sent += 1
        return outcome

    def _is_structured_too(self, call: FoundCall) -> bool:
        for outcome in self._uncompared:
            self._values.setdefault(outcome.name, []).append(_value(outcome.arguments))
        self._uncompared.clear()
        alike = self._values.get(call.name)
        return alike is not None and _value(call.arguments) in alike


def _value(arguments: str) -> Any:
    return mend_arguments(arguments, Finish.COMPLETE).value
