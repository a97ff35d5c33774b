"""An answer whose calls come in fragments that only an index, an id or a name tells apart, and leave when it ends.

Calls that come in one piece (Ollama, Gemini) are fragments that are whole.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..mend.finish import Finish
from ..mend.mender import Mender
from ..policy import Policy
from ..request.request import Request
from .answer import Answer, CompletedCall
from .assembled_call import AssembledCall
from .fragment_assembler import FragmentAssembler
from .outgoing_calls import CUT_INSIDE, OutgoingCalls
from .parts import Fragment
from .structured_text import structured_around
from .text_search import TextSearch, searches


class FragmentAnswer(Answer):
    __slots__ = ("_late", "_says_complete", "_whole_calls", "assembler")

    def __init__(
        self,
        request: Request,
        policy: Policy,
        mender: Mender,
        *,
        whole_calls: bool = False,
        says_complete: bool = False,
    ) -> None:
        """`whole_calls`: calls come in one piece. `says_complete`: an answer that is complete says so."""
        super().__init__(request, policy, mender, OutgoingCalls(request.tools, mender, awaits_arguments=False))
        search = TextSearch(request, policy) if searches(request, policy) else None
        self.search = structured_around(search, request, policy, mender)
        self._whole_calls = whole_calls
        self._says_complete = says_complete
        self.assembler = FragmentAssembler(request.tools, whole_calls=whole_calls, work=mender.work)
        self._late = False
        """Fragments came behind a finish reason: it did not say that the calls were finished."""

    @property
    def engaged(self) -> bool:
        """Was a call or a finish reason seen, or is text held?"""
        calls = self.outgoing.sent or self.has_pending_calls
        return bool(calls or self.reasons or (self.search and self.search.holding))

    @property
    def has_pending_calls(self) -> bool:
        return super().has_pending_calls or bool(self.assembler.calls)

    def gather(self, fragment: Fragment) -> AssembledCall | None:
        """Take a fragment; the call that it belongs to, or None where it says nothing."""
        # Where a finish reason came before it, that did not say that the calls were finished.
        self._late = self._late or (bool(self.reasons) and not self._whole_calls)
        return self.assembler.add(fragment)

    def note_that_more_follows(self) -> None:
        """Something came behind the calls so far."""
        for call in reversed(self.assembler.calls):
            if call.followed:
                break
            call.followed = True

    def complete(self, finish: Finish, *, before_error: bool = False, ids: bool = True) -> list[CompletedCall]:
        """All calls that were gathered or found leave. `ids`: each has to have one."""
        return self._complete(self.assembler.hand_out(finish), finish, before_error, ids)

    def _complete_gathered(
        self, calls: Sequence[AssembledCall], finish: Finish, before_error: bool, ids: bool
    ) -> list[CompletedCall]:
        if self._whole_calls and self._closed_by_server and calls:
            calls[-1].doubt = calls[-1].doubt or CUT_INSIDE
        return super()._complete_gathered(calls, finish, before_error, ids)

    @property
    def _closed_by_server(self) -> bool:
        """May the last call be one that was cut off? Servers that send calls whole close what the model left open."""
        return Finish.CUT in self._finishes and self._policy.truncated != "complete"

    def passed_stop(self, finish: Finish) -> None:
        """The upstream said why the model stopped, and the client has it: a call behind a cut is cut all the same."""
        if finish is Finish.CUT:
            self._finishes.append(finish)

    def _finish_of_text(self, finish: Finish) -> Finish:
        unknown = self._says_complete and finish is Finish.UNKNOWN
        return Finish.CUT if unknown else super()._finish_of_text(finish)

    def believed(self, finish: Finish) -> Finish:
        """How the answer ended: as the reasons say that came, unless fragments came behind one; else as `finish`."""
        if self._late or not self._finishes:
            return finish
        finishes = [*self._finishes, *([Finish.CUT] if self.refused else [])]
        return next((cut for cut in (Finish.CUT, Finish.UNKNOWN) if cut in finishes), Finish.COMPLETE)
