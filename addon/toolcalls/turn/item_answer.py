"""An answer whose calls are items, each of which begins and ends with an event of its own.

How long a call is held: until its own end if its arguments are a closed JSON value, for then nothing that follows can
change what they mean. A broken one is held until the answer has ended, because only that tells whether it was cut.
Calls that have ended leave in the order in which they did, so a whole call waits behind a broken one.

Each part of an item that is text is searched by itself. The text of a call leaves its part; the call itself goes out
behind everything else, unless a structured call told the same. Whether the last words of a part are a call is known
when the answer ends, or when something else follows them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..mend.finish import Finish
from ..mend.mender import Mender
from ..outcome import Outcome
from ..policy import Policy
from ..request.request import Request
from .answer import Answer, CompletedCall
from .assembled_call import AssembledCall
from .freeform_input import NO_READING, RETYPED, freeform_input
from .item_assembler import ItemAssembler
from .item_call import CONTRADICTION, ItemCall, is_whole
from .items import Item, Items, TextPart
from .live import LiveArguments, LiveCall
from .outgoing_calls import GatheredCall, OutgoingCalls
from .resent import brief_meaning
from .searched_texts import SearchedTexts
from .text_search import SearchResult


class ItemAnswer(Answer):
    __slots__ = (
        "_named",
        "assembler",
        "dropped",
        "ended",
        "items",
        "noted",
        "streamed",
        "texts",
    )

    def __init__(self, request: Request, policy: Policy, mender: Mender, items: Items, kind: str) -> None:
        """`kind`: the type of items that are calls."""
        super().__init__(request, policy, mender, OutgoingCalls(request.tools, mender))
        self.streamed = True
        """False where there is nothing but the list of all items."""
        self.texts = SearchedTexts(request, policy, mender, has_calls=self._has_calls)
        self.items = items
        self.assembler = ItemAssembler(items, kind, mender.work)
        self.ended: list[Item] = []
        """Calls that have ended and not left."""
        self._named: tuple[int, set[bytes]] = (0, set())
        """What the calls with a name say, and how many items there were when that was looked at."""
        self.dropped = 0
        """Calls that the client does not get."""
        self.noted: list[int] = []
        """Where the dropped calls stood about which something is to be said."""

    # Text

    def say_in(self, part: TextPart, text: str, source: Any = None) -> SearchResult:
        """What may go out now that a part says this."""
        part.search = self.texts.search_of(part.search, text)
        return self._found_in(part, part.search.take(text, source) if part.search is not None else SearchResult())

    def end_in(self, part: TextPart, finish: Finish | None) -> SearchResult:
        """The text of a part is over: with the answer, or, None, with something else behind it."""
        if part.search is None or part.searched:
            return SearchResult()
        part.searched = True
        return self._found_in(part, part.search.pass_on() if finish is None else part.search.close(finish))

    def _found_in(self, part: TextPart, result: SearchResult) -> SearchResult:
        self.outgoing.found(result.calls)
        part.calls += [call.raw for call in result.calls]
        return result

    @property
    def text_undecided(self) -> bool:
        return self.texts.undecided

    @property
    def _spoke(self) -> bool:
        return self.texts.spoke

    def _has_calls(self) -> bool:
        return bool(self.outgoing.sent or self.outgoing.has_found) or any(
            item.call is not None for item in self.items.all
        )

    # Calls leave

    def pop_settled(self) -> Iterator[Item]:
        """The calls that may leave now, one after the other, whatever follows them."""
        while self.ended and (call := self.ended[0].call) is not None and call.is_settled():
            yield self.ended.pop(0)

    def pop_all(self) -> list[Item]:
        """The answer is over: the calls that have ended leave in that order, then the others."""
        items, self.ended = self.ended, []
        items += [item for item in self.items.in_order() if item.call is not None and item.open]
        self.assembler.judge([item.call for item in items if item.call is not None])
        return items

    def leave(
        self, items: list[Item], finish: Finish, *, before_error: bool = False
    ) -> list[tuple[Item, CompletedCall]]:
        """These calls leave, each once: what becomes of those that the client gets."""
        calls = [item.call for item in items if item.call is not None]
        completed = {
            id(done.assembled): done for done in self._complete_gathered(calls, finish, before_error, ids=True)
        }
        out: list[tuple[Item, CompletedCall]] = []
        for item in items:
            done = completed.get(id(item.call))
            if item.call is not None and done is not None and not done.outcome.dropped:
                item.call.sent_id = item.call.sent_id or done.outcome.id
                out.append((item, done))
                continue
            item.dropped = True
            compared = item.call.compared if item.call is not None else None
            self.dropped += compared is not None and compared.kept
            if done is not None and done.outcome.note:
                self.noted.append(item.index)
        return out

    def leave_found(self, *, before_error: bool = False) -> Iterator[tuple[Item, Outcome]]:
        """The calls that were written as text, and that no structured call tells, as items of their own."""
        for outcome in self.outgoing.complete_found(before_error=before_error):
            item = self.assembler.open("", None)
            if not outcome.dropped:
                yield item, outcome
                continue
            item.dropped = True
            self.noted += [item.index] if outcome.note else []

    def notes(self) -> list[tuple[int, str]]:
        """What to tell the client about dropped calls where no call is left, and at which index."""
        return list(zip(self.noted, self.outgoing.pop_notes(), strict=False))

    def _gathered(
        self, assembled: AssembledCall, finish: Finish, ids: bool, live: LiveArguments | None
    ) -> GatheredCall:
        assert isinstance(assembled, ItemCall)
        call = assembled
        compared = call.compared = call.to_compare(call.name)
        uncertain = call.uncertain
        text, steps = call.settle()
        doubt = (call.doubt or CONTRADICTION) if uncertain else ""
        if live is not None:
            compared.out = True
            return GatheredCall(assembled.names[-1], text, steps=steps, doubt=doubt, live=live, compared=compared)
        name = call.name
        if not name and (not text or (not call.reports and self._is_told_by_name(text))):
            return GatheredCall("", "", compared=compared)
        if uncertain:
            return GatheredCall(name, call.from_fragments()[0], call.call_id, doubt=doubt, compared=compared)
        finish = call.finish_for(finish)
        steps = steps if self.streamed else ()
        namespace = call.namespace or None
        known = GatheredCall(name, text, call.call_id, steps, finish=finish, namespace=namespace, compared=compared)
        if self._is_freeform(call) and (text.strip() or finish is Finish.COMPLETE):
            raw = freeform_input(text, finish)
            if raw is not None:
                known.arguments, known.steps, call.raw_input = raw, (*known.steps, RETYPED), True
                return known
            if not is_whole(text):
                known.doubt = NO_READING
                return known
        known.value = call.pop_value(text)
        return known

    def _is_told_by_name(self, arguments: str) -> bool:
        """Does a call with a name say what these arguments of no call say? Then their events had a wrong id."""
        items, meanings = self._named
        if items < len(self.items.all):
            named = [item.call for item in self.items.all if item.call is not None and item.call.name]
            meanings = {brief_meaning(call.settle()[0]) for call in named}
            self._named = (len(self.items.all), meanings)
        return brief_meaning(arguments) in meanings

    def _is_freeform(self, call: ItemCall) -> bool:
        tool = self._tools.get(call.name, call.namespace or None)
        return tool is not None and tool.kind == "custom"

    # Calls that go out while they come

    def _may_go_live(self, assembled: AssembledCall) -> bool:
        # Its announcement goes out at once: its name and its id must be final.
        return (
            isinstance(assembled, ItemCall)
            and bool(assembled.name)
            and assembled.first is None
            and not self._is_freeform(assembled)
        )

    def _new_live(self, assembled: AssembledCall) -> LiveCall:
        assert isinstance(assembled, ItemCall)
        assembled.live = True
        assembled.names = [assembled.name]
        assembled.sent_id = self._mender.ids.unique(assembled.call_id)
        return LiveCall(self.outgoing.sent, assembled.sent_id, holds_commas=False)
