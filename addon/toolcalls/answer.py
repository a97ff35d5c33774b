"""One answer on its way to the client, in any protocol: parts go in, and the parts that may go now come out.

Text goes at once, unless its end may be a call. Fragments wait until their calls are complete. A reason to stop waits
if the answer has a call, or may have one, because the true reason depends on the calls. `close` lets go of all that
waits. What waits is one list (`waiting.py`), and behind it the reason; how the answer may end is in
`finish_reason.py`.
"""

from __future__ import annotations

from typing import Any

from .answer_text import AnswerText
from .call import Call
from .calls import are_certain, assemble
from .finish_reason import End, FinishWords
from .live import Live
from .mend.arguments import mend_arguments
from .mend.finish import Finish
from .mend.mender import Mender
from .outcome import Outcome
from .parts import Fragment, Other, Part, Piece, Slot, Stop, Text, Thought
from .policy import Policy
from .reasons import CUT_BEFORE, CUT_INSIDE
from .request.request import Request
from .sent import Sent
from .sizes import MOST_CALLS, LimitReached
from .waiting import Tail, Waiting, in_order

_HALF_END = ",\x1a"
"""The end of a refused call of which the client has the beginning, in a block: Anthropic's Python SDK reads half an
object as if it were complete, but not this."""


class Traits:
    """What an answer has to know of its protocol."""

    words: FinishWords
    """The protocol's reasons to stop."""
    needs_ids = True
    """A call that came without an id gets one."""
    passes_calls = True
    """A whole call that is valid passes as it came. If not, it is written, because its place is its number."""
    text_needs_reason = False
    """A complete answer has a known reason to stop. Without one, a call that was written as text stays text."""
    one_block = False
    """Clients have only one block open at a time."""


