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
from .items import CallItem, Item, Items
from .parts import Fragment
from .resent import brief_meaning, meaning_of


class Assigned(NamedTuple):
    """The item of the call that an event is about; None if nothing of the event needs to be kept."""

    item: CallItem | None
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
        self._began: list[CallItem] = []
        """The calls in the order in which they began; `_began_at`: by index."""
        self._began_at: dict[int | None, list[CallItem]] = {}
        self._announced: dict[str, list[CallItem]] = {}
        """The calls by the call id that they were announced with."""
        self._shared_ids: set[str] = set()
        """Item ids of more than one call."""
        self._ambiguous_since: dict[int | None, int] = {}
        """By index: how many items there were when something arrived there that may belong to any call."""

    def new_call(self, wire_id: str, wire_index: int | None) -> CallItem:
        """Add a new call with these ids of the upstream, and its item."""
        self._count += 1
        if wire_id and self._items.known(wire_id) is not None:
            self._shared_ids.add(wire_id)
        call = ItemCall(held_under=f"call {self._count}", wire_id=wire_id, index=wire_index, work=self._work)
        identity = self._items.identity(wire_id, self._kind)
        item = CallItem(self._items.free_index(wire_index), identity, self._kind, {}, call=call)
        self._items.add(item, wire_id, wire_index)
        call.id, call.answer_id = item.id, self.answer_id
        call.note_id(wire_id)
        self._began.append(item)
        self._began_at.setdefault(wire_index, []).append(item)
        return item

    def begin(self, snapshot: CallSnapshot) -> Assigned:
        """Take the announcement of a call."""
        item = self._find(snapshot.wire_id, snapshot.wire_index)
        if (
            item is None
            or (item.call.announcement and not item.call.began_as(snapshot.wire_id))
            or not self._fits(item.call, snapshot)
            or _began_with_other_id(item.call, snapshot.wire_id)
        ):
            item = self.new_call(snapshot.wire_id, snapshot.wire_index)
        call = item.call
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
        if isinstance(known, CallItem) and not known.open and wire_index in (None, known.call.index):
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
        before = item.call.arguments_done if item is not None else None
        if (
            snapshot.wire_id
            and before is not None
            and (before.wire_id, before.arguments) == (snapshot.wire_id, snapshot.arguments)
        ):
            # The same arguments of the same item, sent twice: not another call.
            return Assigned(item, False)
        if (ambiguous := self._refuse_if_ambiguous(item, snapshot.wire_id, snapshot.wire_index)) is not None:
            return Assigned(ambiguous, False)
        if item is None or before is not None:
            known = self._items.known(snapshot.wire_id) or self._items.at(snapshot.wire_index)
            if isinstance(known, CallItem) and not known.open:
                # Sent again, or only after the item was done: the call was released already, or will be.
                known.call.arguments_done = known.call.arguments_done or snapshot
                return _behind_the_end(known)
            item = self.new_call(snapshot.wire_id, snapshot.wire_index)
        item.call.arguments_done = snapshot
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
        if item is None or not self._fits(item.call, snapshot):
            known = self._items.known(snapshot.wire_id)
            if (
                isinstance(known, CallItem)
                and not known.open
                and self._fits(known.call, snapshot)
                and _adds_nothing(known.call, snapshot)
            ):
                return _behind_the_end(known)
            item = self._by_arguments(snapshot)
            if item is None:
                item = self.new_call(snapshot.wire_id, snapshot.wire_index)
                _refuse_other_owner(known, snapshot.wire_id)
        item.call.end = snapshot
        return Assigned(item, True)

    def judge(self, calls: list[ItemCall]) -> None:
        """At the end of the answer: if arguments belong to no call, refuse all calls that are not complete."""
        if len(calls) > 1 and any(not call.name and call.decide_arguments()[0] for call in calls):
            refuse([call for call in calls if not call.is_decided()])

    # Which call

    def _find(self, wire_id: str, wire_index: int | None) -> CallItem | None:
        """The unfinished call with this id, else the one at this index; the last one if the event has neither."""
        item = self._items.find(self._kind, wire_id, wire_index, is_call=True)
        if item is None and wire_index is not None and self._items.known(wire_id) is None:
            # The last call that began at this index has ended, but an earlier one may be unfinished.
            item = next(self._open_at(wire_index), None)
        return item if isinstance(item, CallItem) else None

    def _open_at(self, wire_index: int | None) -> Iterator[CallItem]:
        """The unfinished calls that began at this index; all unfinished calls if `wire_index` is None."""
        began = self._began if wire_index is None else self._began_at.get(wire_index, [])
        self._work.spend(_CALL * len(began))
        return (item for item in began if item.open)

    def _begins_another(self, item: CallItem, fragment: Fragment, wire_index: int | None) -> bool:
        """Whether a fragment begins the next call on a server without usable indices.

        It does if it has another id, or neither id nor index.
        """
        call = item.call
        if not fragment.id and wire_index is not None and wire_index == call.index:
            return False
        another = self._items.known(fragment.id) is not item and call.first is not None
        return another and may_begin(fragment.arguments) and is_whole("".join(call.fragments))

    def _by_arguments(self, snapshot: CallSnapshot) -> CallItem | None:
        """The unfinished call, with this item's name or none, whose arguments are those of this item or begin them:
        the server may have changed its id."""
        names = ("", snapshot.name) if snapshot.name else ()
        named = [item for item in self._open_at(None) if item.call.name in names]
        named.sort(key=lambda item: item.call.index != snapshot.wire_index)
        compared = [(item, item.call.decide_arguments()[0]) for item in named[:_MOST_COMPARED]]
        here = [(item, arguments) for item, arguments in compared if item.call.index == snapshot.wire_index]
        meaning = brief_meaning(snapshot.arguments)
        for item, arguments in here if is_empty(snapshot.arguments) else compared:
            if brief_meaning(arguments) == meaning:
                return item
        begun = [item for item, arguments in here if arguments and snapshot.arguments.startswith(arguments)]
        return begun[0] if len(here) == len(begun) == 1 else None

    def _by_call_id(self, snapshot: CallSnapshot) -> CallItem | None:
        """The unfinished call that was announced with the call id of this item."""
        if not snapshot.call_id:
            return None
        found = [item for item in self._announced.get(snapshot.call_id, ()) if item.open]
        return found[0] if len(found) == 1 and self._fits(found[0].call, snapshot) else None

    def _by_name(self, name: str, wire_index: int | None) -> CallItem | None:
        """The only unfinished call of this name at this index; of several, the first with complete arguments.

        Only the end of such a call is still missing.
        """
        found = [item for item in self._open_at(wire_index) if name and item.call.name == name]
        if len(found) == 1:
            return found[0]
        return next((item for item in found if item.call.is_decided()), None)

    def _fits(self, call: ItemCall, snapshot: CallSnapshot) -> bool:
        """Whether the snapshot may be about this call: nothing shows that it is about another."""
        other = self._items.known(snapshot.wire_id)
        if isinstance(other, CallItem) and other.call is not call and _may_be(other.call, snapshot):
            return False
        return _may_be(call, snapshot)

    # Events that cannot be attributed

    def _refuse_if_ambiguous(self, item: CallItem | None, wire_id: str, wire_index: int | None) -> CallItem | None:
        """One of the calls that an event may be about, if it cannot be attributed; all of them are refused."""
        if item is None:
            return None
        call = item.call
        sharing = self._open_at(None) if wire_id in self._shared_ids else ()
        rivals = [one.call for one in sharing if one is not item and one.call.began_as(wire_id)]
        if not rivals and self._items.known(wire_id) is item and call.began_as(wire_id):
            other = self._items.at(wire_index)
            if wire_index in (None, call.index) or call.index is None or not isinstance(other, CallItem):
                return None
            # The index names one call, the id another.
            rivals = [other.call] if other is not item and other.open else []
        elif not rivals:
            if call.refusal_reason and self._ambiguous_since.get(wire_index) == len(self._items.all):
                return item
            rivals = [one.call for one in self._open_at(wire_index) if one is not item]
        if not rivals:
            return item if call.refusal_reason else None
        self._refuse_rivals(wire_index, call, *rivals)
        return item

    def _refuse_rivals(self, wire_index: int | None, *calls: ItemCall) -> None:
        """Refuse these calls: something arrived at this index that may belong to any of them."""
        self._ambiguous_since[wire_index] = len(self._items.all)
        refuse(calls)

    def _refuse_possible_owners(self, item: CallItem, text: str) -> None:
        """Refuse the calls that an unannounced fragment may belong to: all unfinished ones if it cannot begin
        arguments, else those whose index is not known."""
        call = item.call
        wire_index = call.index if isinstance(call.index, int) else None
        others = [one.call for one in self._open_at(None) if one is not item]
        if not may_begin(text):
            self._refuse_rivals(wire_index, *([call, *others] if others else ()))
            return
        without_index = [one for one in others if one.index is None and one.announcement and not one.is_decided()]
        self._refuse_rivals(wire_index, *([call, *without_index] if without_index and wire_index is not None else ()))


def _behind_the_end(item: CallItem) -> Assigned:
    """The result for an event about a call that has ended: it is held with the call, unless that was released."""
    return Assigned(None if item.released else item, False)


def _refuse_other_owner(item: Item | None, wire_id: str) -> None:
    """Refuse the unfinished call that got the events with this id, because another call ends with it."""
    if isinstance(item, CallItem) and item.open:
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
