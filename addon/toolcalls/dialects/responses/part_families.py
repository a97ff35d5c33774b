"""The events about texts, and the kind of part and the type of item that each belongs to."""

from __future__ import annotations

from dataclasses import dataclass

from ...turn.items import Item, Items, TextPart
from .events import IncomingEvent, Json

TEXT, REFUSAL, SUMMARY, REASONING_TEXT = "output_text", "refusal", "summary_text", "reasoning_text"


@dataclass(slots=True, frozen=True)
class PartFamily:
    """A family of events about one kind of part in one type of item."""

    item: str
    part: str

    def find(self, items: Items, incoming: IncomingEvent) -> Item | None:
        """The unfinished item that an event is about."""
        return items.find(self.item, incoming.text("item_id"), incoming.number("output_index"))

    def number_in(self, incoming: IncomingEvent) -> int:
        """The number of the part that an event is about."""
        return incoming.number(_number_key(self.part)) or 0


FAMILIES = {
    "response.output_text": PartFamily("message", TEXT),
    "response.output_text.annotation": PartFamily("message", TEXT),
    "response.refusal": PartFamily("message", REFUSAL),
    "response.content_part": PartFamily("message", TEXT),
    "response.reasoning_text": PartFamily("reasoning", REASONING_TEXT),
    "response.reasoning_summary_text": PartFamily("reasoning", SUMMARY),
    "response.reasoning_summary_part": PartFamily("reasoning", SUMMARY),
}


def family_of(stem: str, incoming: IncomingEvent) -> PartFamily:
    """The family of an event. `stem`: its type without the last word; a content_part says itself what it is."""
    family = FAMILIES[stem]
    part = incoming.message.get("part")
    if stem == "response.content_part" and isinstance(part, dict):
        if part.get("type") == REFUSAL:
            return PartFamily("message", REFUSAL)
        if part.get("type") == REASONING_TEXT:
            return PartFamily("reasoning", REASONING_TEXT)
    return family


def position_of(part: TextPart) -> Json:
    """The fields by which an event names a part."""
    return {"item_id": part.item_id, "output_index": part.item_index, _number_key(part.kind): part.number}


def _number_key(part: str) -> str:
    """The key that numbers the parts of this kind."""
    return "summary_index" if part == SUMMARY else "content_index"
