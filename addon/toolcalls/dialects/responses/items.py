"""The output items of one response: which one an event speaks about, and where the client sees it.

Servers disagree about ids and indices (a new `item_id` on every event, `output_index` always 0 or absent),
so neither is trusted alone. The client gets one id and one index an item, and never two items at one index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ...turn.text_search import TextSearch
from ...wire.events import MOST_CALLS, LimitReached
from .events import Json

CALL = "function_call"
FREEFORM = "custom_tool_call"

_PREFIXES = {CALL: "fc", "message": "msg", "reasoning": "rs", FREEFORM: "ctc"}
_NEEDED: dict[str, Json] = {
    "message": {"role": "assistant", "content": []},
    "reasoning": {"summary": []},
}
"""What clients cannot do without: Codex drops an item that lacks one of these, and the deltas after it."""


@dataclass(slots=True)
class Part:
    """One content part of a message, or one summary part of a reasoning item."""

    opened: bool = False
    text: str | None = None
    """The whole text, once the upstream said it."""
    closed: bool = False
    prose: TextSearch | None = None
    """Its text on its way through the search for calls."""
    searched: bool = False
    """The search is over."""
    calls: list[str] = field(default_factory=list)
    """The texts of the calls that were found in it."""


@dataclass(slots=True)
class Item:
    index: int
    id: str
    type: str
    body: Json
    """What the upstream said about it last."""
    announced: bool = False
    """Does the client know it?"""
    done: Json | None = None
    """The finished item, as the client got it."""
    done_text: str = ""
    """Its JSON text, where it went out as it came."""
    dropped: bool = False
    parts: dict[tuple[str, int], Part] = field(default_factory=dict)

    @property
    def open(self) -> bool:
        return self.done is None and not self.dropped

    @property
    def finished(self) -> bool:
        """Is everything said, though `output_item.done` may be missing?"""
        if not self.open:
            return True
        parts = self.parts.values()
        return bool(parts) and all(part.text is not None or part.closed for part in parts)


class Items:
    __slots__ = ("_at_index", "_by_id", "_fresh", "_ids", "_indices", "all")

    def __init__(self, fresh: Callable[[], str]) -> None:
        self._fresh = fresh
        self.all: list[Item] = []
        self._by_id: dict[str, Item] = {}
        self._at_index: dict[int, Item] = {}
        self._indices: set[int] = set()
        self._ids: set[str] = set()

    def place(self, wanted: int | None) -> int:
        """An index of its own for a new item: the wanted one if it is free."""
        if wanted is None or wanted in self._indices:
            wanted = max(self._indices, default=-1) + 1
        self._indices.add(wanted)
        return wanted

    def identity(self, wanted: str, kind: str) -> str:
        """An id of its own for a new item."""
        chosen = base = wanted or f"{_PREFIXES.get(kind, 'item')}_{self._fresh()}"
        count = 1
        while chosen in self._ids:
            count += 1
            chosen = f"{base}_{count}"
        self._ids.add(chosen)
        return chosen

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
        """The open item of a type that an event speaks about."""
        for item in (self._by_id.get(wire_id), self._at_index.get(-1 if wire_index is None else wire_index)):
            if item is not None and item.type == kind and item.open:
                return item
        if wire_index is None and not (wire_id and kind == CALL):
            # Without an index an unknown id is one of those that change with every event. But two calls
            # must never melt together.
            return next((item for item in reversed(self.all) if item.type == kind and item.open), None)
        return None

    def in_order(self) -> Iterator[Item]:
        return iter(sorted(self.all, key=lambda item: item.index))


def with_needed(body: Json, kind: str, identity: str) -> Json:
    """The item with what clients need; the same object when nothing is missing."""
    missing = {key: value for key, value in _NEEDED.get(kind, {}).items() if body.get(key) is None}
    if kind in _NEEDED and body.get("id") != identity:
        missing["id"] = identity
    return {**body, **missing} if missing else body
