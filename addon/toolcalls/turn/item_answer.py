"""An answer whose calls are items, each with an event for its beginning and one for its end.

A call is held until its own end if its arguments are a complete JSON value, because then nothing that follows can
change their meaning. A broken call is held until the answer ends, because only then it is known whether it was cut
off. Calls are released in the order in which they ended, so a complete call waits behind a broken one.

Each text part of an item is searched on its own. The text of a call is removed from its part; the call itself becomes
an item in the order of the calls, unless a structured call is the same. Whether a part ends with a call is known when
the answer ends, or when something else follows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..mend.finish import Finish
from ..mend.mender import Mender
from ..policy import Policy
from ..request.request import Request
from .answer import Answer, CompletedCall
from .freeform_input import RETYPED, freeform_input
from .item_assembler import ItemAssembler
from .item_call import ItemCall, is_whole
from .items import CallItem, Items, TextPart
from .live import LiveCall
from .outgoing_calls import GatheredCall, OutgoingCalls
from .refusal_reasons import EVENTS_CONTRADICTORY, FREEFORM_UNCLEAR, RENAMED_LIVE
from .resent import brief_meaning
from .searched_texts import SearchedTexts
from .text_search import SearchResult


class ItemAnswer(Answer[ItemCall]):
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
        self.ended: list[CallItem] = []
        """Calls that have ended and were not released."""
        self._named: tuple[int, set[bytes]] = (0, set())
        """How many items there were, and the meanings of their named calls' arguments."""
        self.dropped = 0
        """How many calls the client does not get."""
        self.noted: list[int] = []
        """The indices of dropped calls that have a note."""

    # Text

    def take_part_text(self, part: TextPart, text: str, source: Any = None) -> SearchResult:
        """Search the next text of a part and return what may be sent now."""
        begins = part.search is None
        part.search = self.texts.search_of(part.search, text)
        if begins and part.search is not None:
            part.search.behind = self._last_call_before(part)
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

    def _last_call_before(self, part: TextPart) -> ItemCall | None:
        """The structured call before the item of a part, if it has not been released."""
        calls = (item for item in self.items.all if isinstance(item, CallItem) and not item.released)
        before = (item for item in calls if item.index < part.item_index)
        last = max(before, key=lambda item: item.index, default=None)
        return last.call if last is not None else None

    def _found_in(self, part: TextPart, result: SearchResult) -> SearchResult:
        if calls := result.calls:
            self.outgoing.add_found(calls)
            part.calls += [call.raw for call in calls]
        return result

    @property
    def _has_text(self) -> bool:
        return self.texts.has_text

    def _has_calls(self) -> bool:
        return bool(self.outgoing.sent or self.outgoing.found) or any(
            isinstance(item, CallItem) for item in self.items.all
        )

    # Releasing calls

    def pop_decided(self) -> Iterator[CallItem]:
        """Remove and yield the first ended calls, as long as nothing that follows can change their arguments."""
        while self.ended and self.ended[0].call.is_decided():
            yield self.ended.pop(0)

    def pop_all(self) -> list[CallItem]:
        """Remove and return all calls at the end of the answer: first those that have ended, in that order."""
        items, self.ended = self.ended, []
        items += [item for item in self.items.in_order() if isinstance(item, CallItem) and item.open]
        self.assembler.judge([item.call for item in items])
        return items

    def complete_items(
        self, items: list[CallItem], finish: Finish, *, drop_refused: bool = False
    ) -> list[tuple[CallItem, CompletedCall]]:
        """Decide and release these calls; returns those that the client gets."""
        calls = [item.call for item in items]
        completed = {id(done.assembled): done for done in self._complete_gathered(calls, finish, drop_refused)}
        out: list[tuple[CallItem, CompletedCall]] = []
        for item in items:
            done = completed.get(id(item.call))
            if done is not None and not done.outcome.dropped:
                item.call.sent_id = item.call.sent_id or done.outcome.id
                out.append((item, done))
                continue
            item.dropped = True
            self.dropped += item.call.compared is not None and item.call.compared.kept
            if done is not None and done.outcome.note:
                self.noted.append(item.index)
        return out

    def complete_all(
        self, items: list[CallItem], finish: Finish, *, drop_refused: bool = False
    ) -> list[tuple[CallItem, CompletedCall]]:
        """Decide and release these calls and all that were found in text, in the order in which the model made them.

        Each gets its index by that order, so an index must not have been announced for a call behind such a text.
        """
        completed = self.complete_items(items, finish, drop_refused=drop_refused)
        gathered = [done for _, done in completed]
        item_of = {id(done): item for item, done in completed}
        found: list[tuple[ItemCall | None, CompletedCall]] = []
        for behind, done in self._complete_found(gathered, drop_refused):
            if done.assembled is None:
                item = self.assembler.new_call("", None)
                if done.outcome.dropped:
                    item.dropped = True
                    self.noted += [item.index] if done.outcome.note else []
                    continue
                item_of[id(done)] = item
            found.append((behind, done))
        if not found:
            return completed
        ordered = self._in_order([item.call for item in items], gathered, found)
        out = [(item_of[id(done)], done) for done in ordered]
        unannounced = [item for item, done in out if done.live is None]
        for item, index in zip(unannounced, sorted(item.index for item in unannounced), strict=True):
            item.index = index
        return out

    def notes(self) -> list[tuple[int, str]]:
        """The notes about dropped calls and their indices, if the client got no call at all."""
        return list(zip(self.noted, self.outgoing.pop_notes(), strict=False))

    def _gathered(self, call: ItemCall, finish: Finish) -> GatheredCall:
        live = call.live
        compared = call.compared = call.to_compare(".".join(filter(None, (call.namespace, call.name))))
        uncertain = call.uncertain
        text, steps = call.decide_arguments()
        refusal_reason = (call.refusal_reason or EVENTS_CONTRADICTORY) if uncertain else ""
        finish = call.finish_for(finish)
        if live is not None:
            compared.out = True
            refusal_reason = refusal_reason or (RENAMED_LIVE if call.name != live.name else "")
            return GatheredCall(live.name, text, "", steps, refusal_reason, finish, live=live, compared=compared)
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
            calls = [item.call for item in self.items.all if isinstance(item, CallItem)]
            meanings = {brief_meaning(call.decide_arguments()[0]) for call in calls if call.name}
            self._named = (len(self.items.all), meanings)
        return brief_meaning(arguments) in meanings

    def _is_freeform(self, call: ItemCall) -> bool:
        tool = self._tools.get(call.name, call.namespace or None)
        return tool is not None and tool.kind == "custom"

    # Calls that are sent while they arrive

    def _may_go_live(self, call: ItemCall) -> bool:
        # The announcement is sent at once, so name and id must be final.
        return bool(call.name) and call.first is None and not self._is_freeform(call)

    def _new_live(self, call: ItemCall) -> LiveCall:
        call.names = [call.name]
        call.sent_id = self._mender.ids.unique(call.call_id)
        return LiveCall(self.outgoing.sent, call.sent_id, call.name, holds_commas=False)
