"""The deltas that were sent, in case their text has to be repeated in an end event that the upstream left out."""

from __future__ import annotations

from ...turn import payload
from ...turn.items import Item
from ...turn.structured_text import StructuredText
from ...turn.text_search import TextSearch
from ...wire.events import PASS, Pass
from .events import EventWriter
from .part_families import FAMILIES


class SentDeltas:
    """The deltas that the client got, as bytes, until the item that they belong to is done."""

    __slots__ = ("_events", "_limit", "_size", "_writer")

    def __init__(self, limit: int, writer: EventWriter) -> None:
        self._writer = writer
        self._events: list[bytes] = []
        self._size = 0
        self._limit = limit

    def add(self, event: bytes) -> None:
        """Note a sent delta that was parsed, so its number is known."""
        self.receive(b"", event)
        self._writer.passed = b""

    def receive(self, literal: bytes, raw: bytes) -> Pass:
        """Note a delta that passes without being parsed, because its text is not searched."""
        self._size += len(raw)
        if self._size <= self._limit:
            self._events.append(raw)
        self._writer.passed = raw
        return PASS

    def clear(self) -> None:
        self._events = []
        self._size = 0

    def text(self, item: Item, part: str, number: int) -> str | None:
        """The text of one part, joined from its deltas; None if there were too many deltas to remember."""
        if self._size > self._limit:
            return None
        texts: list[str] = []
        for raw in self._events:
            message = payload.read_strict(self._writer.data_of(raw))
            if isinstance(message, dict) and message.get("item_id") == item.id:
                family = FAMILIES.get(str(message.get("type")).removesuffix(".delta"))
                if family and family.part == part and message.get(family.number_key) == number:
                    texts.append(payload.text_of(message.get("delta")))
        return "".join(texts)


class SearchedDeltas:
    """Receives deltas that pass without being parsed if the search of their text allows it."""

    __slots__ = ("_search", "_sent")

    def __init__(self, search: TextSearch | StructuredText, sent: SentDeltas) -> None:
        self._search = search
        self._sent = sent

    def receive(self, literal: bytes, raw: bytes) -> Pass | None:
        if self._search.receive(literal, raw) is None:
            return None
        return self._sent.receive(literal, raw)
