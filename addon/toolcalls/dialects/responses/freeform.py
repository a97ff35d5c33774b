"""Calls of freeform tools that a response tells again.

Those pass as they come. One whose id came already waits for its end, which says whether it is the same call, sent
again, and goes nowhere, or another one, which gets an id of its own.
"""

from __future__ import annotations

from ...ids import Ids
from ...turn.items import Item, Items
from ..reply_builder import ReplyBuilder
from .events import ADDED, EventWriter, IncomingEvent, Json
from .output import FREEFORM

INPUT = "response.custom_tool_call_input"
_KEY = "freeform call"


class Freeform:
    __slots__ = ("_finished", "_ids", "_items", "_waiting", "_writer")

    def __init__(self, items: Items, writer: EventWriter, ids: Ids) -> None:
        self._items = items
        self._writer = writer
        self._ids = ids
        self._finished: dict[str, Json] = {}
        """By its id: the call as it ended."""
        self._waiting: dict[str, str] = {}
        """By the id of the item: under which key its events are held."""

    def ended(self, item: Json) -> None:
        """A call went out."""
        call_id = str(item.get("call_id") or "")
        if call_id and call_id not in self._finished:
            self._finished[call_id] = item
            # From now on it is taken.
            self._ids.unique(call_id)

    def read_item(self, incoming: IncomingEvent, reply: ReplyBuilder) -> bool:
        """The beginning or the end of a call; False where its id is new."""
        earlier = self._finished.get(str(incoming.item.get("call_id") or ""))
        if earlier is None:
            return False
        item_id = str(incoming.item.get("id") or "")
        if incoming.type == ADDED:
            key = self._waiting[item_id] = f"{_KEY} {len(self._waiting)}"
            reply.hold(key, incoming.raw)
            return True
        held = self._waiting.pop(item_id, "")
        if held:
            reply.release(held)
        if any(incoming.item.get(key) != earlier.get(key) for key in ("name", "input")):
            reply.out += self._write(incoming, item_id)
        return True

    def read_input(self, incoming: IncomingEvent, reply: ReplyBuilder) -> bool:
        """A piece of the input; False where it goes on as it is."""
        key = self._waiting.get(incoming.text("item_id"))
        if key is not None:
            reply.hold(key, incoming.raw)
        return key is not None

    def _write(self, incoming: IncomingEvent, item_id: str) -> list[bytes]:
        index = self._items.free_index(incoming.number("output_index"))
        identity = self._items.identity(item_id, FREEFORM)
        body = {**incoming.item, "id": identity, "call_id": self._ids.unique(str(incoming.item["call_id"]))}
        item = Item(index, identity, FREEFORM, body, announced=True, done=body)
        self._items.add(item, item_id, incoming.number("output_index"))
        where = {"item_id": identity, "output_index": index}
        announced = {"output_index": index, "item": {**body, "input": ""}}
        text = body.get("input")
        return [
            self._writer.write(ADDED, announced),
            self._writer.write(f"{INPUT}.delta", {**where, "delta": text}),
            self._writer.write(f"{INPUT}.done", {**where, "input": text}),
            self._writer.forward(incoming, output_index=index, item=body),
        ]
