"""One answer while it comes, whatever its protocol: what it says, its calls, and how it ended.

A dialect's reader hands over what an event says; what comes back may go out, and the dialect's writer makes events of
it. Text comes back at once, unless it may be a call; calls come back when the dialect says that they may leave.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..calls import Outcome
from ..mend.call import Mender
from ..mend.finish import Finish
from ..policy import Policy
from ..request.request import Request
from .assembled_call import Fragment, Slot
from .assembler import CallAssembler
from .finish import FinishWords
from .fragments import full_name
from .live import LiveArguments, LiveCall, LivePart
from .reasoning_search import ReasoningSearch
from .structured_text import StructuredText, structured_around
from .text_search import SearchResult, TextPiece, TextSearch, searches
from .turn import CUT_INSIDE, THOUGHT, GatheredCall, Turn


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
    slot: Slot | None = None
    """Its fragments; None where it was written as text."""

    @property
    def unchanged(self) -> bool:
        """Does the client get the call as it came?"""
        slot, outcome = self.slot, self.outcome
        if slot is None or outcome.dropped:
            return False
        return outcome.status == "valid" and outcome.id in (slot.id, "")


class Answer:
    """The state of one answer: a choice, a message, a candidate."""

    __slots__ = (
        "_finishes",
        "_late",
        "_lives",
        "_mender",
        "_policy",
        "_tools",
        "_whole_calls",
        "assembler",
        "half",
        "other_tools",
        "reasons",
        "refused",
        "search",
        "searches",
        "thoughts",
        "turn",
    )

    def __init__(
        self,
        request: Request,
        policy: Policy,
        mender: Mender,
        *,
        turn: Turn | None = None,
        assembler: CallAssembler | None = None,
        whole_calls: bool = False,
    ) -> None:
        """`whole_calls`: calls come in one piece."""
        self._policy = policy
        self._mender = mender
        self._tools = request.tools
        searched = searches(request, policy)
        self.search = structured_around(TextSearch(request, policy) if searched else None, request, policy, mender)
        self.thoughts = ReasoningSearch(request, policy) if searched else None
        self.searches = self.search is not None
        """Is the text looked at?"""
        self._whole_calls = whole_calls
        self.assembler = assembler or CallAssembler(request.tools, whole_calls=whole_calls, work=mender.work)
        self.turn = turn or Turn(request.tools, mender, awaits_arguments=False)
        self._lives: dict[int, LiveCall] = {}
        self.half = False
        """Was one of the calls that left last refused, or none at all?"""
        self.other_tools = False
        """The server called tools of its own."""
        self.refused = False
        """The model refused to answer: nothing that it says is a call."""
        self._late = False
        """Fragments came behind a finish reason: it did not say that the calls were finished."""
        self.reasons: list[str] = []
        self._finishes: list[Finish] = []

    @property
    def engaged(self) -> bool:
        """Was a call or a finish reason seen, or is text held?"""
        calls = self.turn.sent or self.has_pending_calls
        return bool(calls or self.reasons or (self.search and self.search.holding))

    @property
    def has_pending_calls(self) -> bool:
        """Was a call seen that is not out?"""
        return self.turn.has_found or bool(self.assembler.slots)

    # Text

    def say(self, text: str, source: bytes | None = None) -> SearchResult | None:
        """The text after the search; None where it goes on as it is. `source`: the event that says just this."""
        if self.search is None or not text:
            return None
        result = self.search.take(text, source)
        self.turn.found(result.calls)
        return None if len(result.parts) == 1 and result.text == text and not self.search.holding else result

    def think(self, text: str) -> SearchResult | None:
        """The model thinks: what is held of the text before that is no call."""
        if self.thoughts is not None:
            self.thoughts.take(text)
        return None if text.isspace() else self._pass_undecided()

    def say_otherwise(self) -> SearchResult | None:
        """Something that is not searched is said (a citation, an image): what is held of the text is no call."""
        if self.thoughts is not None:
            self.thoughts.answered()
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
        """Does it depend on what follows whether the text that is held, or the reasoning that passed, is a call?"""
        return self.text_undecided or self._may_have_meant_it

    @property
    def text_undecided(self) -> bool:
        """Does it depend on what follows what becomes of the text that is held?"""
        return self.search is not None and self.search.undecided

    @property
    def _may_have_meant_it(self) -> bool:
        """Does the reasoning end with a call, or the beginning of one, and is it all that was said?"""
        thoughts = self.thoughts
        if thoughts is None or self.turn.sent or self.has_pending_calls or not thoughts.undecided:
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
        self.end_thoughts(finish)
        result = self.search.close(Finish.CUT if self.refused else finish)
        self.turn.found(result.calls)
        return result

    def end_thoughts(self, finish: Finish) -> None:
        """Nothing more is thought: the reasoning may end with a call."""
        if self.thoughts is not None and self._may_have_meant_it:
            self.turn.found(self.thoughts.close(Finish.CUT if self.refused else finish), THOUGHT)

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

    def gather(self, fragment: Fragment) -> Slot | None:
        """Take a fragment; the call that it belongs to, or None where it says nothing."""
        # Where a finish reason came before it, that did not say that the calls were finished.
        self._late = self._late or (bool(self.reasons) and not self._whole_calls)
        return self.assembler.add(fragment)

    def go_on_live(self, slot: Slot) -> LivePart | None:
        """What of a call may go out before it is complete (`toolfix_aggregate=false`); None while nothing may."""
        live = self.go_live(slot)
        return live.take(slot) if live is not None else None

    def go_live(self, slot: Slot) -> LiveCall | None:
        """The call as the client gets it while it comes; None where it has to wait."""
        live = self._lives.get(id(slot))
        if live is None and not self.turn.resent.knows(slot.key) and self._may_go_live(slot):
            live = self._lives[id(slot)] = self._new_live(slot)
            self.turn.count_sent()
        return live

    def _may_go_live(self, slot: Slot) -> bool:
        unclear = slot.doubt or slot.unsure
        waits = not (slot.names and slot.begun)
        return not (unclear or waits or slot.again or slot.restated)

    def _new_live(self, slot: Slot) -> LiveCall:
        return LiveCall(self.turn.sent, self._mender.ids.unique(slot.id))

    def note_that_more_follows(self) -> None:
        """Something came behind the calls so far."""
        for slot in self.assembler.slots:
            slot.followed = True

    def complete(self, finish: Finish, *, before_error: bool = False, ids: bool = True) -> list[CompletedCall]:
        """All calls that were gathered or found leave. `ids`: each has to have one."""
        return self._complete(self.assembler.take(finish), finish, before_error, ids)

    def complete_whole(self, slots: list[Slot], finish: Finish, *, ids: bool = True) -> list[CompletedCall]:
        """Calls that came as a whole leave, and those that were found: there are no fragments to be told apart."""
        return self._complete(slots, finish, False, ids)

    def _complete(self, slots: Sequence[Slot], finish: Finish, before_error: bool, ids: bool) -> list[CompletedCall]:
        out = self._leave(slots, finish, before_error, ids)
        # One after the other: each is counted when it is decided.
        found = self.turn.complete_found(before_error=before_error)
        out += [CompletedCall(outcome, self.turn.sent - 1) for outcome in found]
        self.half = self.half or any(call.outcome.status == "refused" for call in out)
        return out

    def _leave(self, slots: Sequence[Slot], finish: Finish, before_error: bool, ids: bool) -> list[CompletedCall]:
        if self._whole_calls and self._closed_by_server and slots:
            slots[-1].doubt = slots[-1].doubt or CUT_INSIDE
        lives = [self._lives.pop(id(slot), None) for slot in slots]
        calls = [
            self._gathered(slot, finish, ids, live.arguments if live else None)
            for slot, live in zip(slots, lives, strict=True)
        ]
        out: list[CompletedCall] = []
        outcomes = self.turn.complete(calls, finish, before_error=before_error)
        self.half = False
        for slot, live, call, outcome in zip(slots, lives, calls, outcomes, strict=True):
            if outcome is not None:
                pieces = slot.pieces(outcome.arguments) if live is None and not outcome.dropped else []
                out.append(CompletedCall(outcome, self.turn.sent - 1, slot.extra, pieces, live, slot))
            self.half = self.half or (call.compared.kept if outcome is None else outcome.status == "refused")
        return out

    def _gathered(self, slot: Slot, finish: Finish, ids: bool, live: LiveArguments | None) -> GatheredCall:
        """A call as its fragments tell it. `finish`: how the answer ended. `ids`: it has to have one."""
        name = full_name(slot.names, self._tools)
        text = slot.settle()[0]
        if slot.unfinished:
            slot.doubt = slot.doubt or CUT_INSIDE
        compared = slot.to_compare(name)
        compared.out = live is not None
        own_finish = slot.finish_for(finish)
        arguments, steps = (text, ()) if live is not None else slot.final_arguments(own_finish)
        value, slot.value = slot.value, None
        return GatheredCall(
            slot.name if live is not None else name,
            arguments,
            slot.id if ids else slot.id or None,
            (*slot.steps, *steps),
            slot.doubt,
            finish=own_finish,
            value=value if arguments is text else None,
            live=live,
            compared=compared,
        )

    @property
    def _closed_by_server(self) -> bool:
        """May the last call be one that was cut off? Servers that send calls whole close what the model left open."""
        return Finish.CUT in self._finishes and self._policy.truncated != "complete"

    # The end

    def stop(self, reason: str, finish: Finish) -> None:
        """The upstream said why the model stopped. It may say so again."""
        self.reasons.append(reason)
        self._finishes.append(finish)

    def passed_stop(self, finish: Finish) -> None:
        """The upstream said why the model stopped, and the client has it: a call behind a cut is cut all the same."""
        if finish is Finish.CUT:
            self._finishes.append(finish)

    def believed(self, finish: Finish) -> Finish:
        """How the answer ended: as the reasons say that came, unless fragments came behind one; else as `finish`."""
        if self._late or not self._finishes:
            return finish
        finishes = [*self._finishes, *([Finish.CUT] if self.refused else [])]
        return next((cut for cut in (Finish.CUT, Finish.UNKNOWN) if cut in finishes), Finish.COMPLETE)

    def true_reason(self, words: FinishWords, reasons: Sequence[str] | None = None) -> object:
        """The finish reason that is true, given those that came and the calls that went out."""
        believed = words.believed(self.reasons if reasons is None else reasons)
        return words.true_reason(believed, calls=self.turn.sent > 0, other_tools=self.other_tools)
