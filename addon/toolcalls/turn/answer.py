"""One answer while it arrives, in any protocol: its text, its calls, and how it ended.

A dialect's reader passes in the parts of an event; what is returned may be sent, and the dialect's writer turns it
into events. Text is returned at once, unless it may be a call; calls are returned when the dialect says that they
may be released.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from ..mend.finish import Finish
from ..mend.mender import Mender
from ..outcome import Outcome
from ..policy import Policy
from ..request.request import Request
from .assembled_call import AssembledCall
from .finish_reason import FinishWords
from .fragments import full_name
from .live import LiveCall, LivePart
from .outgoing_calls import WRITTEN_AS_REASONING, GatheredCall, OutgoingCalls
from .reasoning_search import ReasoningSearch
from .refusal_reasons import CUT_INSIDE, RENAMED_LIVE
from .structured_text import StructuredText, mends_structured
from .text_search import SearchResult, TextPiece, TextSearch, is_searched


@dataclass(slots=True)
class CompletedCall:
    """A call that is decided and released. `number`: its position among the calls that the client gets."""

    outcome: Outcome
    number: int
    extra: dict[str, Any] = field(default_factory=dict)
    """Whatever else the upstream sent about it."""
    pieces: list[str] = field(default_factory=list)
    """Its arguments, already escaped, if they are long."""
    assembled: AssembledCall | None = None
    """Its fragments; None if it was written as text."""

    @property
    def live(self) -> LiveCall | None:
        """The part of it that the client already has."""
        return self.assembled.live if self.assembled is not None else None

    @property
    def unchanged(self) -> bool:
        """Whether the client gets the call as it arrived."""
        assembled, outcome = self.assembled, self.outcome
        if assembled is None or outcome.dropped:
            return False
        return outcome.status == "valid" and outcome.id in (assembled.id, "")


C = TypeVar("C", bound=AssembledCall)


class Answer(ABC, Generic[C]):
    """The state of one answer: a choice, a message, a candidate. Its subclasses know how its calls are gathered."""

    __slots__ = (
        "_finishes",
        "_live_answer",
        "_live_keys",
        "_mender",
        "_policy",
        "_tools",
        "examines_text",
        "finds_calls",
        "incomplete",
        "model_refused",
        "needs_ids",
        "other_tools",
        "outgoing",
        "reasoning",
        "reasons",
        "search",
    )

    def __init__(
        self,
        request: Request,
        policy: Policy,
        mender: Mender,
        outgoing: OutgoingCalls,
    ) -> None:
        self._policy = policy
        self._mender = mender
        self._tools = request.tools
        self.finds_calls = is_searched(request, policy)
        """Whether text is searched for calls."""
        self.search: TextSearch | StructuredText | None = None
        """The search that the current text goes through."""
        self.reasoning = ReasoningSearch(request, policy) if self.finds_calls else None
        self.examines_text = self.finds_calls or mends_structured(request, policy)
        """Whether text is searched for calls, or mended because the request asked for JSON."""
        self.outgoing = outgoing
        self._live_keys: set[str] = set()
        """The keys of calls that were sent while they arrived: a later call with such a key may be a repetition."""
        self._live_answer: str | None = None
        """The id of the answer in which the first of them began: a call of another answer may be a repetition too."""
        self.needs_ids = True
        """Every call needs an id. False: a call that arrived without one is sent without one."""
        self.incomplete = False
        """Of the calls released last, one was refused or turned out to be no call."""
        self.other_tools = False
        """The server called tools of its own."""
        self.model_refused = False
        """The model refused to answer: nothing in its text is a call."""
        self.reasons: list[str] = []
        self._finishes: list[Finish] = []

    @property
    def has_pending_calls(self) -> bool:
        """Whether a call has been found or gathered that has not been released."""
        return bool(self.outgoing.found)

    @property
    def _last_call(self) -> C | None:
        """The structured call that began last, if it has not been released."""
        return None

    def spend(self, steps: int) -> None:
        """Take `steps` from the work budget of the response."""
        self._mender.work.spend(steps)

    # Text

    def take_text(self, text: str, source: bytes | None = None) -> SearchResult | None:
        """Search a text; None if it is sent unchanged. `source`: the event that contains only this text."""
        if self.search is None or not text:
            return None
        self.search.behind = self._last_call
        result = self.search.take(text, source)
        self.outgoing.add_found(result.calls)
        return None if len(result.parts) == 1 and result.text == text and not self.search.holding else result

    def take_reasoning(self, text: str) -> SearchResult | None:
        """Take reasoning. Text held before it is no call: it is returned."""
        if self.reasoning is not None:
            self.reasoning.take(text)
        return None if text.isspace() else self._release_undecided()

    def take_other(self, shown: str | None = "") -> SearchResult | None:
        """Note content that is not searched, like a citation. Text held before it is no call: it is returned.

        `shown`: text that the client sees in it, so a call that follows may be quoted by it. None: there may be text
        that cannot be read, so nothing that follows is a call.
        """
        if self.reasoning is not None:
            self.reasoning.rule_out_calls()
        if shown == "" or self.search is None:
            return self._release_undecided()
        before = self.search.stop() if shown is None else self.search.show(shown)
        return before if before.parts else None

    def _release_undecided(self) -> SearchResult | None:
        return self.search.release() if self.search is not None and self.search.undecided else None

    def release_text(self) -> SearchResult:
        """Release the held text, because a call is sent now that follows it: the text itself is no call."""
        return self.search.release() if self.search is not None and self.search.holding else SearchResult()

    def would_quote_after(self, text: str) -> bool:
        """Whether a call that followed the text so far and `text` would be quoted or only an example."""
        search = self.search.search if isinstance(self.search, StructuredText) else self.search
        return search is not None and search.would_quote_after(text)

    @property
    def held_text(self) -> str:
        return self.search.held if self.search is not None else ""

    @property
    def undecided(self) -> bool:
        """Whether held text, or reasoning that passed, may still become a call, depending on what follows."""
        return self.text_undecided or self._reasoning_may_be_call

    @property
    def text_undecided(self) -> bool:
        """Whether held text may still become a call, depending on what follows."""
        return self.search is not None and self.search.undecided

    @property
    def _reasoning_may_be_call(self) -> bool:
        """Whether the reasoning ends with a call or the beginning of one, and the answer has nothing else."""
        reasoning = self.reasoning
        if reasoning is None or self.outgoing.sent or self.has_pending_calls or not reasoning.undecided:
            return False
        return not self._has_text

    @property
    def _has_text(self) -> bool:
        """Whether the answer has text other than white space."""
        return self.search is not None and self.search.has_text

    def end_text(self, finish: Finish) -> SearchResult:
        """The text is over: decide whether held text, or the end of the reasoning, is a call."""
        if self.search is None:
            return SearchResult()
        self.end_reasoning(finish)
        result = self.search.close(self._finish_of_text(finish))
        self.outgoing.add_found(result.calls)
        return result

    def end_reasoning(self, finish: Finish) -> None:
        """The reasoning is over: take the call that it may end with."""
        if self.reasoning is not None and self._reasoning_may_be_call:
            self.outgoing.add_found(self.reasoning.close(self._finish_of_text(finish)), WRITTEN_AS_REASONING)

    def finish_unless_refused(self, finish: Finish) -> Finish:
        """How the answer ended, if its finish reason says `finish`: a model that refuses to answer breaks it off."""
        return Finish.CUT if self.model_refused else finish

    def _finish_of_text(self, finish: Finish) -> Finish:
        """How the text ended, if the answer ended with `finish`."""
        return self.finish_unless_refused(finish)

    def search_whole(self, text: str, finish: Finish) -> SearchResult:
        """Search the last text of an answer that arrived as a whole."""
        result = self.take_text(text)
        parts = result.parts if result is not None else (TextPiece(text),) if text else ()
        return SearchResult(parts + self.end_text(finish).parts)

    # Calls

    def next_live_part(self, call: C) -> LivePart | None:
        """The part of a call that may be sent before it is complete (`toolfix_aggregate=false`); None: nothing."""
        live = self.go_live(call)
        return live.next_part(call) if live is not None else None

    def go_live(self, call: C) -> LiveCall | None:
        """The state of a call that is sent while it arrives; None if the call has to wait."""
        if call.live is None and not self._may_repeat(call) and self._may_go_live(call):
            call.live = self._new_live(call)
            self._live_keys.add(call.key)
            self._live_answer = call.answer_id if self._live_answer is None else self._live_answer
            self.outgoing.sent += 1
        return call.live

    def _may_repeat(self, call: C) -> bool:
        """Whether the call must be compared before it is sent: another one has its key or is of another answer."""
        if self._live_answer not in (None, call.answer_id):
            return True
        named = bool(call.id) and call.key in self._live_keys
        return named or self.outgoing.resent.knows(call.key)

    @abstractmethod
    def _may_go_live(self, call: C) -> bool:
        """Whether everything that the client gets first of a call is known and final."""

    @abstractmethod
    def _new_live(self, call: C) -> LiveCall:
        """The state of a call of which the client gets the first part now."""

    def release(
        self, assembled_calls: Sequence[C], finish: Finish, *, drop_refused: bool = False
    ) -> list[CompletedCall]:
        """Decide and release these calls and all that were found in text, in the order in which they were made."""
        gathered = self._complete_gathered(assembled_calls, finish, drop_refused)
        found = list(self._complete_found(gathered, drop_refused))
        out = self._in_order(assembled_calls, gathered, found) if found else gathered
        self.incomplete = self.incomplete or any(call.outcome.status == "refused" for call in out)
        return out

    def _complete_gathered(
        self, assembled_calls: Sequence[C], finish: Finish, drop_refused: bool
    ) -> list[CompletedCall]:
        """Decide these calls, and return those that are not repetitions."""
        calls = [self._gathered(assembled, finish) for assembled in assembled_calls]
        out: list[CompletedCall] = []
        outcomes = self.outgoing.complete(calls, drop_refused=drop_refused)
        self.incomplete = False
        for assembled, call, outcome in zip(assembled_calls, calls, outcomes, strict=True):
            if outcome is not None:
                whole = assembled.live is None and not outcome.dropped
                pieces = assembled.pieces(outcome.arguments) if whole else []
                out.append(CompletedCall(outcome, self.outgoing.sent - 1, assembled.extra, pieces, assembled))
            self.incomplete = self.incomplete or (
                call.compared.kept if outcome is None else outcome.status == "refused"
            )
        return out

    def _complete_found(
        self, gathered: Sequence[CompletedCall], drop_refused: bool
    ) -> Iterator[tuple[C | None, CompletedCall]]:
        """The calls that were written as text, each with the structured call before the text.

        One that a call of `gathered` repeats is that call; one that was sent earlier is left out.
        """
        structured = {id(call.outcome): call for call in gathered}
        for call, outcome, new in self.outgoing.complete_found(drop_refused=drop_refused):
            if new:
                # `sent` must be read right after each call is decided and counted.
                yield call.behind, CompletedCall(outcome, self.outgoing.sent - 1)
            elif id(outcome) in structured:
                yield call.behind, structured.pop(id(outcome))

    def _in_order(
        self,
        assembled_calls: Sequence[C],
        gathered: Sequence[CompletedCall],
        found: Sequence[tuple[C | None, CompletedCall]],
    ) -> list[CompletedCall]:
        """All calls in the order in which the model made them, and their outcomes too.

        `gathered`: the structured calls that are released, of `assembled_calls`. `found`: the calls written as text,
        or the structured calls that repeat them, each with the structured call before the text; one that was
        released earlier counts as none.
        """
        moved = {id(call) for _, call in found}
        completed = {id(call.assembled): call for call in gathered if id(call) not in moved}
        behind: dict[int, list[CompletedCall]] = {}
        known = {id(assembled) for assembled in assembled_calls}
        for before, call in found:
            behind.setdefault(id(before) if id(before) in known else 0, []).append(call)
        out = behind.get(0, [])
        for assembled in assembled_calls:
            out += [completed[id(assembled)]] if id(assembled) in completed else []
            out += behind.get(id(assembled), [])
        counted = [call for call in out if call.live is None and not call.outcome.dropped]
        for call, number in zip(counted, sorted(call.number for call in counted), strict=True):
            call.number = number
        self._mender.put_in_order([call.outcome for call in out])
        return out

    def _gathered(self, call: C, finish: Finish) -> GatheredCall:
        """The call as its fragments describe it. `finish`: how the answer ended."""
        live = call.live
        name = full_name(call.names, self._tools)
        text = call.decide_arguments()[0]
        if call.unfinished:
            call.refuse(CUT_INSIDE)
        if live is not None and live.name != name:
            call.refuse(RENAMED_LIVE)
        compared = call.to_compare(name)
        compared.out = live is not None
        own_finish = call.finish_for(finish)
        arguments, steps = (text, ()) if live is not None else call.final_arguments(own_finish)
        value, call.value = call.value, None
        return GatheredCall(
            live.name if live is not None else name,
            arguments,
            call.id if self.needs_ids else call.id or None,
            (*call.steps, *steps),
            call.refusal_reason,
            finish=own_finish,
            value=value if arguments is text else None,
            live=live,
            compared=compared,
        )

    # The end

    def note_reason(self, reason: str, finish: Finish) -> None:
        """Note why the model stopped. The upstream may send a reason more than once."""
        self.reasons.append(reason)
        self._finishes.append(finish)

    def true_reason(self, words: FinishWords, reasons: Sequence[str] | None = None) -> object:
        """The finish reason that is true, given the reasons that arrived and the calls that were sent."""
        believed = words.trusted_reason(self.reasons if reasons is None else reasons)
        return words.true_reason(believed, calls=self.outgoing.sent > 0, other_tools=self.other_tools)
