"""One answer on its way to the client, in any protocol: parts go in, and the parts that may go now come out.

Text goes at once, unless its end may be a call. Fragments wait until their calls are complete. A reason to stop waits
if the answer has a call, or may have one, because the true reason depends on the calls. `close` lets go of all that
waits. What waits is in the tail, as it came.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .answer_text import AnswerText, Waiting, in_order
from .calls import Call, are_certain, assemble, look_complete
from .finish_reason import FinishWords
from .live import Live, LiveCall
from .mend.arguments import mend_arguments
from .mend.finish import Finish
from .mend.mender import Mender
from .outcome import Outcome
from .parts import Decided, Fragment, Other, Part, Slot, Stop, Text, Thought, source_of
from .policy import Policy
from .reasons import CUT_BEFORE, CUT_INSIDE
from .request.request import Request
from .sent import Sent
from .sizes import MOST_CALLS, LimitReached
from .tail import Tail


class Answer:
    """The state of one answer."""

    half_end = ""  # The end of a refused call of which the client has the beginning, if clients run even half of it.

    def __init__(
        self,
        request: Request,
        policy: Policy,
        mender: Mender,
        words: FinishWords,
        tail: Tail,
        *,
        needs_ids: bool = True,
        safe_ids: bool = False,
        passes_calls: bool = True,
        needs_reason: bool = False,
        choice: Any = None,
    ) -> None:
        """The flags are explained in `Protocol`. `choice`: which of several answers this is."""
        self._needs_reason, self._passes_calls = needs_reason, passes_calls
        self._policy, self._mender, self.words, self.tail = policy, mender, words, tail
        self._tools, self.needs_ids, self._safe_ids, self._choice = request.tools, needs_ids, safe_ids, choice
        self._text = AnswerText(request, policy, mender.searched, tail, choice)
        self._block: Slot = None
        """The slot of the block that is open, if it is no call: calls do not split it."""
        self._fragments: list[Fragment] = []
        """What was said about the calls that are not decided yet."""
        self._open = 0
        """How many of these calls have begun and not ended, by events of their own."""
        self._named: set[tuple[Slot, str]] = set()
        """The places and ids of all fragments with a name: an answer has only so many calls."""
        self._once = Sent(request.tools)
        new_id = mender.ids.safe if safe_ids else mender.ids.unique
        self.live = None if policy.aggregate else Live(request.tools, tail, new_id)
        """The calls that go out while they arrive."""
        self.id = ""
        """The id of the answer: if it changes, the answer began again."""
        self.sent = 0
        """How many calls the client has."""
        self._notes: list[str] = []
        self._stop: Stop | None = None
        """The reason that waits."""
        self._behind: list[Other] = []
        """What came behind it and says nothing about the answer."""
        self.late = False
        """The answer went on behind it."""
        self.call_may_follow = False
        """A call may follow the next reason, at which clients stop reading: the reason waits for the end."""
        self._reasons: list[str] = []
        self._finishes: list[Finish] = []
        self._cut = False
        """A call was cut off, or the upstream failed: no reason is made up."""
        self.call_refused = False
        """One of the calls that were decided last was refused."""
        self._failed = False
        """A reason says that the upstream failed."""
        self._goes_on = False
        """A call went on behind a reason, which says nothing about it then."""
        self._limit = request.limit
        self._broken_off = False
        """The answer has as many tokens as the request allows, or the model refused to answer: whatever the reason
        says, it was cut off."""
        self.other_calls = False
        """The answer has calls that pass as they came, of tools that are not the client's to run."""
        self.passed = False
        """The client has a call of one of its own tools that passed as it came."""
        self.left_alone = self._left_half = False
        """A call went as it came, because the options say so: no end is made up. It was half a call."""

    @property
    def holds_call(self) -> bool:
        return bool(self._text.waiting or self._fragments)

    @property
    def has_calls(self) -> bool:
        """Whether the client has a call of this answer, or one waits."""
        return bool(self.sent or self.holds_call)

    @property
    def complete(self) -> bool:
        """Whether nothing is missing in what the client has, once all that waited has gone."""
        return bool(self.sent or self._reasons) and not (self._cut or self.left_alone)

    @property
    def searches_text(self) -> bool:
        """Whether text is searched for calls."""
        return self._text.examines

    @property
    def text_undecided(self) -> bool:
        """Whether what follows decides if text is a call."""
        return self._text.undecided

    @property
    def engaged(self) -> bool:
        """Whether there is more to do than to let parts pass."""
        return bool(self.has_calls or self._reasons or self._text.holding)

    @property
    def calm(self) -> bool:
        """Whether nothing waits, and no text is the beginning of a call."""
        return not (self.engaged or self.late) and self._text.calm

    def pass_texts(self, literals: list[bytes], line_begun: bool | None) -> None:
        """Texts went to the client unparsed: the insides of their JSON strings. `line_begun`: see `Alike.texts`."""
        self._text.pass_texts(literals, line_begun)

    @property
    def line_begun(self) -> bool | None:
        """Whether the last line of text has begun with words that begin no call; None if text is not searched."""
        return self._text.in_line if self._text.examines else None

    @property
    def stops(self) -> bool:
        """Whether a reason to stop waits."""
        return self._stop is not None

    @property
    def waits(self) -> bool:
        """Whether a call or a reason to stop waits."""
        return bool(self._fragments) or self.stops

    @property
    def _undecided(self) -> bool:
        """Whether what follows decides if text, or the end of the reasoning, is a call."""
        return self._text.undecided or (self._text.reasoning_undecided and not self.has_calls)

    @property
    def _silent(self) -> bool:
        """Whether text is dropped, because the answer has a call (`toolfix_null_content`). Not text in blocks."""
        return self._policy.null_content and self.has_calls and self._text.slot is None

    def note_tokens(self, tokens: int) -> None:
        """How many tokens the answer has so far; 0 if the upstream does not say."""
        if self._limit is not None:
            self._broken_off = self._broken_off or 0 < self._limit <= tokens

    def forget_fragments(self) -> None:
        """What was said about calls that are not decided yet is said again in another form."""
        for fragment in self._fragments:
            self.tail.let_go(fragment)
        self._fragments, self._open = [], 0

    # What arrives

    def take(self, part: Part) -> list[Part]:
        """Take a part; the parts that go now."""
        if isinstance(part, Other) and (part.quiet or part.waits) and not (part.begins or part.ends):
            return self._take_quiet(part)
        begins = part.begins if isinstance(part, Fragment) else True
        before = self._go_on() if begins and self._fragments and self._proves_complete(part) else []
        if self._stop is not None and not isinstance(part, Stop):
            self.late = True
            before += self._pop_behind()
        out = self._take_fragment(part) if isinstance(part, Fragment) else self._take(part)
        out = self._let_reason_go(part, out) if self._stop is not None else out
        return [*before, *out] if before else out

    def _take(self, part: Part) -> list[Part]:
        match part:
            case Text():
                return self._heard(self._text.take(part, len(self._fragments)))
            case Thought():
                self._text.think(part.text)
                idle = part.text.isspace() and self._text.undecided
                return [part] if idle else [*self._heard(self._text.release()), part]
            case Other():
                return self._take_other(part)
            case Stop():
                return self._take_stop(part)
        return [part]

    def _proves_complete(self, part: Part) -> bool:
        """Whether a part shows that the calls before it are complete. A reason says itself how they ended."""
        last = self._fragments[-1] if self._fragments else None
        begins = isinstance(part, Other) and part.begins
        stopped = self._stop is not None and not self.late
        if last is None or stopped or (self._block is not None and not begins):
            return False
        if isinstance(part, Fragment):
            again = part.key and part.key == self._fragments[-2:][0].key  # Its first block had no input.
            return bool(part.begins and last.ends and self._open == 0 and not (self._undecided or again))
        if isinstance(part, Stop) or (isinstance(part, Other) and part.ends):
            return False
        # Some servers never end a block.
        return last.whole or self.ended or (begins and are_certain(self._fragments, self._tools, ended=False))

    def sent_at(self, slot: Slot) -> Call | None:
        """The last call at this slot, if the client has it and none waits there."""
        waits = any(one.slot == slot for one in self._fragments)
        return None if waits else self._once.last_at(slot)

    @property
    def ended(self) -> bool:
        """Whether calls wait, and all of them have ended."""
        return bool(self._fragments) and self._fragments[-1].ends and self._open <= 0

    def _go_on(self) -> list[Part]:
        """The model went on, so it had ended its calls; but it may have left out a bracket."""
        for fragment in self._fragments:
            fragment.followed = fragment.followed or fragment.ends
        return [*self._heard(self._text.release()), *self._decide(self._complete(Finish.UNKNOWN))]

    def _take_other(self, part: Other) -> list[Part]:
        if part.ends:
            self._block = None if self._block == part.slot else self._block
            return [*self._heard(self._text.end(part)), *self._certain()]
        before = self._text.end_block() if part.begins else []
        self._block = part.slot if part.begins else self._block
        self._broken_off = self._broken_off or part.refusal
        return [*self._heard([*before, *self._text.show(part)]), part]

    def _take_quiet(self, part: Other) -> list[Part]:
        """Take what says nothing about the answer: it goes at once, but does not overtake a reason. What `waits` goes
        behind all that waits now."""
        if self._stop is not None and not self.late:
            self._behind.append(part)
        elif not part.waits:
            return [part]
        elif self._text.holding and (part.of_text or not self.holds_call):
            self._text.keep_behind(part)
            return []
        elif self.holds_call and not part.of_text:
            self._text.waiting.append(Waiting(len(self._fragments), part))
        else:
            return [part]
        self.tail.keep(part)
        return []

    def _pop_behind(self) -> list[Part]:
        behind, self._behind = self._behind, []
        for part in behind:
            self.tail.let_go(part)
        return [*behind]

    def _heard(self, parts: list[Part]) -> list[Part]:
        """The text that the client gets."""
        return [part for part in parts if not isinstance(part, Text)] if self._silent else parts

    def _take_fragment(self, part: Fragment) -> list[Part]:
        if not part.arguments and part.empty:
            return []
        out = self._heard(self._text.end_block()) if (part.begins or part.whole) and not self._undecided else []
        if part.name:
            self._named.add((part.slot, part.key))
            if len(self._named) > MOST_CALLS:
                raise LimitReached
        part.answer_id, part.number = self.id, len(self._fragments)
        self._goes_on = self._goes_on or (bool(self._reasons) and not part.whole)
        self._fragments.append(part)
        self._open += part.begins - part.ends
        self.tail.keep(part)
        if self.live is not None:
            free = not (self._undecided or self._text.waiting or self._block is not None)
            piece = self.live.take(part, self.sent, free=free, knows=self._once.knows)
            if piece is not None:
                self.sent += piece.begins
                out.append(piece)
        return [*out, *self._certain()] if part.ends else out

    def _certain(self) -> list[Part]:
        """The calls, if all have ended and need no finish reason, and nothing that is held comes before them."""
        if not self.ended or self._block is not None or self._undecided or self._text.waiting or self.stops:
            return []
        return self._decide(self._complete(Finish.COMPLETE)) if are_certain(self._fragments, self._tools) else []

    def _take_stop(self, part: Stop) -> list[Part]:
        self.note_tokens(part.tokens)
        self._failed = self._failed or part.failed
        finish = Finish.CUT if self._broken_off else part.finish
        out = self.end_text(finish) if not self._undecided or finish is Finish.CUT else []
        free = not (self._undecided or self._text.waiting)
        if finish is Finish.COMPLETE and free and look_complete(self._fragments, self._tools):
            out += self._decide(self._complete(finish))
        waits = self.engaged or self._undecided or self.call_may_follow
        if not waits and self._truth([part.reason]) == part.reason:
            self._finishes += [finish] if finish is Finish.CUT else []
            return [*out, part]
        self._reasons.append(part.reason)
        self._finishes.append(finish)
        self._goes_on = False
        if self._stop is not None:
            # The last one counts, with what only an earlier one says besides (usage).
            self.tail.let_go(self._stop)
            part.body = {**self._stop.body, **part.body}
        self._stop, self.late = part, False
        self.tail.keep(part)
        return out

    def _let_reason_go(self, part: Part, out: list[Part]) -> list[Part]:
        """What goes now, and the reason behind the text of its event, if it is true and no call waits: that event
        leaves as it came."""
        stop = self._stop
        source = stop.source if stop is not None else None
        if stop is None or source is None or not any(isinstance(one, Text) for one in source.parts):
            return out
        texts = [number for number, one in enumerate(out, 1) if source_of(one) is source]
        if not (texts or part is stop) or self.holds_call or self._undecided or self.true_reason() != stop.reason:
            return out
        at = len(out) if part is stop else texts[-1]
        self._stop = None
        self.tail.let_go(stop)
        return [*out[:at], stop, *out[at:]]

    def end_text(self, finish: Finish) -> list[Part]:
        """The answer ends, and its text with it."""
        if self._broken_off or (self._needs_reason and finish is Finish.UNKNOWN):
            finish = Finish.CUT
        return self._heard(self._text.close(finish, calls=self.has_calls))

    def would_quote_after(self, text: str) -> bool:
        """Whether a call that followed the text so far and `text` would be quoted or only an example."""
        return self._text.would_quote_after(text)

    # Calls

    def _complete(self, finish: Finish) -> list[Call]:
        """The calls of all fragments so far, without those that the client has."""
        fragments = self._fragments
        self.forget_fragments()
        calls = assemble(fragments, self._tools, finish)
        cut = Finish.CUT in self._finishes and self._policy.truncated != "complete"
        last = calls[-1] if calls and self._passes_calls and cut else None
        if last is not None and last.fragments[-1].whole and not self._mender.leaves_alone(last.name):
            last.refuse(CUT_INSIDE)  # A server that sends calls whole closes what was cut off.
        new = self._once.new(calls)
        return new if self.live is None else self.live.restart(calls, new)

    def _decide(self, calls: list[Call], *, drop: bool = False) -> list[Part]:
        """Mend or refuse these calls and all that were written as text, in the order in which the model made them."""
        out: list[Part] = []
        for one in in_order(calls, self._text.pop_waiting(), self._tools):
            if isinstance(one, Other):
                out.append(one)
            elif one.fragments:
                out += self._decide_call(one, drop)
            else:
                # It is complete, however the answer ended, and gets a new id.
                out += self._sent(one, self._mender.decide(one, drop=drop, id="", safe_ids=self._safe_ids))
        return out

    def _decide_call(self, call: Call, drop: bool) -> list[Part]:
        flowing = self.live.finish(call) if self.live is not None else None
        wanted = call.id if self.needs_ids else call.id or None
        if self._safe_ids and (flowing.id != call.id if flowing else not self._mender.ids.keeps(call.id)):
            call.steps = (*call.steps, "new id")
        whole = call.first.whole or call.first.again
        if not (call.arguments.strip() or call.finish is Finish.COMPLETE or whole):
            call.refuse("" if self._mender.leaves_alone(call.name) else CUT_BEFORE)
        drop = drop or bool(call.refusal and not call.name)  # Without a name there is no call to send a refusal in.
        safe, end = self._safe_ids, self.half_end
        outcome = self._mender.decide(call, drop=drop, id=wanted, safe_ids=safe, invalid_tail=end)
        return self._sent(call, outcome, flowing)

    def _sent(self, call: Call, outcome: Outcome, flowing: LiveCall | None = None) -> list[Part]:
        """The call as the client gets it: the part that it came in, if nothing changed. `flowing`: the client has the
        beginning; if it is refused, that is all that the client gets."""
        self.call_refused = self.call_refused or outcome.status == "refused"
        half = flowing is not None and outcome.status == "refused"
        if outcome.left_alone or half:
            lacks = half or mend_arguments(outcome.arguments, Finish.CUT).value is None
            self.left_alone, self._left_half = True, self._left_half or lacks
        if flowing is not None:
            return [flowing.last(outcome)]
        if outcome.dropped:
            self._notes.append(outcome.note)
            return []
        self.sent += 1
        only = call.fragments[0] if len(call.fragments) == 1 else None
        whole = only is not None and (only.whole or only.again or (only.begins and only.ends))
        if self._passes_calls and whole and outcome.status == "valid" and outcome.id in (call.id, ""):
            return [call.first]
        return [Decided(outcome, self.sent - 1, call.body, call.fragments, choice=self._choice)]

    # The end

    def break_off(self) -> None:
        """The stream ended inside an event: without a reason, the answer was cut off."""
        if not self._reasons:
            self._finishes.append(Finish.CUT)
            self._cut = True

    def close(self, finish: Finish, *, failed: bool = False) -> list[Part]:
        """All that waits. `finish`: how the answer ended, if no reason says so. `failed`: an error follows."""
        failed = failed or self._failed
        finish = Finish.CUT if failed else self._trusted(finish)
        self.call_refused = False
        out = [*self.end_text(finish), *self._decide(self._complete(finish), drop=failed)]
        notes, self._notes = self._notes, []
        out += [Text(note, choice=self._choice) for note in notes if note and not self.sent]
        self._cut = self._cut or failed or (finish is Finish.CUT and self.call_refused)
        stop, self._stop = self._stop, None
        if stop is not None:
            self.tail.let_go(stop)
            truth = self.true_reason()
            out.append(stop if truth == stop.reason else Stop(truth, stop.finish, stop.body, choice=self._choice))
        elif not self._reasons and not (self._cut or self.left_alone) and (self.sent or self.call_refused):
            self._reasons.append(self.true_reason())
            out.append(Stop(self._reasons[0], finish, choice=self._choice))
        return [*out, *self._pop_behind()]

    def _trusted(self, finish: Finish) -> Finish:
        """How the answer ended, by the reasons that arrived; else `finish`."""
        if self._goes_on or not self._finishes:
            return finish
        worst = next((one for one in (Finish.CUT, Finish.UNKNOWN) if one in self._finishes), Finish.COMPLETE)
        return Finish.CUT if self._broken_off else worst

    def true_reason(self) -> str:
        """The reason that is true, given the calls that the client has."""
        truth = self._truth(self._reasons)
        return truth if self._left_half and isinstance(truth, str) else str(truth or self.words.stop)

    def _truth(self, reasons: Sequence[str]) -> object:
        believed = self.words.trusted_reason(reasons)
        if self._left_half and believed is not None:
            return believed
        calls = self.sent > 0 or self.passed
        return self.words.true_reason(believed, calls=calls, other_tools=self.other_calls)