class Answer:
    """The state of one answer."""

    has_text = False
    """The model has written text, in protocols that can go on with a call that an error quotes."""

    def __init__(
        self,
        request: Request,
        policy: Policy,
        mender: Mender,
        traits: type[Traits],
        tail: Tail,
        choice: Any = None,
    ) -> None:
        """`choice`: which of several answers this is."""
        self._policy, self._mender, self._traits, self._tail = policy, mender, traits, tail
        self._tools, self.needs_ids, self._choice = request.tools, traits.needs_ids, choice
        self._waiting = Waiting(tail, choice, in_blocks=traits.one_block)
        self.text = AnswerText(request, policy, mender.searched, self._waiting)
        self._stop: Stop | None = None
        """The reason, which waits behind all of it."""
        self._behind: list[Other] = []
        """What came behind the reason and says nothing about the answer."""
        self.went_on_after_reason = False
        """The answer went on behind it."""
        self.call_may_follow = False
        """A call may follow the next reason, at which clients stop reading: the reason waits for the end."""
        self.end = End(traits.words, request.limit)
        self._block: Slot = None
        """The slot of the block that is open, if it is no call: calls do not split it."""
        self._named: set[tuple[Slot, str]] = set()
        """The places and ids of all fragments with a name: an answer has only so many calls."""
        self._once = Sent(request.tools)
        self.live = None if policy.aggregate else Live(request.tools, tail, mender.ids, in_blocks=traits.one_block)
        """The call that goes out while it arrives."""
        self.id = ""
        """The id of the answer: if it changes, the answer began again."""
        self.sent = 0
        """How many calls the client has."""
        self._notes: list[str] = []
        self.call_refused = False
        """One of the calls that were decided last was refused."""

    @property
    def reason_waits(self) -> bool:
        """Whether a reason to stop waits."""
        return self._stop is not None

    @property
    def holds_call(self) -> bool:
        return bool(self._waiting.fragments or self._waiting.written)

    @property
    def has_calls(self) -> bool:
        """Whether the client has a call of this answer, or one waits."""
        return bool(self.sent or self._waiting.fragments or self._waiting.written)

    @property
    def has_work(self) -> bool:
        """Whether there is more to do than to let parts pass."""
        return bool(self.has_calls or self.end.reasons or self._waiting.texts)

    @property
    def rests(self) -> bool:
        """Whether nothing waits, and no text is the beginning of a call."""
        return self.text.rests and not self.has_work

    @property
    def _undecided(self) -> bool:
        """Whether what follows decides if text, or the end of the reasoning, is a call."""
        return self.text.undecided(alone=not self.has_calls)

    # What arrives

    def take(self, part: Part) -> list[Part]:
        """Take a part; the parts that go now."""
        if isinstance(part, Other) and (part.quiet or part.waits) and not (part.begins or part.ends):
            return self._take_quiet(part)
        out: list[Part] = []
        more = isinstance(part, Fragment) and not part.begins
        if self._waiting.fragments and not more and self._proves_complete(part):
            # The model went on, so it had ended its calls; but it may have left out a bracket.
            for fragment in self._waiting.fragments:
                fragment.followed = fragment.followed or fragment.ends
            out = [*self.text.release(), *self._decide(Finish.UNKNOWN)]
        if self._stop is not None and not isinstance(part, Stop):
            self.went_on_after_reason = True
            self._tail.let_go(*self._behind)
            out += self._behind
            self._behind = []
        match part:
            case Fragment():
                out += self._take_fragment(part)
            case Text():
                out += self.text.feed(part)
            case Thought():
                self.text.think(part.text)
                idle = part.text.isspace() and self.text.undecided(alone=False)
                out += [part] if idle else [*self.text.release(), part]
            case Other():
                out += self._take_other(part)
            case Stop():
                out += self._take_stop(part)
            case _:
                out.append(part)
        return self._heard(out) if self._policy.null_content else out

    def _heard(self, parts: list[Part]) -> list[Part]:
        """What the client gets of this: no text if the answer has a call (`toolfix_null_content`), but for blocks."""
        silent = self.has_calls
        return [part for part in parts if not (silent and isinstance(part, Text) and part.slot is None)]

    def _proves_complete(self, part: Part) -> bool:
        """Whether a part shows that the calls before it are complete. A reason says itself how they ended."""
        fragments = self._waiting.fragments
        last, begins = fragments[-1], isinstance(part, Other) and part.begins
        if self.live is not None and self.live.is_followed_by(part):
            return True
        stopped = self._stop is not None and not self.went_on_after_reason
        if stopped or (self._block is not None and not begins):
            return False
        if isinstance(part, Fragment):
            # A block that began and ended without input, and now one with the same id, which brings the input.
            again = part.key and part.key == fragments[-2:][0].key
            return last.ends and self._waiting.open == 0 and not (self._undecided or again)
        if isinstance(part, Stop) or (isinstance(part, Other) and part.ends):
            return False
        # Some servers never end a block.
        return last.whole or self._waiting.ended or (begins and are_certain(fragments, self._tools))

    def sent_at(self, slot: Slot) -> Call | None:
        """The last call at this slot, if the client has it and none waits there."""
        if any(one.slot == slot for one in self._waiting.fragments):
            return None
        return next((call for call in reversed(self._once.calls) if slot in call.slots), None)

    def _take_other(self, part: Other) -> list[Part]:
        if part.ends:
            self._block = None if self._block == part.slot else self._block
            before = self.text.end(part.slot)
            if before is None:
                self._waiting.add(part)
                return self._certain()
            return [*before, part, *self._certain()]
        before = self.text.end_block() if part.begins else []
        self._block = part.slot if part.begins else self._block
        self.end.cut_off = self.end.cut_off or part.refusal
        return [*before, *self.text.show(part), part]

    def _take_quiet(self, part: Other) -> list[Part]:
        """Take what says nothing about the answer: it goes at once, but does not overtake a reason. What `waits` goes
        behind all that waits now."""
        if self._stop is not None and not self.went_on_after_reason:
            self._behind.append(part)
            self._tail.keep(part)
        elif part.waits and (self._waiting.texts or (self.holds_call and not part.of_text)):
            self._waiting.add(part)
        else:
            return [part]
        return []

    def _take_fragment(self, part: Fragment) -> list[Part]:
        says = part.arguments or part.id or part.name or part.body or part.refusal or part.given is not None
        if not (says or part.begins or part.ends):
            return []
        out = self.text.end_block() if (part.begins or part.whole) and not self._undecided else []
        if part.name:
            self._named.add((part.slot, part.key))
            if len(self._named) > MOST_CALLS:
                raise LimitReached
        part.answer_id, part.number = self.id, len(self._waiting.fragments)
        self.end.went_on = self.end.went_on or (bool(self.end.reasons) and not part.whole)
        self._waiting.add(part)
        if self.live is not None:
            free = self._block is None and not (self._waiting.written or self._undecided)
            piece = self.live.take(part, self.sent, free=free, knows=self._once.knows)
            if piece is not None:
                self.sent += piece.begins
                self.end.called = self.sent > 0
                out.append(piece)
        return [*out, *self._certain()] if part.ends else out

    def _certain(self) -> list[Part]:
        """The calls, if all have ended and need no finish reason, and nothing that waits comes before them."""
        waiting = self._waiting
        if not waiting.ended or waiting.written or self._block is not None or self._stop is not None:
            return []
        certain = not self._undecided and are_certain(waiting.fragments, self._tools)
        return self._decide(Finish.COMPLETE) if certain else []

    def _take_stop(self, part: Stop) -> list[Part]:
        end, undecided = self.end, self._undecided
        if part.tokens:
            end.note_tokens(part.tokens)
        end.failed = end.failed or part.failed
        finish = Finish.CUT if end.cut_off else part.finish
        out: list[Part] = []
        if not undecided or finish is Finish.CUT:
            undecided, out = False, self._end_text(finish)
        calls = self._waiting.fragments
        last = calls[-1] if calls else Fragment(whole=True)
        ends = last.whole or last.begins or last.ends or last.item  # By an event that may follow.
        free = finish is Finish.COMPLETE and not (undecided or self._waiting.written or ends or end.reasons)
        if free and are_certain(calls, self._tools, finish):
            calls, out = [], [*out, *self._decide(finish)]
        # Behind a call another one may follow, but the event of a text leaves as it came.
        alone = self.sent and not (part.source and any(isinstance(one, Text) for one in part.source.parts))
        waits = calls or self._waiting.written or self._waiting.texts or end.reasons or undecided
        waits = waits or self.call_may_follow or alone
        goes = not waits and end.true_reason(part.reason) == (part.reason or end.words.stop)
        if self.sent or not goes:
            end.reasons.append(part.reason)
        if finish is Finish.CUT or not goes:
            end.finishes.add(finish)
        if goes:
            return [*out, part]
        end.went_on = self.went_on_after_reason = False
        if self._stop is not None:
            # The last one counts, with what only an earlier one says besides (usage).
            self._tail.let_go(self._stop)
            part.body = {**self._stop.body, **part.body}
        self._stop = part
        self._tail.keep(part)
        return out

    def _end_text(self, finish: Finish) -> list[Part]:
        """The answer ends, and its text with it."""
        if self.end.cut_off or (self._traits.text_needs_reason and finish is Finish.UNKNOWN):
            finish = Finish.CUT
        return self.text.close(finish, alone=not self.has_calls)

    # Calls

    def _decide(self, finish: Finish, *, drop: bool = False) -> list[Part]:
        """Mend or refuse all calls that wait, in the order in which the model made them."""
        fragments, waited = self._waiting.fragments, self._waiting.pop()
        calls = assemble(fragments, self._tools, finish)
        cut = Finish.CUT in self.end.finishes and self._policy.truncated != "complete"
        last = calls[-1] if calls and self._traits.passes_calls and cut else None
        if last is not None and last.fragments[-1].whole and not self._mender.leaves_alone(last.name):
            last.refuse(CUT_INSIDE)  # A server that sends calls whole closes what was cut off.
        new = self._once.new(calls)
        if self.live is not None:
            new = self.live.judge(calls, new)
        out: list[Part] = []
        ordered = list(in_order(waited, new, self._tools))
        for one in ordered:
            if isinstance(one, Other):
                out.append(one)
            elif one.fragments:
                one.followed = one.followed or one is not ordered[-1] or self._stop is not None
                out += self._decide_call(one, drop)
            else:
                # It is complete, however the answer ended, and gets a new id.
                out += self._sent(one, self._mender.decide(one, drop=drop, id=""))
        return out

    def _decide_call(self, call: Call, drop: bool) -> list[Part]:
        live = self.live if self.live is not None and self.live.finish(call) else None
        wanted = call.id if self.needs_ids else call.id or None
        ids = self._mender.ids
        if ids.safe and (live.id != call.id if live is not None else not ids.keeps(call.id)):
            call.steps = (*call.steps, "new id")
        whole = call.fragments[0].whole or call.fragments[0].again
        if not (call.arguments.strip() or call.finish is Finish.COMPLETE or whole):
            call.refuse("" if self._mender.leaves_alone(call.name) else CUT_BEFORE)
        drop = drop or bool(call.refusal and not call.name)  # Without a name there is no call to send a refusal in.
        # What follows a dropped call ends its block too, and clients take it for complete then.
        end = _HALF_END if self._traits.one_block and (call.followed or not drop) else ""
        outcome = self._mender.decide(call, drop=drop, id=wanted, invalid_tail=end)
        return self._sent(call, outcome, live)

    def _sent(self, call: Call, outcome: Outcome, live: Live | None = None) -> list[Part]:
        """The call as the client gets it: the part that it came in, if nothing changed. `live` has sent its
        beginning: that is all that the client gets, if the call is refused."""
        refused = outcome.status == "refused"
        self.call_refused = self.call_refused or refused
        piece = live.last(call, outcome) if live is not None else None
        # A block that has an end is a call, however its input reads.
        half = refused and piece is not None and not (self._traits.one_block and piece.ends)
        if outcome.left_alone or half:
            self.end.left_alone = self.end.left_alone or outcome.left_alone or not self._traits.one_block
            lacks = half or mend_arguments(outcome.arguments, Finish.CUT).value is None
            self.end.left_half = self.end.left_half or lacks
        if piece is not None:
            return [piece]
        if outcome.dropped:
            self._notes.append(outcome.note)
            return []
        self.sent += 1
        self.end.called = True
        only = call.fragments[0] if len(call.fragments) == 1 else None
        whole = only is not None and (only.whole or only.again or (only.begins and only.ends))
        if self._traits.passes_calls and whole and outcome.status == "valid" and outcome.id in (call.id, ""):
            return [call.fragments[0]]
        ends = not outcome.left_alone or any(one.ends for one in call.fragments)
        made = Piece(self.sent - 1, outcome.id, outcome.name, outcome.arguments, True, ends, outcome, body=call.body)
        made.fragments, made.choice = call.fragments, self._choice
        return [made]

    # The end

    def close(self, finish: Finish, *, failed: bool = False) -> list[Part]:
        """All that waits. `finish`: how the answer ended, if no reason says so. `failed`: an error follows."""
        end, failed = self.end, failed or self.end.failed
        if end.finishes and not end.went_on:  # The worst reason counts.
            known = end.finishes | ({Finish.CUT} if end.cut_off else set())
            finish = next(one for one in (Finish.CUT, Finish.UNKNOWN, Finish.COMPLETE) if one in known)
        finish = Finish.CUT if failed else finish
        self.call_refused = False
        out = [*self._end_text(finish), *self._decide(finish, drop=failed)]
        out = self._heard(out) if self._policy.null_content else out
        notes, self._notes = self._notes, []
        out += [Text(note, choice=self._choice) for note in notes if note and not self.sent]
        end.broken = end.broken or failed or (finish is Finish.CUT and self.call_refused)
        stop, self._stop = self._stop, None
        if stop is not None:
            self._tail.let_go(stop)
            truth = end.true_reason()
            out.append(stop if truth == stop.reason else Stop(truth, stop.finish, stop.body, choice=self._choice))
        elif not (end.reasons or end.broken or end.left_alone) and (self.sent or self.call_refused):
            end.reasons.append(end.true_reason())
            out.append(Stop(end.reasons[0], finish, choice=self._choice))
        behind, self._behind = self._behind, []
        self._tail.let_go(*behind)
        return [*out, *behind]
