"""Matches the entries of the item list in a terminal event with the items of the stream.

In that list, servers change ids, repeat a call, leave items out, or add items that were never announced.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...turn.item_assembler import ItemAssembler
from ...turn.items import CallItem, Item, Items
from .call_reader import entry_in
from .events import Json
from .output import CALL


class ListedItems:
    __slots__ = ("_calls", "_items", "entries", "unseen")

    def __init__(self, items: Items, calls: ItemAssembler) -> None:
        self._items = items
        self._calls = calls
        self.entries: dict[str, Json] = {}
        """Id at the client → the list entry of the item."""
        self.unseen: list[tuple[int, Json]] = []
        """Entries without a known item, and their positions."""

    def match(self, output: Any) -> None:
        """Find the item of each entry of the output, if that is a list; an unknown call becomes a new item."""
        listed = output if isinstance(output, list) else []
        entries = [(position, entry) for position, entry in enumerate(listed) if isinstance(entry, dict)]
        left = [item for item in self._items.in_order() if item.id not in self.entries]
        later: list[tuple[int, Json]] = []
        known = _ItemsByIds(self._items.in_order())
        seen: dict[tuple[str, ...], Json] = {}
        for position, entry in entries:
            alike = [item for item in known.about(entry) if _same_item(item, entry)]
            item = _best(alike, entry)
            item = item if item in left else None
            names = _names(entry)
            twin = next((seen[name] for name in names if name in seen), None) if item is None else None
            seen.update(dict.fromkeys(names, entry))
            if twin is not None and entry.get("type") == CALL:
                # Listed twice. It is compared like every call with the id of another: one call or two.
                opened = self._calls.new_call(str(entry.get("id") or ""), position)
                self._match(opened, entry)
                known.add(opened)
            elif twin is not None and all(twin.get(key) == entry.get(key) for key in ("name", "input")):
                # Listed twice, so it is skipped. A freeform call with another input would be another call.
                continue
            elif item is None:
                later.append((position, entry))
            else:
                left.remove(item)
                self._match(item, entry)
                known.add(item)
        # The ids changed again: match by type, name and order, but only if no item is missing and none is new.
        pairs = _paired(left, [entry for _, entry in later])
        for position, entry in later:
            if pairs:
                self._match(pairs.pop(0), entry)
            elif entry.get("type") == CALL:
                call = self._calls.new_call(str(entry.get("id") or ""), position)
                self._match(call, entry)
            else:
                self.unseen.append((position, entry))

    def _match(self, item: Item, entry: Json) -> None:
        """Note that an entry is about an item."""
        self.entries[item.id] = entry
        if isinstance(item, CallItem) and item.type == entry.get("type"):
            item.call.note_listed(entry_in(entry, None))
        elif item.open:
            item.body = entry


def _same_item(item: Item, entry: Json) -> bool:
    """Whether an entry is about this item, by its type and its ids."""
    if isinstance(item, CallItem):
        if entry.get("type") not in (CALL, item.type):
            return False
        # Lists, not sets: a server may send an id that is not a string and cannot be hashed.
        known = [item.call.sent_id, *(snapshot.body.get("call_id") for snapshot in item.call.snapshots)]
        call_ids = [call_id for call_id in known if call_id not in ("", None)]
        if entry.get("call_id") and call_ids:
            return entry["call_id"] in call_ids
    elif entry.get("type") != item.type:
        return False
    return _has_id(item, entry)


class _ItemsByIds:
    """Finds the items that share an id with an entry, without a search through all items."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._named: dict[str, dict[int, Item]] = {}
        for item in items:
            self.add(item)

    def add(self, item: Item) -> None:
        """Add an item under all the ids that it has now."""
        for identity in _ids_of(item):
            self._named.setdefault(str(identity), {})[id(item)] = item

    def about(self, entry: Json) -> list[Item]:
        """The items that may be the one of an entry, in order."""
        found: dict[int, Item] = {}
        for key in ("call_id", "id"):
            found |= self._named.get(str(entry.get(key)), {})
        return sorted(found.values(), key=lambda item: item.index)


def _bodies_of(item: Item) -> list[Json]:
    """The item as the client got it or the upstream last sent it, and as each event about its call contains it."""
    snapshots = item.call.snapshots if isinstance(item, CallItem) else []
    return [item.done or item.body, *(snapshot.body for snapshot in snapshots)]


def _ids_of(item: Item) -> list[object]:
    own = [item.id, item.call.sent_id] if isinstance(item, CallItem) else [item.id]
    return [*own, *(body.get(key) for body in _bodies_of(item) for key in ("id", "call_id"))]


def _best(items: list[Item], entry: Json) -> Item | None:
    """The item that an entry is about. Calls that share one id are told apart by the other id, then by the name."""
    for fits in (_has_id, _is_named):
        if len(items) > 1:
            items = [item for item in items if fits(item, entry)]
    return items[0] if items else None


def _has_id(item: Item, entry: Json) -> bool:
    """Whether the id of the entry is one of the item's ids."""
    return bool(entry.get("id")) and entry["id"] in [item.id, *(body.get("id") for body in _bodies_of(item))]


def _paired(items: list[Item], entries: list[Json]) -> list[Item]:
    """For each entry the first item of its type and name; empty if an entry has no item, or an item is left over."""
    left, found = list(items), list[Item]()
    for entry in entries:
        item = next((item for item in left if _is_named(item, entry)), None)
        if item is None:
            return []
        left.remove(item)
        found.append(item)
    return [] if left else found


def _is_named(item: Item, entry: Json) -> bool:
    if item.type != entry.get("type"):
        return False
    return not isinstance(item, CallItem) or not entry.get("name") or item.call.name in ("", entry["name"])


def _names(entry: Json) -> list[tuple[str, ...]]:
    """Keys that identify an item: its type with each of its ids."""
    ids = [(key, entry[key]) for key in ("call_id", "id") if entry.get(key)]
    return [(str(entry.get("type")), key, str(identity)) for key, identity in ids]
