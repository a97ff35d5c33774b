"""The deltas that went out, in case that their text has to be told again in an end that the upstream forgot."""

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
        self._size += len(event)
        if self._size <= self._limit:
            self._events.append(event)

    def clear(self) -> None:
        self._events = []
        self._size = 0

    def text(self, item: Item, part: str, number: int) -> str | None:
        """The text of one part, told by its deltas; None when there was too much of it to remember."""
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


class SentText:
    """Receives deltas that pass unread and remembers that they were sent."""

    __slots__ = ("_search", "_sent", "_writer")

    def __init__(self, search: TextSearch | StructuredText | None, sent: SentDeltas, writer: EventWriter) -> None:
        """`search`: the search that their text goes through."""
        self._search = search
        self._sent = sent
        self._writer = writer

    def receive(self, literal: bytes, raw: bytes) -> Pass | None:
        if self._search is not None and self._search.receive(literal, raw) is None:
            return None
        self._sent.add(raw)
        self._writer.passed = raw
        return PASS
