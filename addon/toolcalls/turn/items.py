"""The items of one answer: which one an event speaks about, and where the client sees it.

For protocols whose answers are lists of items with ids and indices. Servers disagree about both (a new id on every
event, an index that is always 0 or absent), so neither is trusted alone. The client gets one id and one index
an item, and never two items at one index.
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
    """One part of an item that is text: of a message, or of reasoning."""

    opened: bool = False
    text: str | None = None
    """The whole text, once the upstream said it."""
    closed: bool = False
    search: TextSearch | StructuredText | None = None
    """The search that its text goes through."""
    searched: bool = False
    """The search is over."""
    calls: list[str] = field(default_factory=list)
    """The texts of the calls that were found in it."""

    @property
    def undecided(self) -> bool:
        """May its last words be a call?"""
        return self.search is not None and not self.searched and self.search.undecided

    @property
    def changed(self) -> bool:
        """Does the client get another text than the upstream sent?"""
        return bool(self.calls) or self._mended is not None

    @property
    def _mended(self) -> str | None:
        return self.search.mended if isinstance(self.search, StructuredText) else None

    def text_for_client(self, text: str) -> str:
        """A text that is told as a whole: mended, or without the calls that were found in it."""
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
    """`index` and `id` are those that the client gets."""

    index: int
    id: str
    type: str
    body: dict[str, Any]
    """What the upstream said about it last."""
    call: ItemCall | None = None
    """What it tells, where it is a call of the client's tools."""
    announced: bool = False
    """Does the client know it?"""
    done: dict[str, Any] | None = None
    """The finished item, as the client got it."""
    done_text: str = ""
    """Its JSON text, where it went out as it came."""
    dropped: bool = False
    thought: str = ""
    """All that it says, where it is reasoning and done."""
    parts: dict[tuple[str, int], TextPart] = field(default_factory=dict)

    @property
    def gone(self) -> bool:
        """Did the client get it, or will it never?"""
        return self.done is not None or self.dropped

    @property
    def open(self) -> bool:
        """May more be told about it?"""
        return not self.gone and (self.call is None or self.call.end is None)

    @property
    def finished(self) -> bool:
        """Is everything said, though its end may be missing?"""
        if not self.open:
            return True
        parts = self.parts.values()
        return bool(parts) and all(part.text is not None or part.closed for part in parts)


class Items:
    __slots__ = ("_at_index", "_by_id", "_fresh", "_ids", "_indices", "all")

    def __init__(self, fresh: Callable[[str], str]) -> None:
        """`fresh`: a new id for an item of a type."""
        self._fresh = fresh
        self.all: list[Item] = []
        self._by_id: dict[str, Item] = {}
        self._at_index: dict[int, Item] = {}
        self._indices: set[int] = set()
        self._ids: set[str] = set()

    def free_index(self, wanted: int | None) -> int:
        """An index of its own for a new item: the wanted one if it is free."""
        if wanted is None or wanted in self._indices:
            wanted = max(self._indices, default=-1) + 1
        self._indices.add(wanted)
        return wanted

    def identity(self, wanted: str, kind: str) -> str:
        """An id of its own for a new item."""
        chosen = base = wanted or self._fresh(kind)
        count = 1
        while chosen in self._ids:
            count += 1
            chosen = f"{base}_{count}"
        self._ids.add(chosen)
        return chosen

    def open(
        self, kind: str, wire_id: str, wire_index: int | None, body: dict[str, Any], call: ItemCall | None = None
    ) -> Item:
        """A new item, under an index and an id of its own."""
        item = Item(self.free_index(wire_index), self.identity(wire_id, kind), kind, body, call)
        self.add(item, wire_id, wire_index)
        return item

    def add(self, item: Item, wire_id: str, wire_index: int | None) -> None:
        if len(self.all) >= MOST_CALLS:
            raise LimitReached
        self.all.append(item)
        self.alias(item, wire_id, wire_index)
        self.alias(item, item.id, None)

    def alias(self, item: Item, wire_id: str, wire_index: int | None) -> None:
        """What the upstream calls the item."""
        if wire_id:
            self._by_id[wire_id] = item
        if wire_index is not None:
            self._at_index[wire_index] = item

    def at(self, wire_index: int | None) -> Item | None:
        return self._at_index.get(-1 if wire_index is None else wire_index)

    def known(self, wire_id: str) -> Item | None:
        return self._by_id.get(wire_id)

    def find(self, kind: str, wire_id: str, wire_index: int | None) -> Item | None:
        """The open item of a type, and no call, that an event speaks about."""
        found = self._open_item(kind, wire_id, wire_index)
        if found is None and wire_index is None:
            # Without an index an unknown id is one of those that change with every event.
            return next((item for item in reversed(self.all) if item.type == kind and item.open), None)
        return found

    def find_call(self, kind: str, wire_id: str, wire_index: int | None) -> Item | None:
        """The open call that an event speaks about; the last one where it tells neither."""
        found = self._open_item(kind, wire_id, wire_index)
        if found is None and wire_index is None and not wire_id:
            # Only then: two calls must never melt together.
            return next((item for item in reversed(self.all) if item.type == kind and item.open), None)
        return found

    def _open_item(self, kind: str, wire_id: str, wire_index: int | None) -> Item | None:
        candidates = (self._by_id.get(wire_id), self.at(wire_index))
        return next((item for item in candidates if item is not None and item.type == kind and item.open), None)

    def in_order(self) -> Iterator[Item]:
        return iter(sorted(self.all, key=lambda item: item.index))
