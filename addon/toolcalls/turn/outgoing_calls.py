"""What happens to the calls of one answer, in any protocol.

A dialect gathers calls and passes them in when they may be released. This module decides for each call whether it
was sent before, whether it is mended or refused, whether a call in the text repeats a structured one, and which note
the client gets if calls were dropped and none is left. The dialect writes the outcomes.
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
from .live import LiveCall
from .refusal_reasons import CUT_BEFORE, SENT_WHOLE
from .resent import ComparedCall, ResentCalls

WRITTEN_AS_TEXT: Final = "written as text"
WRITTEN_AS_REASONING: Final = "written as reasoning"


@dataclass(slots=True)
class GatheredCall:
    """A call as it arrived, with everything that decides what happens to it."""

    name: str
    arguments: str
    id: str | None = ""
    """The id that the upstream gave; None if calls have no ids."""
    steps: tuple[str, ...] = ()
    """What had to be done to gather it."""
    refusal_reason: str = ""
    """Why it must be refused, whatever its arguments are."""
    finish: Finish = Finish.COMPLETE
    """How the answer ended for this call."""
    namespace: str | None = None
    value: dict[str, Any] | None = None
    """The arguments as strict JSON, if they were parsed already: they may be long."""
    live: LiveCall | None = None
    """The part of it that the client already has."""
    compared: ComparedCall = field(default_factory=lambda: ComparedCall("", "", ""))
    """Its form for comparisons with the other calls of the answer."""


class OutgoingCalls:
    """The calls of one answer on their way to the client: which were sent, and which were not."""

    __slots__ = (
        "_awaits_arguments",
        "_invalid_tail",
        "_mender",
        "_safe_ids",
        "_uncompared",
        "_values",
        "found",
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
        invalid_tail: str = "",
        awaits_arguments: bool = True,
    ) -> None:
        """`safe_ids`: ids may only have the characters that Messages allows. `invalid_tail`: text that ends a refused
        live call, for clients that run even a prefix. `awaits_arguments`: a cut-off call without arguments is
        incomplete."""
        self._mender = mender
        self._safe_ids = safe_ids
        self._invalid_tail = invalid_tail
        self._awaits_arguments = awaits_arguments
        self.found: list[tuple[FoundCall, str]] = []
        """The calls found in text that were not released, each with the step that says where it was found."""
        self._uncompared: list[Outcome] = []
        """The outcomes of structured calls that no call in the text has been compared with yet."""
        self._values: dict[str, list[tuple[Any, Outcome]]] = {}
        """The arguments and outcomes of the other structured calls, by tool name: each is parsed once."""
        self.resent = ResentCalls(tools)
        self.sent = 0
        """How many calls the client got, live ones and those that are not ours to mend included."""
        self.notes: list[str] = []
        """The notes about dropped calls."""

    def complete(self, calls: list[GatheredCall], *, drop_refused: bool = False) -> Iterator[Outcome | None]:
        """The outcome of each structured call; None if it was sent before, or is no call.

        Each call is decided when its outcome is taken, so that ids are given in the order of the written calls.
        """
        self.resent.compare([call.compared for call in calls])
        for call in calls:
            if not call.compared.kept or not (call.name or call.arguments or call.refusal_reason):
                yield None
                continue
            if self._safe_ids and call.live is None and not self._mender.ids.keeps(call.id or ""):
                call.steps = (*call.steps, "new id")
            if call.compared.sent_whole:
                call.refusal_reason = call.refusal_reason or SENT_WHOLE
            outcome = self._decide(call, drop_refused)
            self._uncompared.append(outcome)
            yield outcome

    def add_found(self, calls: Iterable[FoundCall], step: str = WRITTEN_AS_TEXT) -> None:
        """Add calls that were found outside the structured calls: in the text, unless `step` says otherwise."""
        self.found += [(call, step) for call in calls]

    def complete_found(self, *, drop_refused: bool = False) -> Iterator[tuple[FoundCall, Outcome, bool]]:
        """The calls in the text, their outcomes, and whether each is a call of its own.

        If a structured call repeats it, the outcome is that of the structured call.
        """
        found, self.found = self.found, []
        for call, step in found:
            structured = self._repeated_by(call)
            if structured is not None:
                yield call, structured, False
                continue
            # It is complete, however the answer ended, and gets a new id.
            yield call, self._decide(GatheredCall(call.name, call.arguments, steps=(step,)), drop_refused), True

    def pop_notes(self) -> list[str]:
        """The notes about dropped calls, if the client got no call at all."""
        notes, self.notes = self.notes, []
        return [] if self.sent else list(filter(None, notes))

    def _decide(self, call: GatheredCall, drop_refused: bool) -> Outcome:
        """Mend or refuse a call, and count it."""
        refusal_reason = call.refusal_reason
        if not refusal_reason and self._awaits_arguments and call.finish is not Finish.COMPLETE:
            refusal_reason = "" if call.arguments.strip() else CUT_BEFORE
        if call.live is not None:
            outcome = self._mender.mend_rest(
                call.name,
                call.arguments,
                call.live.sent,
                call.finish,
                steps=call.steps,
                drop_refused=drop_refused,
                invalid_tail=self._invalid_tail,
                refusal_reason=call.refusal_reason,
            )
        elif refusal_reason:
            outcome = self._mender.refuse(
                call.name,
                call.arguments,
                refusal_reason,
                namespace=call.namespace,
                steps=call.steps,
                # Without a name there is no call to send the refusal in, so the call is dropped.
                drop_refused=drop_refused or (bool(call.refusal_reason) and not call.name),
                id=call.id,
                safe_ids=self._safe_ids,
            )
        else:
            outcome = self._mender.mend(
                call.name,
                call.arguments,
                call.finish,
                namespace=call.namespace,
                steps=call.steps,
                drop_refused=drop_refused,
                id=call.id,
                safe_ids=self._safe_ids,
                value=call.value,
            )
        if outcome.dropped:
            self.notes.append(outcome.note)
        elif call.live is None:
            self.sent += 1
        return outcome

    def _repeated_by(self, call: FoundCall) -> Outcome | None:
        """The outcome of the structured call that has the same name and arguments."""
        for outcome in self._uncompared:
            self._values.setdefault(outcome.name, []).append((_value(outcome.arguments), outcome))
        self._uncompared.clear()
        alike = self._values.get(call.name)
        value = _value(call.arguments) if alike else None
        return next((outcome for other, outcome in alike or () if other == value), None)


def _value(arguments: str) -> Any:
    return mend_arguments(arguments, Finish.COMPLETE).value
