"""An answer whose calls are items, each with an event for its beginning and one for its end.

A call is held until its own end if its arguments are a complete JSON value, because then nothing that follows can
change their meaning. A broken call is held until the answer ends, because only then it is known whether it was cut
off. Calls are released in the order in which they ended, so a complete call waits behind a broken one.

Each text part of an item is searched on its own. The text of a call is removed from its part; the call itself becomes
an item in the order of the calls, unless a structured call is the same. Whether a part ends with a call is known when
the answer ends, or when something else follows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..mend.finish import Finish
from ..mend.mender import Mender
from ..policy import Policy
from ..request.request import Request
from .answer import Answer, CompletedCall, in_order
from .assembled_call import AssembledCall
from .freeform_input import RETYPED, freeform_input
from .item_assembler import ItemAssembler
from .item_call import ItemCall, is_whole
from .items import Item, Items, TextPart
from .live import LiveCall
from .outgoing_calls import GatheredCall, OutgoingCalls
from .refusal_reasons import EVENTS_CONTRADICTORY, FREEFORM_UNCLEAR, RENAMED_LIVE
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
        """False if there is only the list of all items."""
        self.texts = SearchedTexts(request, policy, mender, find_calls=self.finds_calls, has_calls=self._has_calls)
        self.items = items
        self.assembler = ItemAssembler(items, kind, mender.work)
        self.ended: list[Item] = []
        """Calls that have ended and were not released."""
        self._named: tuple[int, set[bytes]] = (0, set())
        """How many items there were, and the meanings of their named calls' arguments."""
        self.dropped = 0
        """How many calls the client does not get."""
        self.noted: list[int] = []
        """The indices of dropped calls that have a note."""

    # Text

    def take_part_text(self, item: Item, part: TextPart, text: str, source: Any = None) -> SearchResult:
        """Search the next text of a part of an item and return what may be sent now."""
        begins = part.search is None
        part.search = self.texts.search_of(part.search, text)
        if begins and part.search is not None:
            before = (other for other in self.items.all if other.call is not None and other.index < item.index)
            last = max((other for other in before if not other.released), key=lambda other: other.index, default=None)
            part.search.behind = last.call if last is not None else None
        return self._found_in(part, part.search.take(text, source) if part.search is not None else SearchResult())

    def show_part_text(self, part: TextPart, text: str) -> SearchResult:
        """Take text of a part that the client gets in any case; returns what was held before it."""
        part.search = self.texts.search_of(part.search, text)
        return part.search.show(text) if part.search is not None else SearchResult()

    def end_part_text(self, part: TextPart, finish: Finish | None) -> SearchResult:
        """End the text of a part. `finish`: how the answer ended; None if something else follows the part."""
        if part.search is None or part.searched:
            return SearchResult()
        part.searched = True
        return self._found_in(part, part.search.release() if finish is None else part.search.close(finish))

    def _found_in(self, part: TextPart, result: SearchResult) -> SearchResult:
        if calls := result.calls:
            self.outgoing.add_found(calls)
            part.calls += [call.raw for call in calls]
        return result

    @property
    def text_undecided(self) -> bool:
        return self.texts.undecided

    @property
    def _has_text(self) -> bool:
        return self.texts.has_text

    def _has_calls(self) -> bool:
        return bool(self.outgoing.sent or self.outgoing.found) or any(
            item.call is not None for item in self.items.all
        )

    # Releasing calls

    def pop_decided(self) -> Iterator[Item]:
        """Remove and yield the first ended calls, as long as nothing that follows can change their arguments."""
        while self.ended and (call := self.ended[0].call) is not None and call.is_decided():
            yield self.ended.pop(0)

    def pop_all(self) -> list[Item]:
        """Remove and return all calls at the end of the answer: first those that have ended, in that order."""
        items, self.ended = self.ended, []
        items += [item for item in self.items.in_order() if item.call is not None and item.open]
        self.assembler.judge([item.call for item in items if item.call is not None])
        return items

    def complete_items(
        self, items: list[Item], finish: Finish, *, drop_refused: bool = False
    ) -> list[tuple[Item, CompletedCall]]:
        """Decide and release these calls; returns those that the client gets."""
        calls = [item.call for item in items if item.call is not None]
        completed = {
            id(done.assembled): done for done in self._complete_gathered(calls, finish, drop_refused, ids=True)
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

    def complete_all(
        self, items: list[Item], finish: Finish, *, drop_refused: bool = False
    ) -> list[tuple[Item, CompletedCall]]:
        """Decide and release these calls and all that were found in text, in the order in which the model made them.

        Each gets its index by that order, so an index must not have been announced for a call behind such a text.
        """
        completed = self.complete_items(items, finish, drop_refused=drop_refused)
        found = list(self.complete_found_items(completed, drop_refused=drop_refused))
        if not found:
            return completed
        item_of = {id(done): item for item, done in completed} | {id(done): item for _, item, done in found}
        calls = [item.call for item in items if item.call is not None]
        ordered = in_order(calls, [done for _, done in completed], [(behind, done) for behind, _, done in found])
        out = [(item_of[id(done)], done) for done in ordered]
        unannounced = [item for item, done in out if done.live is None]
        for item, index in zip(unannounced, sorted(item.index for item in unannounced), strict=True):
            item.index = index
        return out

    def complete_found_items(
        self, structured: Sequence[tuple[Item, CompletedCall]] = (), *, drop_refused: bool = False
    ) -> Iterator[tuple[AssembledCall | None, Item, CompletedCall]]:
        """The calls that were written as text as new items, or the one of `structured` that repeats such a call.

        Each comes with the structured call before the text.
        """
        by_outcome = {id(done.outcome): (item, done) for item, done in structured}
        for call, outcome, new in self.outgoing.complete_found(drop_refused=drop_refused):
            if not new:
                repeats = by_outcome.pop(id(outcome), None)
                if repeats is not None:
                    yield call.behind, *repeats
                continue
            item = self.assembler.new_call("", None)
            if not outcome.dropped:
                yield call.behind, item, CompletedCall(outcome, self.outgoing.sent - 1)
                continue
            item.dropped = True
            self.noted += [item.index] if outcome.note else []

    def notes(self) -> list[tuple[int, str]]:
        """The notes about dropped calls and their indices, if the client got no call at all."""
        return list(zip(self.noted, self.outgoing.pop_notes(), strict=False))

    def _gathered(self, assembled: AssembledCall, finish: Finish, ids: bool) -> GatheredCall:
        assert isinstance(assembled, ItemCall)
        call, live = assembled, assembled.live
        compared = call.compared = call.to_compare(".".join(filter(None, (call.namespace, call.name))))
        uncertain = call.uncertain
        text, steps = call.decide_arguments()
        refusal_reason = (call.refusal_reason or EVENTS_CONTRADICTORY) if uncertain else ""
        finish = call.finish_for(finish)
        if live is not None:
            compared.out = True
            refusal_reason = refusal_reason or (RENAMED_LIVE if call.name != live.name else "")
            gathered = GatheredCall(live.name, text, "", steps, refusal_reason, finish, compared=compared)
            gathered.live = live.arguments
            return gathered
        name = call.name
        if not name and (not text or (not call.snapshots and self._repeats_named_call(text))):
            return GatheredCall("", "", compared=compared)
        namespace = call.namespace or None
        if uncertain:
            arguments = call.from_fragments()[0]
            return GatheredCall(
                name, arguments, call.call_id, (), refusal_reason, namespace=namespace, compared=compared
            )
        steps = steps if self.streamed else ()
        gathered = GatheredCall(
            name, text, call.call_id, steps, finish=finish, namespace=namespace, compared=compared
        )
        if not (self._is_freeform(call) and (text.strip() or finish is Finish.COMPLETE)):
            gathered.value = call.pop_value(text)
        elif (raw := freeform_input(text, finish)) is not None:
            gathered.arguments, gathered.steps, call.raw_input = raw, (*gathered.steps, RETYPED), True
        elif is_whole(text):
            gathered.value = call.pop_value(text)
        else:
            gathered.refusal_reason = FREEFORM_UNCLEAR
        return gathered

    def _repeats_named_call(self, arguments: str) -> bool:
        """Whether a named call has the same arguments as this nameless one, whose events then had a wrong id."""
        items, meanings = self._named
        if items < len(self.items.all):
            named = [item.call for item in self.items.all if item.call is not None and item.call.name]
            meanings = {brief_meaning(call.decide_arguments()[0]) for call in named}
            self._named = (len(self.items.all), meanings)
        return brief_meaning(arguments) in meanings

    def _is_freeform(self, call: ItemCall) -> bool:
        tool = self._tools.get(call.name, call.namespace or None)
        return tool is not None and tool.kind == "custom"

    # Calls that are sent while they arrive

    def _may_go_live(self, assembled: AssembledCall) -> bool:
        # The announcement is sent at once, so name and id must be final.
        return (
            isinstance(assembled, ItemCall)
            and bool(assembled.name)
            and assembled.first is None
            and not self._is_freeform(assembled)
        )

    def _new_live(self, assembled: AssembledCall) -> LiveCall:
        assert isinstance(assembled, ItemCall)
        assembled.names = [assembled.name]
        assembled.sent_id = self._mender.ids.unique(assembled.call_id)
        return LiveCall(self.outgoing.sent, assembled.sent_id, assembled.name, holds_commas=False)
