"""Finds calls of freeform tools that a response repeats.

Freeform calls pass as they arrive. A call with an id that was already used waits for its end, which shows whether it
is the same call sent again, which is dropped, or a different call, which gets an id of its own.
"""

from __future__ import annotations

from ...ids import Ids
from ...turn.items import Item, Items
from ..reply_builder import ReplyBuilder
from .events import ADDED, EventWriter, IncomingEvent, Json
from .output import FREEFORM

INPUT = "response.custom_tool_call_input"
_KEY = "freeform call "
"""Held events are kept under this and the id of their item."""


class Freeform:
    __slots__ = ("_finished", "_ids", "_items", "_waiting", "_writer")

    def __init__(self, items: Items, writer: EventWriter, ids: Ids) -> None:
        self._items = items
        self._writer = writer
        self._ids = ids
        self._finished: dict[str, Json] = {}
        """Call id → the finished call."""
        self._waiting: set[str] = set()
        """The ids of items whose events are held."""

    def ended(self, item: Json) -> None:
        """Note a call that was sent."""
        call_id = str(item.get("call_id") or "")
        if call_id and call_id not in self._finished:
            self._finished[call_id] = item
            # Mark the id as used.
            self._ids.unique(call_id)

    def read_item(self, incoming: IncomingEvent, reply: ReplyBuilder) -> bool:
        """Handle the beginning or the end of a call. False if its id is new, so that it passes."""
        earlier = self._finished.get(str(incoming.item.get("call_id") or ""))
        if earlier is None:
            return False
        item_id = incoming.item_id
        if incoming.type == ADDED:
            self._waiting.add(item_id)
            reply.hold(_KEY + item_id, incoming.raw)
            return True
        if item_id in self._waiting:
            self._waiting.remove(item_id)
            reply.release(_KEY + item_id)
        if any(incoming.item.get(key) != earlier.get(key) for key in ("name", "input")):
            reply.out += self._write(incoming, item_id)
        return True

    def read_input(self, incoming: IncomingEvent, reply: ReplyBuilder) -> bool:
        """Handle a piece of the input. False if it passes."""
        item_id = incoming.text("item_id")
        if item_id not in self._waiting:
            return False
        reply.hold(_KEY + item_id, incoming.raw)
        return True

    def _write(self, incoming: IncomingEvent, item_id: str) -> list[bytes]:
        """The events of a call that has the id of another one, with an id of its own."""
        index = self._items.free_index(incoming.number("output_index"))
        identity = self._items.identity(item_id, FREEFORM)
        body = {**incoming.item, "id": identity, "call_id": self._ids.unique(str(incoming.item["call_id"]))}
        item = Item(index, identity, FREEFORM, body, done=body)
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
