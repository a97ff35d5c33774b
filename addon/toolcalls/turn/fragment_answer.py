"""An answer whose calls arrive in fragments, told apart by index, id or name, and are released when it ends.

Calls that arrive in one piece (Ollama, Gemini) are single fragments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..mend.finish import Finish
from ..mend.mender import Mender
from ..policy import Policy
from ..request.request import Request
from .answer import Answer, CompletedCall
from .assembled_call import AssembledCall
from .fragment_assembler import FragmentAssembler
from .fragments import full_name
from .live import LiveCall
from .outgoing_calls import OutgoingCalls
from .parts import Fragment
from .refusal_reasons import CUT_INSIDE
from .structured_text import new_search


@dataclass(slots=True, frozen=True)
class AnswerTraits:
    """The properties of a protocol that decide when a call of an answer is complete."""

    whole_calls: bool = False
    """Calls arrive in one piece, so anything after a call shows that it is complete. If the finish reason says that
    the answer was cut off, the last call may be half a call that the server closed."""
    needs_finish_reason: bool = False
    """Every complete answer has a known finish reason. Without one, a call written as text stays text."""
    needs_ids: bool = True
    """Every call needs an id. If False, a call that arrived without one is sent without one."""


class FragmentAnswer(Answer[AssembledCall]):
    __slots__ = ("_late", "_traits", "assembler")

    def __init__(self, request: Request, policy: Policy, mender: Mender, traits: AnswerTraits) -> None:
        super().__init__(request, policy, mender, OutgoingCalls(request.tools, mender, awaits_arguments=False))
        self.search = new_search(request, policy, mender, find_calls=self.finds_calls)
        self._traits = traits
        self.needs_ids = traits.needs_ids
        self.assembler = FragmentAssembler(request.tools, mender.work, whole_calls=traits.whole_calls)
        self._late = False
        """Fragments arrived after a finish reason, so the reason did not mean that the calls were finished."""

    @property
    def engaged(self) -> bool:
        """Whether a call or a finish reason has arrived, or text is held."""
        calls = self.outgoing.sent or self.has_pending_calls
        return bool(calls or self.reasons or (self.search and self.search.holding))

    @property
    def _last_call(self) -> AssembledCall | None:
        return self.assembler.calls[-1] if self.assembler.calls else None

    @property
    def has_pending_calls(self) -> bool:
        return bool(self.outgoing.found or self.assembler.calls)

    def gather(self, fragment: Fragment) -> AssembledCall | None:
        """Take a fragment and return the call that it belongs to; None if it is empty."""
        self._late = self._late or (bool(self.reasons) and not self._traits.whole_calls)
        return self.assembler.add(fragment)

    def note_that_more_follows(self) -> None:
        """Note that something arrived after the calls so far."""
        for call in reversed(self.assembler.calls):
            if call.followed:
                break
            call.followed = True

    def complete(self, finish: Finish, *, drop_refused: bool = False) -> list[CompletedCall]:
        """Decide and release all calls that were gathered or found."""
        return self.release(self.assembler.hand_out(finish), finish, drop_refused=drop_refused)

    def _may_go_live(self, call: AssembledCall) -> bool:
        unclear = call.refusal_reason or call.all_or_none
        waits = not (call.names and call.begun)
        return not (unclear or waits or call.again or call.restated)

    def _new_live(self, call: AssembledCall) -> LiveCall:
        name = full_name(call.names, self._tools)
        return LiveCall(self.outgoing.sent, self._mender.ids.unique(call.id), name)

    def _complete_gathered(
        self, calls: Sequence[AssembledCall], finish: Finish, drop_refused: bool
    ) -> list[CompletedCall]:
        cut = Finish.CUT in self._finishes and self._policy.truncated != "complete"
        if calls and cut and self._traits.whole_calls:
            # The last call may have been cut off, and then closed by the server, which sends calls whole.
            calls[-1].refuse(CUT_INSIDE)
        return super()._complete_gathered(calls, finish, drop_refused)

    def note_passed_reason(self, finish: Finish) -> None:
        """Note a finish reason that the client already has: a call that follows a cut is cut too."""
        if finish is Finish.CUT:
            self._finishes.append(finish)

    def _finish_of_text(self, finish: Finish) -> Finish:
        unknown = self._traits.needs_finish_reason and finish is Finish.UNKNOWN
        return Finish.CUT if unknown else self.finish_unless_refused(finish)

    def trusted_finish(self, finish: Finish) -> Finish:
        """How the answer ended: by the reasons that arrived, unless fragments followed one; else `finish`."""
        if self._late or not self._finishes:
            return finish
        worst = next((one for one in (Finish.CUT, Finish.UNKNOWN) if one in self._finishes), Finish.COMPLETE)
        return self.finish_unless_refused(worst)
