"""Which call an event is about, if calls are items with an id and an index.

A fragment belongs to the call that began with the fragment's item id. If none did, or ids change with every event,
it belongs to the unfinished call at its index; without an index, to the only unfinished call. If there are several,
it may belong to any of them: each is refused unless another snapshot contains its arguments as a whole. An id that
returns after another one means that two calls were taken for one.

An item with another id than the call was announced with, or with another name, is another call. On some servers,
though, ids change from event to event. So an item that ends with the arguments of an unfinished call of its name, or
continues those of the unfinished call at its index, is that call.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from ..work import Work
from .calls_at_index import refuse
from .fragments import is_empty, may_begin
from .item_call import CallSnapshot, ItemCall, is_whole
from .items import Item, Items
from .parts import Fragment
from .resent import brief_meaning, meaning_of


class Assigned(NamedTuple):
    """The item of the call that an event is about; None if nothing of the event needs to be kept."""

    item: Item | None
    new: bool
    """The event has something that no earlier event had."""


_NOTHING: Final = Assigned(None, False)
_MOST_COMPARED: Final = 8
"""How many unfinished calls the end of an item is compared with, if its ids match none of them."""
_CALL: Final = 8
"""The steps that each call costs when an event is compared with all unfinished ones."""
_MOST_IDS: Final = 64
"""How many ids of a call are kept: ids that change with every fragment never return, and these suffice to see it."""


class ItemAssembler:
    __slots__ = (
        "_ambiguous_since",
        "_announced",
        "_began",
        "_began_at",
        "_count",
        "_items",
        "_kind",
        "_shared_ids",
        "_work",
        "answer_id",
    )

    def __init__(self, items: Items, kind: str, work: Work) -> None:
        """`kind`: the type of items that are calls. `work`: the work budget."""
        self._items = items
        self._work = work
        self._kind = kind
        self._count = 0
        self.answer_id = ""
        self._began: list[Item] = []
        """The calls in the order in which they began; `_began_at`: by index."""
        self._began_at: dict[int | None, list[Item]] = {}
        self._announced: dict[str, list[Item]] = {}
        """The calls by the call id that they were announced with."""
        self._shared_ids: set[str] = set()
        """Item ids of more than one call."""
        self._ambiguous_since: dict[int | None, int] = {}
        """By index: how many items there were when something arrived there that may belong to any call."""

    def new_call(self, wire_id: str, wire_index: int | None) -> Item:
        """Add a new call with these ids of the upstream, and its item."""
        self._count += 1
        if wire_id and self._items.known(wire_id) is not None:
            self._shared_ids.add(wire_id)
        call = ItemCall(held_under=f"call {self._count}", wire_id=wire_id, index=wire_index, work=self._work)
        item = self._items.open(self._kind, wire_id, wire_index, {}, call)
        call.id, call.answer_id = item.id, self.answer_id
        call.note_id(wire_id)
        self._began.append(item)
        self._began_at.setdefault(wire_index, []).append(item)
        return item

    def begin(self, snapshot: CallSnapshot) -> Assigned:
        """Take the announcement of a call."""
        item = self._find(snapshot.wire_id, snapshot.wire_index)
        call = _call_of(item)
        if (
            item is None
            or call is None
            or (call.announcement and not call.began_as(snapshot.wire_id))
            or not self._fits(call, snapshot)
            or _began_with_other_id(call, snapshot.wire_id)
        ):
            item = self.new_call(snapshot.wire_id, snapshot.wire_index)
            call = item.call
        assert call is not None
        new = call.announcement is None
        if new:
            call.announcement = snapshot
            self._announced.setdefault(snapshot.call_id, []).append(item)
            call.key = call.call_id
        return Assigned(item, new)

    def add(self, fragment: Fragment, source: Any) -> Assigned:
        """Take a fragment; `new` in the result: it was added to the call. `source`: its event."""
        wire_index = fragment.index if isinstance(fragment.index, int) else None
        known = self._items.known(fragment.id)
        known_call = _call_of(known)
        if known is not None and known_call is not None and not known.open and wire_index in (None, known_call.index):
            # The item has ended: the fragment adds nothing to its call.
            return _behind_the_end(known)
        item = self._find(fragment.id, wire_index)
        if (ambiguous := self._refuse_if_ambiguous(item, fragment.id, wire_index)) is not None:
            return Assigned(ambiguous, False)
        text = fragment.arguments
        if item is not None and self._begins_another(item, fragment, wire_index):
            item = None
        if item is None and not text:
            # It is empty and belongs to no call.
            return _NOTHING
        if item is None:
            item = self.new_call(fragment.id, wire_index)
            self._refuse_possible_owners(item, text)
        call = item.call
        assert call is not None
        if text or known is not None:
            self._items.alias(item, fragment.id, None)
            if fragment.id:
                refuse([call] if call.id_returns(fragment.id) else [])
                if len(call.ids) <= _MOST_IDS:
                    call.note_id(fragment.id)
        call.first = call.first or source
        call.add(text)
        return Assigned(item, True)

    def take_whole_arguments(self, snapshot: CallSnapshot) -> Assigned:
        """Take an event with the whole arguments of a call."""
        item = self._find(snapshot.wire_id, snapshot.wire_index)
        call = _call_of(item)
        if (
            snapshot.wire_id
            and call is not None
            and call.arguments_done
            and (call.arguments_done.wire_id, call.arguments_done.arguments) == (snapshot.wire_id, snapshot.arguments)
        ):
            # The same arguments of the same item, sent twice: not another call.
            return Assigned(item, False)
        if (ambiguous := self._refuse_if_ambiguous(item, snapshot.wire_id, snapshot.wire_index)) is not None:
            return Assigned(ambiguous, False)
        if item is None or call is None or call.arguments_done:
            known = self._items.known(snapshot.wire_id) or self._items.at(snapshot.wire_index)
            if known is not None and known.call is not None and not known.open:
                # Sent again, or only after the item was done: the call was released already, or will be.
                known.call.arguments_done = known.call.arguments_done or snapshot
                return _behind_the_end(known)
            item = self.new_call(snapshot.wire_id, snapshot.wire_index)
            call = item.call
        assert call is not None
        call.arguments_done = snapshot
        return Assigned(item, True)

    def end(self, snapshot: CallSnapshot) -> Assigned:
        """Take the end of a call, which repeats the call as a whole."""
        item = self._by_call_id(snapshot)
        if item is None:
            item = self._find(snapshot.wire_id, snapshot.wire_index)
            if item is not None and self._items.known(snapshot.wire_id) is not item:
                item = self._by_name(snapshot.name, snapshot.wire_index) or item
            if self._refuse_if_ambiguous(item, snapshot.wire_id, snapshot.wire_index) is not None:
                # It contains a whole call, which is certain, whichever of those calls it is.
                item = None
        if item is None or item.call is None or not self._fits(item.call, snapshot):
            known = self._items.known(snapshot.wire_id)
            ended = known.call if known is not None and not known.open else None
            if (
                known is not None
                and ended is not None
                and self._fits(ended, snapshot)
                and _adds_nothing(ended, snapshot)
            ):
                return _behind_the_end(known)
            item = self._by_arguments(snapshot)
            if item is None:
                item = self.new_call(snapshot.wire_id, snapshot.wire_index)
                _refuse_other_owner(known, snapshot.wire_id)
        assert item.call is not None
        item.call.end = snapshot
        return Assigned(item, True)

    def judge(self, calls: list[ItemCall]) -> None:
        """At the end of the answer: if arguments belong to no call, refuse all calls that are not complete."""
        if len(calls) > 1 and any(not call.name and call.decide_arguments()[0] for call in calls):
            refuse([call for call in calls if not call.is_decided()])

    # Which call

    def _find(self, wire_id: str, wire_index: int | None) -> Item | None:
        """The unfinished call with this id, else the one at this index; the last one if the event has neither."""
        item = self._items.find(self._kind, wire_id, wire_index, is_call=True)
        if item is None and wire_index is not None and self._items.known(wire_id) is None:
            # The last call that began at this index has ended, but an earlier one may be unfinished.
            item = next((one for one, _ in self._open_at(wire_index)), None)
        return item if item is not None and item.call is not None else None

    def _open_at(self, wire_index: int | None) -> Iterator[tuple[Item, ItemCall]]:
        """The unfinished calls that began at this index; all unfinished calls if `wire_index` is None."""
        began = self._began if wire_index is None else self._began_at.get(wire_index, [])
        self._work.spend(_CALL * len(began))
        for item in began:
            if item.call is not None and item.open:
                yield item, item.call

    def _begins_another(self, item: Item, fragment: Fragment, wire_index: int | None) -> bool:
        """Whether a fragment begins the next call on a server without usable indices.

        It does if it has another id, or neither id nor index.
        """
        call = item.call
        if call is None or (not fragment.id and wire_index is not None and wire_index == call.index):
            return False
        another = self._items.known(fragment.id) is not item and call.first is not None
        return another and may_begin(fragment.arguments) and is_whole("".join(call.fragments))

    def _by_arguments(self, snapshot: CallSnapshot) -> Item | None:
        """The unfinished call, with this item's name or none, whose arguments are those of this item or begin them:
        the server may have changed its id."""
        names = ("", snapshot.name) if snapshot.name else ()
        named = [(item, call) for item, call in self._open_at(None) if call.name in names]
        named.sort(key=lambda one: one[1].index != snapshot.wire_index)
        meaning, blank = brief_meaning(snapshot.arguments), is_empty(snapshot.arguments)
        for item, call in named[:_MOST_COMPARED]:
            if (not blank or call.index == snapshot.wire_index) and brief_meaning(
                call.decide_arguments()[0]
            ) == meaning:
                return item
        here = [
            (item, call.decide_arguments()[0])
            for item, call in named[:_MOST_COMPARED]
            if call.index == snapshot.wire_index
        ]
        begun = [item for item, arguments in here if arguments and snapshot.arguments.startswith(arguments)]
        return begun[0] if len(here) == len(begun) == 1 else None

    def _by_call_id(self, snapshot: CallSnapshot) -> Item | None:
        """The unfinished call that was announced with the call id of this item."""
        if not snapshot.call_id:
            return None
        found = [item for item in self._announced.get(snapshot.call_id, ()) if item.open]
        call = found[0].call if len(found) == 1 else None
        return found[0] if call is not None and self._fits(call, snapshot) else None

    def _by_name(self, name: str, wire_index: int | None) -> Item | None:
        """The only unfinished call of this name at this index; of several, the first with complete arguments.

        Only the end of such a call is still missing.
        """
        found = [(item, call) for item, call in self._open_at(wire_index) if name and call.name == name]
        if len(found) == 1:
            return found[0][0]
        return next((item for item, call in found if call.is_decided()), None)

    def _fits(self, call: ItemCall, snapshot: CallSnapshot) -> bool:
        """Whether the snapshot may be about this call: nothing shows that it is about another."""
        known = self._items.known(snapshot.wire_id)
        other = _call_of(known)
        if other is not None and other is not call and _may_be(other, snapshot):
            return False
        return _may_be(call, snapshot)

    # Events that cannot be attributed

    def _refuse_if_ambiguous(self, item: Item | None, wire_id: str, wire_index: int | None) -> Item | None:
        """One of the calls that an event may be about, if it cannot be attributed; all of them are refused."""
        call = _call_of(item)
        if item is None or call is None:
            return None
        sharing = self._open_at(None) if wire_id in self._shared_ids else ()
        rivals = [one for _, one in sharing if one is not call and one.began_as(wire_id)]
        if not rivals and self._items.known(wire_id) is item and call.began_as(wire_id):
            other = self._items.at(wire_index)
            rival = _call_of(other)
            if wire_index in (None, call.index) or call.index is None or rival is None:
                return None
            # The index names one call, the id another.
            rivals = [rival] if other is not None and other is not item and other.open else []
        elif not rivals:
            if call.refusal_reason and self._ambiguous_since.get(wire_index) == len(self._items.all):
                return item
            rivals = [one for _, one in self._open_at(wire_index) if one is not call]
        if not rivals:
            return item if call.refusal_reason else None
        self._refuse_rivals(wire_index, call, *rivals)
        return item

    def _refuse_rivals(self, wire_index: int | None, *calls: ItemCall) -> None:
        """Refuse these calls: something arrived at this index that may belong to any of them."""
        self._ambiguous_since[wire_index] = len(self._items.all)
        refuse(calls)

    def _refuse_possible_owners(self, item: Item, text: str) -> None:
        """Refuse the calls that an unannounced fragment may belong to: all unfinished ones if it cannot begin
        arguments, else those whose index is not known."""
        call = item.call
        assert call is not None
        wire_index = call.index if isinstance(call.index, int) else None
        others = [one for _, one in self._open_at(None) if one is not call]
        if not may_begin(text):
            self._refuse_rivals(wire_index, *([call, *others] if others else ()))
            return
        without_index = [one for one in others if one.index is None and one.announcement and not one.is_decided()]
        self._refuse_rivals(wire_index, *([call, *without_index] if without_index and wire_index is not None else ()))


def _call_of(item: Item | None) -> ItemCall | None:
    return item.call if item is not None else None


def _behind_the_end(item: Item) -> Assigned:
    """The result for an event about a call that has ended: it is held with the call, unless that was released."""
    return Assigned(None if item.released else item, False)


def _refuse_other_owner(item: Item | None, wire_id: str) -> None:
    """Refuse the unfinished call that got the events with this id, because another call ends with it."""
    if item is not None and item.call is not None and item.open:
        refuse([item.call])
        if item.call.arguments_done is not None and item.call.arguments_done.wire_id == wire_id:
            item.call.arguments_done = None


def _may_be(call: ItemCall, snapshot: CallSnapshot) -> bool:
    """Whether the call ids agree or, if they are not known, the names."""
    ids = {snapshot.call_id for snapshot in call.snapshots} - {""}
    if snapshot.call_id and ids:
        return snapshot.call_id in ids
    return call.began_as(snapshot.wire_id) or not snapshot.name or call.name in ("", snapshot.name)


def _began_with_other_id(call: ItemCall, wire_id: str) -> bool:
    """Whether unannounced fragments of the call arrived with another id than this announcement has."""
    return call.announcement is None and bool(call.wire_id and wire_id) and call.wire_id != wire_id


def _adds_nothing(call: ItemCall, snapshot: CallSnapshot) -> bool:
    """Whether another end of a call that has ended contains nothing new."""
    arguments = snapshot.arguments
    return is_empty(arguments) or meaning_of(arguments) == call.to_compare(call.name).meaning
