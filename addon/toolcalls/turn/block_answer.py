"""An answer whose texts and calls come in blocks, each of which begins and ends with an event of its own.

A call may leave at its own end, before the answer has ended, and never before an earlier one. Each block of text is
searched by itself; a call in it is known when something else follows it, or when the answer ends.
"""

from __future__ import annotations

from itertools import takewhile
from typing import Any

from ..mend.finish import Finish
from ..mend.mender import Mender
from ..policy import Policy
from ..request.request import Request
from .answer import Answer, CompletedCall
from .assembled_call import AssembledCall
from .block_assembler import BlockAssembler
from .block_call import BlockCall
from .live import LiveCall
from .outgoing_calls import OutgoingCalls
from .parts import Place
from .searched_texts import SearchedTexts
from .shared_place import refuse
from .text_search import SearchResult


class BlockAnswer(Answer):
    __slots__ = ("_texts", "assembler", "text_block")

    def __init__(self, request: Request, policy: Policy, mender: Mender, *, spoiler: str = "") -> None:
        """`spoiler`: ends a live call that is refused, where clients run even a prefix."""
        super().__init__(
            request, policy, mender, OutgoingCalls(request.tools, mender, safe_ids=True, spoiler=spoiler)
        )
        self.assembler = BlockAssembler(mender.work)
        self._texts = SearchedTexts(request, policy, mender)
        self.text_block: Place = None
        """That block."""

    # Text

    def say(self, text: str, source: Any = None, block: Place = None) -> SearchResult | None:
        """The text after the search; None where it goes on as it is."""
        if not self.searches:
            return None
        if self.search is None:
            self.text_block = block
        self.search = self._texts.search_of(self.search, text)
        return super().say(text, source)

    @property
    def _spoke(self) -> bool:
        return self._texts.spoke

    def pass_text_on(self) -> SearchResult:
        """Something else follows the block: what is held of it is text."""
        result = super().pass_text_on()
        self.search = None
        return result

    def end_text(self, finish: Finish) -> SearchResult:
        result = super().end_text(finish)
        self.search = None
        return result

    def search_whole(self, text: str, finish: Finish, thought: str = "") -> SearchResult | None:
        result = super().search_whole(text, finish, thought)
        return result.without_idle_space() if result is not None else None

    @property
    def holds_text(self) -> bool:
        """Is text, or a call that was found in it, held back?"""
        return self.outgoing.has_found or (self.search is not None and self.search.holding)

    # Calls

    @property
    def has_pending_calls(self) -> bool:
        return super().has_pending_calls or bool(self.assembler.calls)

    def pop_ready(self) -> list[BlockCall]:
        """The calls at the head of the line that need no finish reason."""
        ready = list(takewhile(lambda call: call.ended and call.ready(), self.assembler.calls))
        del self.assembler.calls[: len(ready)]
        return ready

    def pop_ended(self, finish: Finish) -> list[BlockCall]:
        """A finish reason came: the calls that have ended, if none of them needs to wait for another reason."""
        self.assembler.judge(complete=finish is Finish.COMPLETE)
        # All of them at once: the first may only have begun what a later one tells.
        ended = list(takewhile(lambda call: call.ended, self.assembler.calls))
        if not all(call.ready() for call in ended):
            # Another reason may follow, which says that they were cut off.
            return []
        del self.assembler.calls[: len(ended)]
        return ended

    def leave(self, calls: list[BlockCall], finish: Finish, *, before_error: bool = False) -> list[CompletedCall]:
        """These calls leave."""
        out = self._complete_gathered(calls, finish, before_error, ids=True)
        for call in calls:
            call.done = True
        return out

    def complete(self, finish: Finish, *, before_error: bool = False) -> list[CompletedCall]:
        """All calls that were gathered or found leave."""
        return self._complete(self.assembler.hand_out(finish), finish, before_error, ids=True)

    def end_live(self, call: BlockCall, finish: Finish, *, before_error: bool = False) -> CompletedCall:
        """The end of a call of which the client has a part."""
        call.ended = True
        if call.unsure and finish is not Finish.COMPLETE:
            refuse([call])
        return self.leave([call], finish, before_error=before_error)[0]

    def has_all(self, call: BlockCall) -> bool:
        """Does the client have all of a live call?"""
        live = self._lives.get(id(call))
        return live is not None and live.arguments.complete

    def _may_go_live(self, call: AssembledCall) -> bool:
        # Its beginning goes out at once, and must not be taken back.
        return isinstance(call, BlockCall) and bool(call.name) and not call.given and not call.fragments

    def _new_live(self, call: AssembledCall) -> LiveCall:
        identity = self._mender.ids.safe(call.id)
        call.steps = () if identity == call.id else ("new id",)
        return LiveCall(self.outgoing.sent, identity, holds_commas=False)
