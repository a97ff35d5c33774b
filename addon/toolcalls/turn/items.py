"""The items of one answer: which item an event is about, and under which id and index the client sees it.

For protocols whose answers are lists of items with ids and indices. Servers disagree about both (a new id on every
event, an index that is always 0 or absent), so neither is trusted alone. The client gets one id and one index for
each item, and never two items at one index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..wire.events import MOST_CALLS, LimitReached
from .item_call import ItemCall
from .structured_text import StructuredText
from .text_search import TextSearch


@dataclass(slots=True)
class TextPart:
    """One text part of an item: of a message, or of reasoning."""

    kind: str
    number: int
    """Its position among the parts of the item."""
    item_id: str
    """The client's id of the item."""
    item_index: int
    """The client's index of the item."""
    opened: bool = False
    text: str | None = None
    """The whole text, once the upstream has sent it."""
    closed: bool = False
    search: TextSearch | StructuredText | None = None
    """The search that its text goes through."""
    searched: bool = False
    """The search is over."""
    seen: str | None = None
    """The whole text as the search has seen it, once that is over."""
    calls: list[str] = field(default_factory=list)
    """The texts of the calls that were found in it."""

    @property
    def undecided(self) -> bool:
        """Whether its end may be a call."""
        return self.search is not None and not self.searched and self.search.undecided

    @property
    def changed(self) -> bool:
        """Whether the client gets another text than the upstream sent."""
        return bool(self.calls) or self._mended is not None

    @property
    def _mended(self) -> str | None:
        return self.search.mended if isinstance(self.search, StructuredText) else None

    def text_for_client(self, text: str) -> str:
        """The client's version of a text that arrives as a whole: mended, or without the calls found in it."""
        if self._mended is not None:
            return self._mended
        out: list[str] = []
        for raw in filter(None, self.calls):
            before, found, after = text.partition(raw)
            if found:
                out.append(before)
                text = after
        return "".join([*out, text])


@dataclass(slots=True)
class Item:
    """An item of the answer. `index` and `id` are those that the client gets."""

    index: int
    id: str
    type: str
    body: dict[str, Any]
    """The item as the upstream last sent it."""
    done: dict[str, Any] | None = None
    """The finished item, as the client got it."""
    done_text: str = ""
    """Its JSON text, if it was sent as it arrived."""
    dropped: bool = False
    reasoning_text: str = ""
    """The whole reasoning, if the item is reasoning and done."""
    parts: dict[tuple[str, int], TextPart] = field(default_factory=dict)

    def part(self, kind: str, number: int) -> TextPart:
        """One of its parts, created if it is new."""
        part = self.parts.get((kind, number))
        if part is None:
            part = self.parts[kind, number] = TextPart(kind, number, self.id, self.index)
        return part

    @property
    def released(self) -> bool:
        """Whether the client has the finished item, or will never get it."""
        return self.done is not None or self.dropped

    @property
    def open(self) -> bool:
        """Whether more may arrive for it."""
        return not self.released

    @property
    def undecided(self) -> bool:
        """Whether one of its texts may end with a call."""
        return any(part.undecided for part in self.parts.values())

    @property
    def finished(self) -> bool:
        """Whether its content is complete, even if its end event is missing."""
        if not self.open:
            return True
        parts = self.parts.values()
        return bool(parts) and all(part.text is not None or part.closed for part in parts)


@dataclass(slots=True, kw_only=True)
class CallItem(Item):
    """An item that calls one of the client's tools."""

    call: ItemCall

    @property
    def open(self) -> bool:
        return not self.released and self.call.end is None


class Items:
    __slots__ = ("_at_index", "_by_id", "_fresh", "_ids", "_indices", "all")

    def __init__(self, fresh: Callable[[str], str]) -> None:
        """`fresh`: makes a new id for an item of a type."""
        self._fresh = fresh
        self.all: list[Item] = []
        self._by_id: dict[str, Item] = {}
        self._at_index: dict[int | None, Item] = {}
        self._indices: set[int] = set()
        self._ids: set[str] = set()

    def free_index(self, wanted: int | None) -> int:
        """A unique index for a new item: the wanted one if it is free."""
        if wanted is None or wanted in self._indices:
            wanted = max(self._indices, default=-1) + 1
        self._indices.add(wanted)
        return wanted

    def identity(self, wanted: str, kind: str) -> str:
        """A unique id for a new item."""
        chosen = base = wanted or self._fresh(kind)
        count = 1
        while chosen in self._ids:
            count += 1
            chosen = f"{base}_{count}"
        self._ids.add(chosen)
        return chosen

    def open(self, kind: str, wire_id: str, wire_index: int | None, body: dict[str, Any]) -> Item:
        """Add a new item with a unique index and id."""
        item = Item(self.free_index(wire_index), self.identity(wire_id, kind), kind, body)
        self.add(item, wire_id, wire_index)
        return item

    def add(self, item: Item, wire_id: str, wire_index: int | None) -> None:
        """Add a new item, known under these ids of the upstream and under its own id."""
        if len(self.all) >= MOST_CALLS:
            raise LimitReached
        self.all.append(item)
        self.alias(item, wire_id, wire_index)
        self.alias(item, item.id, None)

    def alias(self, item: Item, wire_id: str, wire_index: int | None) -> None:
        """Note an id and an index that the upstream uses for the item."""
        if wire_id:
            self._by_id[wire_id] = item
        if wire_index is not None:
            self._at_index[wire_index] = item

    def at(self, wire_index: int | None) -> Item | None:
        return self._at_index.get(wire_index)

    def known(self, wire_id: str) -> Item | None:
        return self._by_id.get(wire_id)

    def find(self, kind: str, wire_id: str, wire_index: int | None, *, is_call: bool = False) -> Item | None:
        """The unfinished item of a type that an event is about; the last one if the event has neither id nor index.

        Without an index, an unknown id means that the server's ids change with every event. For a call it means
        another call, because two calls must never be merged.
        """
        for item in (self._by_id.get(wire_id), self._at_index.get(wire_index)):
            if item is not None and item.type == kind and item.open:
                return item
        if wire_index is not None or (is_call and wire_id):
            return None
        return next((item for item in reversed(self.all) if item.type == kind and item.open), None)

    def in_order(self) -> Iterator[Item]:
        return iter(sorted(self.all, key=lambda item: item.index))
