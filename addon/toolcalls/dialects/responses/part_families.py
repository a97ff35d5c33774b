"""The events about texts, and the kind of part and the type of item that each belongs to."""

from __future__ import annotations

from dataclasses import dataclass

from .events import IncomingEvent

TEXT, REFUSAL, SUMMARY, REASONING_TEXT = "output_text", "refusal", "summary_text", "reasoning_text"


@dataclass(slots=True, frozen=True)
class PartFamily:
    """A family of events about one kind of part in one type of item."""

    item: str
    part: str
    number_key: str
    """The key that numbers the parts."""


FAMILIES = {
    "response.output_text": PartFamily("message", TEXT, "content_index"),
    "response.output_text.annotation": PartFamily("message", TEXT, "content_index"),
    "response.refusal": PartFamily("message", REFUSAL, "content_index"),
    "response.content_part": PartFamily("message", TEXT, "content_index"),
    "response.reasoning_text": PartFamily("reasoning", REASONING_TEXT, "content_index"),
    "response.reasoning_summary_text": PartFamily("reasoning", SUMMARY, "summary_index"),
    "response.reasoning_summary_part": PartFamily("reasoning", SUMMARY, "summary_index"),
}


def is_text(kind: str) -> bool:
    return kind.rpartition(".")[0] in FAMILIES


def family_of(stem: str, incoming: IncomingEvent) -> PartFamily:
    family = FAMILIES[stem]
    part = incoming.message.get("part")
    if stem == "response.content_part" and isinstance(part, dict):
        if part.get("type") == REFUSAL:
            return PartFamily("message", REFUSAL, "content_index")
        if part.get("type") == REASONING_TEXT:
            return PartFamily("reasoning", REASONING_TEXT, "content_index")
    return family
