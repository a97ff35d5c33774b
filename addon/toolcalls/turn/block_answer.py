"""An answer whose texts and calls arrive in blocks, each with an event for its beginning and one for its end.

A call may be released at its own end, before the answer ends, but never before an earlier call. Each block of text
is searched on its own; whether it ends with a call is known when something else follows, or when the answer ends.
"""

from __future__ import annotations

from itertools import takewhile
from typing import Any

from ..mend.finish import Finish
from ..mend.mender import Mender
from ..policy import Policy
from ..request.request import Request
from .answer import Answer, CompletedCall
from .block_assembler import BlockAssembler
from .block_call import BlockCall
from .calls_at_index import refuse
from .live import LiveCall
from .outgoing_calls import OutgoingCalls
from .parts import Index
from .searched_texts import SearchedTexts
from .text_search import SearchResult


class BlockAnswer(Answer[BlockCall]):
    __slots__ = ("_texts", "assembler", "text_block")

    def __init__(self, request: Request, policy: Policy, mender: Mender, *, invalid_tail: str = "") -> None:
        """`invalid_tail`: text that ends a refused live call, for clients that run even a prefix."""
        super().__init__(
            request, policy, mender, OutgoingCalls(request.tools, mender, safe_ids=True, invalid_tail=invalid_tail)
        )
        self.assembler = BlockAssembler(request.tools, mender.work)
        self._texts = SearchedTexts(request, policy, mender, find_calls=self.finds_calls)
        self.text_block: Index = None
        """The index of the block that is being searched."""

    # Text

    def take_text(self, text: str, source: Any = None, block: Index = None) -> SearchResult | None:
        """Search a text; None if it is sent unchanged."""
        if not self.examines_text:
            return None
        self._search_block(text, block)
        return super().take_text(text, source)

    def take_other(self, shown: str | None = "", block: Index = None) -> SearchResult | None:
        """Note content that is not searched. `block`: the block whose text goes on after what it shows."""
        if shown is None:
            self._texts.stop()
        elif shown and self.examines_text:
            self._search_block(shown, block)
        return super().take_other(shown)

    def _search_block(self, text: str, block: Index) -> None:
        """Choose the search for a text of this block."""
        if self.search is None:
            self.text_block = block
        self.search = self._texts.search_of(self.search, text)

    @property
    def _has_text(self) -> bool:
        return self._texts.has_text

    def release_text(self) -> SearchResult:
        """Release held text, because something else follows the block."""
        result = super().release_text()
        self.search = None
        return result

    def end_text(self, finish: Finish) -> SearchResult:
        result = super().end_text(finish)
        self.search = None
        return result

    def search_whole(self, text: str, finish: Finish) -> SearchResult:
        return super().search_whole(text, finish).without_idle_space()

    @property
    def holds_text(self) -> bool:
        """Whether text, or a call found in it, is held."""
        return bool(self.outgoing.found) or (self.search is not None and self.search.holding)

    # Calls

    @property
    def _last_call(self) -> BlockCall | None:
        return self.assembler.calls[-1] if self.assembler.calls else None

    @property
    def has_pending_calls(self) -> bool:
        return bool(self.outgoing.found or self.assembler.calls)

    def pop_ready(self) -> list[BlockCall]:
        """Remove and return the first calls, as far as they need no finish reason."""
        ready = list(takewhile(lambda call: call.ended and call.needs_no_finish(), self.assembler.calls))
        del self.assembler.calls[: len(ready)]
        return ready

    def pop_ended(self, finish: Finish) -> list[BlockCall]:
        """Remove and return the calls that have ended before a finish reason, unless one has to wait for another."""
        self.assembler.judge(complete=finish is Finish.COMPLETE)
        # All of them at once: the first may only be the beginning of a later one.
        ended = list(takewhile(lambda call: call.ended, self.assembler.calls))
        if not all(call.needs_no_finish() for call in ended):
            # Another reason may follow that says the calls were cut off.
            return []
        del self.assembler.calls[: len(ended)]
        return ended

    def complete_calls(
        self, calls: list[BlockCall], finish: Finish, *, drop_refused: bool = False
    ) -> list[CompletedCall]:
        """Decide and release these calls."""
        out = self._complete_gathered(calls, finish, drop_refused)
        for call in calls:
            call.done = True
        return out

    def complete(self, finish: Finish, *, drop_refused: bool = False) -> list[CompletedCall]:
        """Decide and release all calls that were gathered or found."""
        return self.release(self.assembler.hand_out(finish), finish, drop_refused=drop_refused)

    def end_live(self, call: BlockCall, finish: Finish, *, drop_refused: bool = False) -> CompletedCall:
        """Decide a call that ends after a part of it was sent."""
        call.ended = True
        if call.all_or_none and finish is not Finish.COMPLETE:
            refuse([call])
        return self.complete_calls([call], finish, drop_refused=drop_refused)[0]

    def _may_go_live(self, call: BlockCall) -> bool:
        # The beginning is sent at once and cannot be taken back.
        return bool(call.name) and not call.given and not call.fragments

    def _new_live(self, call: BlockCall) -> LiveCall:
        identity = self._mender.ids.safe(call.id)
        call.steps = () if identity == call.id else ("new id",)
        return LiveCall(self.outgoing.sent, identity, call.name, holds_commas=False)
