"""One answer while it comes, whatever its protocol: what it says, its calls, and how it ended.

A dialect's reader hands over what an event says; what comes back may go out, and the dialect's writer makes events of
it. Text comes back at once, unless it may be a call; calls come back when the dialect says that they may leave.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..mend.finish import Finish
from ..mend.mender import Mender
from ..outcome import Outcome
from ..policy import Policy
from ..request.request import Request
from .assembled_call import AssembledCall
from .finish_reason import FinishWords
from .fragments import full_name
from .live import LiveArguments, LiveCall, LivePart
from .outgoing_calls import CUT_INSIDE, WRITTEN_AS_REASONING, GatheredCall, OutgoingCalls
from .reasoning_search import ReasoningSearch
from .structured_text import StructuredText, mends_structured
from .text_search import SearchResult, TextPiece, TextSearch, searches


@dataclass(slots=True)
class CompletedCall:
    """A call that leaves the answer. `number` counts those that the client gets."""

    outcome: Outcome
    number: int
    extra: dict[str, Any] = field(default_factory=dict)
    """Whatever else the upstream said about it."""
    pieces: list[str] = field(default_factory=list)
    """Its arguments, escaped already, where they are long."""
    live: LiveCall | None = None
    """The part of it that the client has."""
    assembled: AssembledCall | None = None
    """Its fragments; None where it was written as text."""

    @property
    def unchanged(self) -> bool:
        """Does the client get the call as it came?"""
        assembled, outcome = self.assembled, self.outcome
        if assembled is None or outcome.dropped:
            return False
        return outcome.status == "valid" and outcome.id in (assembled.id, "")


class Answer:
    """The state of one answer: a choice, a message, a candidate. How its calls are gathered is its subclass's."""

    __slots__ = (
        "_finishes",
        "_lives",
        "_mender",
        "_policy",
        "_tools",
        "incomplete",
        "other_tools",
        "outgoing",
        "reasoning",
        "reasons",
        "refused",
        "search",
        "searches",
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
        searched = searches(request, policy)
        self.search: TextSearch | StructuredText | None = None
        """What the text that is being read goes through."""
        self.reasoning = ReasoningSearch(request, policy) if searched else None
        self.searches = searched or mends_structured(request, policy)
        """Is the text searched for calls, or mended as JSON that was asked for?"""
        self.outgoing = outgoing
        self._lives: dict[int, LiveCall] = {}
        self.incomplete = False
        """One of the calls that left last was refused, or turned out to be no call."""
        self.other_tools = False
        """The server called tools of its own."""
        self.refused = False
        """The model refused to answer: nothing that it says is a call."""
        self.reasons: list[str] = []
        self._finishes: list[Finish] = []

    @property
    def has_pending_calls(self) -> bool:
        """Was a call seen that is not out?"""
        return self.outgoing.has_found

    def spend(self, steps: int) -> None:
        """So many steps are about to be taken for this answer."""
        self._mender.work.spend(steps)

    # Text

    def say(self, text: str, source: bytes | None = None) -> SearchResult | None:
        """The text after the search; None where it goes on as it is. `source`: the event that says just this."""
        if self.search is None or not text:
            return None
        result = self.search.take(text, source)
        self.outgoing.found(result.calls)
        return None if len(result.parts) == 1 and result.text == text and not self.search.holding else result

    def think(self, text: str) -> SearchResult | None:
        """The model thinks: what is held of the text before that is no call."""
        if self.reasoning is not None:
            self.reasoning.take(text)
        return None if text.isspace() else self._pass_undecided()

    def say_otherwise(self) -> SearchResult | None:
        """Something that is not searched is said (a citation, an image): what is held of the text is no call."""
        if self.reasoning is not None:
            self.reasoning.answered()
        return self._pass_undecided()

    def _pass_undecided(self) -> SearchResult | None:
        return self.search.pass_on() if self.search is not None and self.search.undecided else None

    def pass_text_on(self) -> SearchResult:
        """A call that goes out now follows the text: what is held of it is no call."""
        return self.search.pass_on() if self.search is not None and self.search.holding else SearchResult()

    def shows_behind(self, text: str) -> bool:
        """Would a call be quoted, or only be shown, that stood behind what was said and this text?"""
        search = self.search.search if isinstance(self.search, StructuredText) else self.search
        return search is not None and search.shows_behind(text)

    @property
    def held_text(self) -> str:
        return self.search.held if self.search is not None else ""

    @property
    def undecided(self) -> bool:
        """May held text, or the reasoning that passed, still turn out to be a call, depending on what follows?"""
        return self.text_undecided or self._reasoning_may_be_call

    @property
    def text_undecided(self) -> bool:
        """May the text that is held still turn out to be a call, depending on what follows?"""
        return self.search is not None and self.search.undecided

    @property
    def _reasoning_may_be_call(self) -> bool:
        """Does the reasoning end with a call, or the beginning of one, and is it all that was said?"""
        reasoning = self.reasoning
        if reasoning is None or self.outgoing.sent or self.has_pending_calls or not reasoning.undecided:
            return False
        return not self._spoke

    @property
    def _spoke(self) -> bool:
        """Was any text said but white space?"""
        return self.search is not None and self.search.spoke

    def end_text(self, finish: Finish) -> SearchResult:
        """Nothing more is said: what is held is a call or text, and what was thought last may be a call."""
        if self.search is None:
            return SearchResult()
        self.end_reasoning(finish)
        result = self.search.close(self._finish_of_text(finish))
        self.outgoing.found(result.calls)
        return result

    def end_reasoning(self, finish: Finish) -> None:
        """Nothing more is thought: the reasoning may end with a call."""
        if self.reasoning is not None and self._reasoning_may_be_call:
            self.outgoing.found(self.reasoning.close(self._finish_of_text(finish)), WRITTEN_AS_REASONING)

    def _finish_of_text(self, finish: Finish) -> Finish:
        """How the text ended, in an answer that ended so."""
        return Finish.CUT if self.refused else finish

    def search_whole(self, text: str, finish: Finish, thought: str = "") -> SearchResult | None:
        """A text that came as a whole, searched; None where it is not. `thought`: the reasoning before it, where the
        answer has no other calls."""
        if not self.searches:
            return None
        self.think(thought)
        result = self.say(text)
        parts = result.parts if result is not None else (TextPiece(text),) if text else ()
        return SearchResult(parts + self.end_text(finish).parts)

    # Calls

    def go_on_live(self, assembled: AssembledCall) -> LivePart | None:
        """What of a call may go out before it is complete (`toolfix_aggregate=false`); None while nothing may."""
        live = self.go_live(assembled)
        return live.take(assembled) if live is not None else None

    def go_live(self, assembled: AssembledCall) -> LiveCall | None:
        """The call as the client gets it while it comes; None where it has to wait."""
        live = self._lives.get(id(assembled))
        if live is None and not self.outgoing.resent.knows(assembled.key) and self._may_go_live(assembled):
            live = self._lives[id(assembled)] = self._new_live(assembled)
            self.outgoing.count_sent()
        return live

    def _may_go_live(self, assembled: AssembledCall) -> bool:
        unclear = assembled.doubt or assembled.unsure
        waits = not (assembled.names and assembled.begun)
        return not (unclear or waits or assembled.again or assembled.restated)

    def _new_live(self, assembled: AssembledCall) -> LiveCall:
        return LiveCall(self.outgoing.sent, self._mender.ids.unique(assembled.id))

    def complete_whole(
        self, assembled_calls: list[AssembledCall], finish: Finish, *, ids: bool = True
    ) -> list[CompletedCall]:
        """Calls that came as a whole leave, and those that were found: there are no fragments to be told apart."""
        return self._complete(assembled_calls, finish, False, ids)

    def _complete(
        self, assembled_calls: Sequence[AssembledCall], finish: Finish, before_error: bool, ids: bool
    ) -> list[CompletedCall]:
        out = self._complete_gathered(assembled_calls, finish, before_error, ids)
        # One after the other: each is counted when it is decided.
        found = self.outgoing.complete_found(before_error=before_error)
        out += [CompletedCall(outcome, self.outgoing.sent - 1) for outcome in found]
        self.incomplete = self.incomplete or any(call.outcome.status == "refused" for call in out)
        return out

    def _complete_gathered(
        self, assembled_calls: Sequence[AssembledCall], finish: Finish, before_error: bool, ids: bool
    ) -> list[CompletedCall]:
        lives = [self._lives.pop(id(assembled), None) for assembled in assembled_calls]
        calls = [
            self._gathered(assembled, finish, ids, live.arguments if live else None)
            for assembled, live in zip(assembled_calls, lives, strict=True)
        ]
        out: list[CompletedCall] = []
        outcomes = self.outgoing.complete(calls, finish, before_error=before_error)
        self.incomplete = False
        for assembled, live, call, outcome in zip(assembled_calls, lives, calls, outcomes, strict=True):
            if outcome is not None:
                pieces = assembled.pieces(outcome.arguments) if live is None and not outcome.dropped else []
                out.append(CompletedCall(outcome, self.outgoing.sent - 1, assembled.extra, pieces, live, assembled))
            self.incomplete = self.incomplete or (
                call.compared.kept if outcome is None else outcome.status == "refused"
            )
        return out

    def _gathered(
        self, assembled: AssembledCall, finish: Finish, ids: bool, live: LiveArguments | None
    ) -> GatheredCall:
        """A call as its fragments tell it. `finish`: how the answer ended. `ids`: it has to have one."""
        name = full_name(assembled.names, self._tools)
        text = assembled.settle()[0]
        if assembled.unfinished:
            assembled.doubt = assembled.doubt or CUT_INSIDE
        compared = assembled.to_compare(name)
        compared.out = live is not None
        own_finish = assembled.finish_for(finish)
        arguments, steps = (text, ()) if live is not None else assembled.final_arguments(own_finish)
        value, assembled.value = assembled.value, None
        return GatheredCall(
            assembled.name if live is not None else name,
            arguments,
            assembled.id if ids else assembled.id or None,
            (*assembled.steps, *steps),
            assembled.doubt,
            finish=own_finish,
            value=value if arguments is text else None,
            live=live,
            compared=compared,
        )

    # The end

    def stop(self, reason: str, finish: Finish) -> None:
        """The upstream said why the model stopped. It may say so again."""
        self.reasons.append(reason)
        self._finishes.append(finish)

    def true_reason(self, words: FinishWords, reasons: Sequence[str] | None = None) -> object:
        """The finish reason that is true, given those that came and the calls that went out."""
        believed = words.believed(self.reasons if reasons is None else reasons)
        return words.true_reason(believed, calls=self.outgoing.sent > 0, other_tools=self.other_tools)
