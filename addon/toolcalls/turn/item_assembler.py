"""Which call does an event speak about, where calls are items with an id and an index?

Whose a fragment is: the id of its item says so, where a call began under it. Where none did, or ids change with every
event, it is the open call at its index; without either, the one open call. Where several calls are open there, it may
be any one's: then only what another report says of a call as a whole counts, else it is refused. An id that comes
back after another took its place means that two calls were taken for one.

An item with another id than the call was announced with, or with another name, is another call; but for one that ends
with nothing else than an open call of its name said: ids change from event to event on some servers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from ..work import Work
from .fragments import may_begin, says_nothing
from .item_call import CallReport, ItemCall, is_whole
from .items import Item, Items
from .parts import Fragment
from .resent import ComparedCall, brief_meaning
from .shared_place import refuse


class Assigned(NamedTuple):
    """The item of the call that an event speaks about; None where nothing of the event is to be kept."""

    item: Item | None
    new: bool
    """It tells something that was not told before."""


_NOTHING: Final = Assigned(None, False)
_MOST_COMPARED: Final = 8
"""With so many open calls the end of an item is compared, where its ids name none of them."""
_LOOK: Final = 8
"""The steps that a look at a call takes, where many are looked at."""
_MOST_IDS: Final = 64
"""A server whose ids change with every fragment says no id twice: a few of them are enough to see that."""


class ItemAssembler:
    __slots__ = ("_announced", "_began", "_began_at", "_count", "_items", "_kind", "_lost", "_work")

    def __init__(self, items: Items, kind: str, work: Work) -> None:
        """`kind`: the type of items that are calls. `work`: what reading them may take."""
        self._items = items
        self._work = work
        self._kind = kind
        self._count = 0
        self._began: list[Item] = []
        """The calls, as they began; and by their index."""
        self._began_at: dict[int | None, list[Item]] = {}
        self._announced: dict[str, list[Item]] = {}
        """By the call id that they were announced with."""
        self._lost: dict[int | None, int] = {}
        """By index: how many items there were when something came there that may be any call's."""

    def open(self, wire_id: str, place: int | None) -> Item:
        """A new call."""
        self._count += 1
        call = ItemCall(held_under=f"call {self._count}", wire_id=wire_id, place=place, work=self._work)
        item = self._items.open(self._kind, wire_id, place, {}, call)
        call.id = item.id
        call.hear(wire_id)
        self._began.append(item)
        self._began_at.setdefault(place, []).append(item)
        return item

    def begin(self, report: CallReport) -> Assigned:
        """A call is announced."""
        item = self._find(report.wire_id, report.place)
        call = item.call if item is not None else None
        if (
            item is None
            or call is None
            or (call.announcement and not call.began_as(report.wire_id))
            or not self._fits(call, report)
            or _is_another(call, report.wire_id)
        ):
            item = self.open(report.wire_id, report.place)
            call = item.call
        assert call is not None
        new = call.announcement is None
        if new:
            call.announcement = report
            self._announced.setdefault(report.call_id, []).append(item)
            call.key = call.call_id
        return Assigned(item, new)

    def add(self, fragment: Fragment, source: Any) -> Assigned:
        """A fragment comes in an event; `new` where it was added to the call."""
        place = fragment.place if isinstance(fragment.place, int) else None
        known = self._items.known(fragment.id)
        known_call = known.call if known is not None else None
        if known is not None and known_call is not None and not known.open and place in (None, known_call.place):
            # Behind the end of its item nothing is said of a call.
            return _behind_the_end(known)
        item = self._find(fragment.id, place)
        if (lost := self._lost_one(item, fragment.id, place)) is not None:
            return Assigned(lost, False)
        text = fragment.arguments
        if item is not None and self._begins_another(item, fragment, place):
            item = None
        if item is None and not text:
            # It says nothing about nobody.
            return _NOTHING
        if item is None:
            item = self.open(fragment.id, place)
            self._stray(item, text)
        call = item.call
        assert call is not None
        if text or known is not None:
            self._items.alias(item, fragment.id, None)
            if fragment.id:
                refuse([call] if call.comes_back(fragment.id) else [])
                if len(call.ids) <= _MOST_IDS:
                    call.hear(fragment.id)
        call.first = call.first or source
        call.add(text)
        return Assigned(item, True)

    def take_whole_arguments(self, report: CallReport) -> Assigned:
        """The arguments of a call are told as a whole."""
        item = self._find(report.wire_id, report.place)
        call = item.call if item is not None else None
        if (
            report.wire_id
            and call is not None
            and call.stated
            and (call.stated.wire_id, call.stated.arguments) == (report.wire_id, report.arguments)
        ):
            # The same arguments of the same item, said twice: not another call.
            return Assigned(item, False)
        if (lost := self._lost_one(item, report.wire_id, report.place)) is not None:
            return Assigned(lost, False)
        if item is None or call is None or call.stated:
            known = self._items.known(report.wire_id) or self._items.at(report.place)
            if known is not None and known.call is not None and not known.open:
                # Said again, or only after the item was done: the call is written already, or will be.
                known.call.stated = known.call.stated or report
                return _behind_the_end(known)
            item = self.open(report.wire_id, report.place)
            call = item.call
        assert call is not None
        call.stated = report
        return Assigned(item, True)

    def end(self, report: CallReport) -> Assigned:
        """A call ends, and is told as a whole once more."""
        item = self._called(report)
        if item is None:
            item = self._find(report.wire_id, report.place)
            if item is not None and self._items.known(report.wire_id) is not item:
                item = self._named(report.name, report.place) or item
            if self._lost_one(item, report.wire_id, report.place) is not None:
                # It tells a call as a whole: that is certain, whichever of those it is.
                item = None
        if item is None or item.call is None or not self._fits(item.call, report):
            known = self._items.known(report.wire_id)
            ended = known.call if known is not None and not known.open else None
            if (
                known is not None
                and ended is not None
                and self._fits(ended, report)
                and _says_the_same(ended, report)
            ):
                return _behind_the_end(known)
            item = self._renamed(report) or self.open(report.wire_id, report.place)
        assert item.call is not None
        item.call.end = report
        return Assigned(item, True)

    def judge(self, calls: list[ItemCall]) -> None:
        """The answer is over: arguments of no call may be missing in each of these that is not whole by itself."""
        if len(calls) > 1 and any(not call.name and call.settle()[0] for call in calls):
            refuse([call for call in calls if not call.is_settled()])

    # Which call

    def _find(self, wire_id: str, place: int | None) -> Item | None:
        """The open call with this id, else the one at this index; the last open one if the event has neither."""
        item = self._items.find_call(self._kind, wire_id, place)
        if item is None and place is not None and self._items.known(wire_id) is None:
            # The last one that began at this index has ended; one that began before it may be open.
            item = next((one for one, _ in self._open_at(place)), None)
        return item if item is not None and item.call is not None else None

    def _open_at(self, place: int | None) -> Iterator[tuple[Item, ItemCall]]:
        """The open calls that began at this index; all open calls if `place` is None."""
        began = self._began if place is None else self._began_at.get(place, [])
        self._work.spend(_LOOK * len(began))
        for item in began:
            if item.call is not None and item.open:
                yield item, item.call

    def _begins_another(self, item: Item, fragment: Fragment, place: int | None) -> bool:
        """Is this the next call, on a server that does not count? Another id says so, or none and no index either."""
        call = item.call
        if call is None or (not fragment.id and place is not None and place == call.place):
            return False
        another = self._items.known(fragment.id) is not item and call.first is not None
        return another and may_begin(fragment.arguments) and is_whole("".join(call.fragments))

    def _renamed(self, report: CallReport) -> Item | None:
        """The open call of this name that says what this item says: on some servers ids change."""
        named = [(item, call) for item, call in self._open_at(None) if report.name and call.name == report.name]
        named.sort(key=lambda one: one[1].place != report.place)
        meaning, blank = brief_meaning(report.arguments), says_nothing(report.arguments)
        for item, call in named[:_MOST_COMPARED]:
            if (not blank or call.place == report.place) and brief_meaning(call.settle()[0]) == meaning:
                return item
        return None

    def _called(self, report: CallReport) -> Item | None:
        """The open call that was announced with the call id of this item."""
        if not report.call_id:
            return None
        found = [item for item in self._announced.get(report.call_id, ()) if item.open]
        call = found[0].call if len(found) == 1 else None
        return found[0] if call is not None and self._fits(call, report) else None

    def _named(self, name: str, place: int | None) -> Item | None:
        """The one open call of this name at this index; of several the first that is whole, which can only end."""
        found = [(item, call) for item, call in self._open_at(place) if name and call.name == name]
        if len(found) == 1:
            return found[0][0]
        return next((item for item, call in found if call.is_settled()), None)

    def _fits(self, call: ItemCall, report: CallReport) -> bool:
        """Does nothing say that this is another call?"""
        known = self._items.known(report.wire_id)
        other = known.call if known is not None else None
        if other is not None and other is not call and _may_be(other, report):
            return False
        return _may_be(call, report)

    # What nobody can tell

    def _lost_one(self, item: Item | None, wire_id: str, place: int | None) -> Item | None:
        """One of the calls that this may be about, where nobody knows which: none of them is certain any more."""
        call = item.call if item is not None else None
        if item is None or call is None:
            return None
        if self._items.known(wire_id) is item and call.began_as(wire_id):
            other = self._items.at(place)
            rival = other.call if other is not None else None
            if place in (None, call.place) or call.place is None or rival is None:
                return None
            # The index says one call, the id another.
            rivals = [rival] if other is not None and other is not item and other.open else []
        elif call.doubt and self._lost.get(place) == len(self._items.all):
            return item
        else:
            rivals = [one for _, one in self._open_at(place) if one is not call]
        if not rivals:
            return item if call.doubt else None
        self._lose(place, call, *rivals)
        return item

    def _lose(self, place: int | None, *calls: ItemCall) -> None:
        """Something came at this index that may be any of these calls'."""
        self._lost[place] = len(self._items.all)
        refuse(calls)

    def _stray(self, item: Item, text: str) -> None:
        """A call that a fragment begins which nobody announced: it may go on with one whose index is not known."""
        call = item.call
        assert call is not None
        place = call.place if isinstance(call.place, int) else None
        others = [one for _, one in self._open_at(None) if one is not call]
        if not may_begin(text):
            self._lose(place, *([call, *others] if others else ()))
            return
        unplaced = [one for one in others if one.place is None and one.announcement and not one.is_settled()]
        self._lose(place, *([call, *unplaced] if unplaced and place is not None else ()))


def _behind_the_end(item: Item) -> Assigned:
    """Something is told of a call that has ended: it is kept with the call, if that has not gone out."""
    return Assigned(None if item.gone else item, False)


def _may_be(call: ItemCall, report: CallReport) -> bool:
    """Do the call ids agree, or else the names?"""
    ids = {report.call_id for report in call.reports} - {""}
    if report.call_id and ids:
        return report.call_id in ids
    return call.began_as(report.wire_id) or not report.name or call.name in ("", report.name)


def _is_another(call: ItemCall, wire_id: str) -> bool:
    """Did fragments that nobody had announced come under another id than this announcement has?"""
    return call.announcement is None and bool(call.wire_id and wire_id) and call.wire_id != wire_id


def _says_the_same(call: ItemCall, report: CallReport) -> bool:
    """Does the end of a call that has ended say nothing new?"""
    again = ComparedCall("", "", report.arguments)
    return again.blank or again.meaning == call.to_compare(call.name).meaning
