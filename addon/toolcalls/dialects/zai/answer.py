"""An answer of chat.z.ai: which calls are the client's, which the backend ran itself, and which are complete when the
stream breaks off."""

from __future__ import annotations

from ...mend.finish import Finish
from ...mend.mender import Mender
from ...policy import Policy
from ...request.request import Request
from ...turn import payload
from ...turn.answer import CompletedCall
from ...turn.assembled_call import AssembledCall
from ...turn.fragment_answer import AnswerTraits, FragmentAnswer
from ...turn.fragments import full_name
from ...turn.outgoing_calls import GatheredCall
from ...turn.refusal_reasons import CUT_INSIDE
from ...turn.text_search import SearchResult, TextPiece
from ...work import TooMuchWork
from .owners import Owners
from .reader import RanUpstream, ZaiReader


class ZaiAnswer(FragmentAnswer):
    """An answer whose calls arrive in fragments, or are in the document until the turn is over."""

    __slots__ = ("_cut", "_growing", "_owners", "_ran", "_reader", "broken_off")

    def __init__(self, request: Request, policy: Policy, mender: Mender, owners: Owners, reader: ZaiReader) -> None:
        super().__init__(request, policy, mender, AnswerTraits())
        self._owners = owners
        self._reader = reader
        self._ran: list[AssembledCall] = []
        """The calls that the backend ran itself."""
        self._growing: AssembledCall | None = None
        """The call that may still grow."""
        self._cut: AssembledCall | None = None
        """The call that is cut off by the end of the document."""
        self.broken_off = False
        """The stream ended in the middle, or the upstream failed: only a call that is complete by itself counts."""

    @property
    def has_pending_calls(self) -> bool:
        return super().has_pending_calls or self._reader.has_calls

    # Text. When the work budget is used up, the search stops, because a converted answer cannot pass unchanged.

    def take_text(self, text: str, source: bytes | None = None) -> SearchResult | None:
        try:
            return super().take_text(text, source)
        except TooMuchWork:
            return self._stop_searching(text)

    def end_text(self, finish: Finish) -> SearchResult:
        try:
            return super().end_text(finish)
        except TooMuchWork:
            return self._stop_searching()

    def _stop_searching(self, text: str = "") -> SearchResult:
        """Stop the search: the held text and this text after it, as text to send."""
        unsearched = self.held_text + text
        self.search = self.reasoning = None
        return SearchResult((TextPiece(unsearched),)) if unsearched else SearchResult()

    # Calls

    def ran_upstream(self, part: RanUpstream) -> None:
        """Mark the last call with this id or name as one that the backend ran itself."""
        for assembled in reversed(self.assembler.calls):
            if (part.id and assembled.id == part.id) or (not part.id and assembled.name == part.name):
                self._ran.append(assembled)
                return

    def complete(self, finish: Finish, *, drop_refused: bool = False) -> list[CompletedCall]:
        return self.release(self._clients(self.assembler.hand_out(finish)), finish, drop_refused=drop_refused)

    @property
    def has_whole_call(self) -> bool:
        """Whether a call for the client is complete by itself."""
        assembled_calls = self._clients(self.assembler.judged(complete=True))
        return any(self._is_whole(call, self._gathered(call, Finish.COMPLETE)) for call in assembled_calls)

    def _clients(self, gathered: list[AssembledCall]) -> list[AssembledCall]:
        """The client's calls: those in the document, and those among `gathered`, which arrived in fragments."""
        in_document = self._reader.calls()
        blocks = [AssembledCall.of(call) for call in in_document.calls]
        self._growing = next(reversed([*gathered, *blocks]), None) if in_document.last_may_grow else None
        self._cut = blocks[-1] if in_document.cut_inside else None
        return blocks + [
            assembled
            for assembled in gathered
            if self._owners.is_clients(full_name(assembled.names, self._tools))
            and not any(assembled is ran for ran in self._ran)
        ]

    def _gathered(self, assembled: AssembledCall, finish: Finish) -> GatheredCall:
        call = super()._gathered(assembled, finish)
        if assembled is self._cut:
            call.finish = Finish.CUT
        elif self._is_whole(assembled, call):
            call.finish = Finish.COMPLETE
        if self.broken_off and call.finish is not Finish.COMPLETE:
            call.refusal_reason = call.refusal_reason or CUT_INSIDE
        return call

    def _is_whole(self, assembled: AssembledCall, call: GatheredCall) -> bool:
        """Whether a call is complete by itself, however the answer ended.

        A complete JSON object cannot be the beginning of a longer one.
        """
        if call.refusal_reason or assembled is self._cut:
            return False
        final = assembled is not self._growing
        if not call.arguments.strip():
            return final
        value = payload.read_encoded(call.arguments)
        return isinstance(value, dict) and (bool(value) or final)
