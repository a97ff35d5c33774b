"""Writes text events of the Responses protocol: the announcement, the text and the end of an item and of its parts.

Only events that a client needs are added: for an item or a part that was never announced or never ended.
"""

from __future__ import annotations

from typing import Any

from ...turn.items import Item, Items, TextPart
from ...turn.text_search import SearchResult
from ..reply_builder import ReplyBuilder
from .events import ADDED, EventWriter, Json
from .held_texts import DELTA
from .output import with_needed
from .part_families import REFUSAL, SUMMARY, TEXT, position_of
from .sent_text import SentDeltas

PART_EVENTS = {
    TEXT: "response.content_part",
    REFUSAL: "response.content_part",
    SUMMARY: "response.reasoning_summary_part",
}
_TEXT_EVENTS = {
    TEXT: "response.output_text",
    REFUSAL: "response.refusal",
    SUMMARY: "response.reasoning_summary_text",
}

MOST_PARTS = 1_000
"""The most parts of one item. The upstream numbers them, and a list of that length is made, so this needs a limit."""


class TextWriter:
    __slots__ = ("_events", "_items", "sent")

    def __init__(self, events: EventWriter, items: Items, limit: int) -> None:
        self._events = events
        self._items = items
        self.sent = SentDeltas(limit, events)
        """The deltas that were sent to the client."""

    def open(
        self,
        kind: str,
        wire_id: str,
        wire_index: int | None,
        body: Json,
        reply: ReplyBuilder,
        *,
        instead: int | None = None,
    ) -> Item:
        """Announce an item that the upstream never announced. `instead`: the index of a dropped item to use."""
        index = self._items.free_index(wire_index) if instead is None else instead
        item = Item(index, self._items.identity(wire_id, kind), kind, body)
        self._items.add(item, wire_id, wire_index)
        kept = {key: value for key, value in body.items() if key not in ("content", "summary", "encrypted_content")}
        empty = {**with_needed({"type": kind, **kept}, kind, item.id), "status": "in_progress"}
        fields = {"output_index": index, "item": empty}
        reply.out.append(self._events.write(ADDED, fields))
        return item

    def open_part(self, part: TextPart) -> bytes:
        """The announcement of a part that the upstream never announced."""
        fields = {**position_of(part), "part": whole_part(None, part.kind)}
        return self._events.write(f"{PART_EVENTS[part.kind]}.added", fields)

    def write_found(self, part: TextPart, result: SearchResult, reply: ReplyBuilder) -> None:
        """Write searched text, with the original events if they contain nothing else."""
        position = position_of(part)
        for piece in result.pieces:
            if piece.source is None:
                sent = self._events.write(DELTA, {**position, "delta": piece.text})
            else:
                sent = self._events.forward(piece.source, **position)
            self.sent.add(part, piece.text, sent)
            reply.out.append(sent)

    def fill_part(self, part: TextPart, content: list[Any]) -> None:
        """Add the text of a part to the content, if it was sent and is missing there."""
        field = _text_field(part.kind)
        if not 0 <= part.number < MOST_PARTS:
            return
        while len(content) <= part.number:
            content.append(whole_part(None, part.kind))
        entry = content[part.number]
        if isinstance(entry, dict) and not entry.get(field):
            text = part.text or self.sent.text(part)
            content[part.number] = {**whole_part(entry, part.kind), field: text or ""}

    def end_part(self, item: Item, key: str, number: int, entry: Any, reply: ReplyBuilder) -> None:
        """Write the events of a part that are missing before its item ends."""
        kind = entry.get("type") if isinstance(entry, dict) else None
        if not isinstance(kind, str) or kind not in PART_EVENTS or not belongs(kind, key):
            return
        part = item.part(kind, number)
        field, position = _text_field(kind), position_of(part)
        text = entry.get(field)
        out = reply.out
        if not part.opened:
            if not isinstance(text, str) or not text:
                return
            out.append(self.open_part(part))
            part.opened = True
            out.append(self._events.write(f"{_TEXT_EVENTS[kind]}.delta", {**position, "delta": text}))
        if part.text is None and not part.closed:
            out.append(self._events.write(f"{_TEXT_EVENTS[kind]}.done", {**position, field: text or ""}))
            part.text = text or ""
        if not part.closed:
            out.append(self._events.write(f"{PART_EVENTS[kind]}.done", {**position, "part": entry}))
            part.closed = True


def belongs(part: str, key: str) -> bool:
    """Whether parts of this kind are under this key of an item."""
    return (part == SUMMARY) == (key == "summary")


def whole_part(entry: Any, part: str) -> Json:
    """The part with a text field, which is empty if it was missing."""
    field = _text_field(part)
    if not isinstance(entry, dict):
        return {"type": part, field: "", **({"annotations": []} if part == TEXT else {})}
    return entry if isinstance(entry.get(field), str) else {**entry, field: ""}


def _text_field(part: str) -> str:
    """The key of the text in parts of this kind."""
    return "refusal" if part == REFUSAL else "text"
