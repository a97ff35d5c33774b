"""Calls that go out while they arrive: the events that came are sent, as far as they say what the client gets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ... import payload
from ...parts import Json, Piece
from .items import CALL, Item, Items, kind_of
from .read import ADDED, ARGUMENTS, ENDED, Incoming
from .write import Writer


@dataclass(slots=True)
class _Flow:
    """A call of which the client has the beginning, and what the client has of its arguments."""

    item: Item
    announced: Json
    text: str = ""


class LiveWriter:
    def __init__(self, writer: Writer, items: Items) -> None:
        self._writer, self._items = writer, items
        self._flows: dict[int, _Flow] = {}
        self._events: dict[tuple[Any, str], Incoming] = {}
        """The events about calls, by the id of the item or its index."""
        self._last: Incoming | None = None
        self.failed = False
        """The response failed: a call that is not complete gets no end."""

    def note(self, source: Incoming) -> None:
        """Take an event before it is read."""
        self._last = source
        own = source.kind in (ADDED, ENDED) and kind_of(source.item) == CALL
        if own or source.kind.startswith(ARGUMENTS):
            for key in (str(source.item.get("id") or source.text("item_id")), source.number("output_index")):
                self._events[key, source.kind] = source

    def write(self, piece: Piece) -> list[bytes]:
        out: list[bytes] = []
        if piece.begins:
            item = self._items.open(CALL, str(piece.body.get("id") or ""), payload.index_of(piece.slot), piece.body)
            item.call = True
            self._items.tell(item)
            named = {"id": item.id, "type": CALL, "call_id": piece.id, "name": piece.name, "arguments": ""}
            added = self._of(item, ADDED)
            body = {**(added.item if added is not None else {"status": "in_progress"}), **named}
            self._flows[piece.number] = _Flow(item, body)
            out.append(self._event(item, ADDED, {"output_index": item.index, "item": body}))
        flow = self._flows[piece.number]
        where = {"item_id": flow.item.id, "output_index": flow.item.index}
        if piece.arguments or (piece.ends and not flow.text):
            flow.text += piece.arguments
            fields = {**where, "delta": piece.arguments}
            kind, last = f"{ARGUMENTS}.delta", self._last
            own = last is not None and last.kind == kind and not piece.ends
            out.append(self._writer.forward(last, fields) if last and own else self._writer.new(kind, fields))
        whole = payload.object_in(flow.text) is not None
        ends = piece.ends and (whole or piece.left_alone or not self.failed)
        if ends or (piece.left_alone and self._of(flow.item, f"{ARGUMENTS}.done") is not None):
            out.append(self._event(flow.item, f"{ARGUMENTS}.done", {**where, "arguments": flow.text}))
        if ends:
            out.append(self._end(flow, whole or piece.left_alone))
        self._writer.left_alone = self._writer.left_alone or piece.left_alone
        return out

    def _end(self, flow: _Flow, whole: bool) -> bytes:
        item, ended = flow.item, self._of(flow.item, ENDED)
        shared = {key: flow.announced[key] for key in ("id", "type", "call_id", "name")}
        item.done = {**(ended.item if ended is not None else flow.announced), **shared, "arguments": flow.text}
        if ended is None or not whole or item.done.get("status") == "in_progress":
            item.done["status"] = "completed" if whole else "incomplete"
        return self._event(item, ENDED, {"output_index": item.index, "item": item.done})

    def _of(self, item: Item, kind: str) -> Incoming | None:
        return self._events.get((item.wire_id, kind)) or self._events.get((item.wire_index, kind))

    def _event(self, item: Item, kind: str, fields: Json) -> bytes:
        source = self._of(item, kind)
        return self._writer.forward(source, fields) if source is not None else self._writer.new(kind, fields)
