"""Which call does an event of the Responses protocol speak about?

Whose a delta is: its `item_id` says so, where a call began under it. Where none did, or ids change with every event,
it is the open call at its `output_index`; without either, the one open call. Where several calls are open there, it
may be any one's: then only what another carrier says of a call as a whole counts, else it is refused. An id that
comes back after another took its place means that two calls were taken for one.

An item with another id than the call was announced with, or with another name, is another call.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...turn import payload
from ...turn.fragments import MIXED, may_begin
from ...turn.resent import ToldCall
from .calls import FunctionCall
from .events import IncomingEvent, Json
from .items import CALL, Items


class Attribution:
    __slots__ = ("_items", "_lost")

    def __init__(self, items: Items) -> None:
        self._items = items
        self._lost: dict[int | None, int] = {}
        """By index: how many items there were when something came there that may be any call's."""

    def find(self, wire_id: str, wire_index: int | None) -> FunctionCall | None:
        """The open call with this id, or at this index, or the last one where neither is told."""
        call = self._items.find(CALL, wire_id, wire_index)
        if call is None and wire_index is not None and self._items.known(wire_id) is None:
            # The last one that began at this index has ended; one that began before it may be open.
            call = next((one for one in self._open_at(wire_index)), None)
        return call if isinstance(call, FunctionCall) else None

    def _open_at(self, wire_index: int | None) -> Iterator[FunctionCall]:
        """The open calls that began at this index; all of them where none is told."""
        for item in self._items.all:
            if isinstance(item, FunctionCall) and item.open and wire_index in (None, item.wire_index):
                yield item

    def lost(self, call: FunctionCall | None, wire_id: str, wire_index: int | None) -> FunctionCall | None:
        """One of the calls that this may be about, where nobody knows which: none of them is certain any more."""
        if call is None:
            return None
        if self._items.known(wire_id) is call and call.began_as(wire_id):
            other = self._items.at(wire_index)
            if (
                wire_index in (None, call.wire_index)
                or call.wire_index is None
                or not isinstance(other, FunctionCall)
            ):
                return None
            # The index says one call, the id another.
            rivals = [other] if other is not call and other.open else []
        elif call.doubt and self._lost.get(wire_index) == len(self._items.all):
            return call
        else:
            rivals = [item for item in self._open_at(wire_index) if item is not call]
        if not rivals:
            return call if call.doubt else None
        self.lose(wire_index, call, *rivals)
        return call

    def lose(self, wire_index: int | None, *calls: FunctionCall) -> None:
        """Something came at this index that may be any of these calls'."""
        self._lost[wire_index] = len(self._items.all)
        for call in calls:
            call.doubt = MIXED

    def stray(self, call: FunctionCall, text: str) -> None:
        """A call that a delta begins which nobody announced: it may go on with one whose index is not known."""
        others = [one for one in self._open_at(None) if one is not call]
        if not may_begin(text):
            self.lose(call.wire_index, *([call, *others] if others else ()))
            return
        unplaced = [one for one in others if one.wire_index is None and one.added and not one.is_whole()]
        self.lose(call.wire_index, *([call, *unplaced] if unplaced and call.wire_index is not None else ()))

    def called(self, incoming: IncomingEvent) -> FunctionCall | None:
        """The open call that was announced with the call id of this item."""
        call_id = _text(incoming.item, "call_id")
        if not call_id:
            return None
        found = [call for call in self._open_at(None) if call.added and call.added.item.get("call_id") == call_id]
        return found[0] if len(found) == 1 and self.fits(found[0], incoming) else None

    def named(self, name: str, wire_index: int | None) -> FunctionCall | None:
        """The one open call of this name at this index; of several the first that is whole, which can only end."""
        found = [call for call in self._open_at(wire_index) if name and call.wanted_name() == name]
        return found[0] if len(found) == 1 else next((call for call in found if call.is_whole()), None)

    def fits(self, call: FunctionCall, incoming: IncomingEvent) -> bool:
        """Does nothing say that this item is another call?"""
        known = self._items.known(_text(incoming.item, "id"))
        if isinstance(known, FunctionCall) and known is not call and _may_be(known, incoming.item):
            return False
        return _may_be(call, incoming.item)


def _may_be(call: FunctionCall, item: Json) -> bool:
    """Do the call ids agree, or else the names?"""
    call_id, name = _text(item, "call_id"), _text(item, "name")
    ids = {_text(body, "call_id") for body in call.bodies} - {""}
    if call_id and ids:
        return call_id in ids
    return call.began_as(_text(item, "id")) or not name or call.wanted_name() in ("", name)


def is_another(call: FunctionCall, wire_id: str) -> bool:
    """Did deltas that nobody had announced come under another id than this announcement has?"""
    return call.added is None and bool(call.wire_id and wire_id) and call.wire_id != wire_id


def says_the_same(call: FunctionCall, incoming: IncomingEvent) -> bool:
    """Does the end of an item that has ended say nothing new?"""
    again = ToldCall("", "", payload.text_of(incoming.item.get("arguments")))
    return again.blank or again.meaning == call.told_once.meaning


def _text(body: Json, key: str) -> str:
    value = body.get(key)
    return value if isinstance(value, str) else ""
