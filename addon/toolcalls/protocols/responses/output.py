"""The list of all items in the terminal event and in a document: the items as the client got them."""

from __future__ import annotations

from typing import Any, Final

from ...parts import Json
from .items import CALL, FREEFORM, MESSAGE, REASONING, Item, Items, ids_of, kind_of, with_needed

_CARRIED: Final = ("id", "type", "call_id", "name", "namespace", "arguments", "input")


def output_of(all_items: Items, listed: Any, *, failed: bool = False) -> Any:
    """The list of all items, as the client got them. A failed response lists nothing more than it did."""
    entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    items = all_items.in_order
    left = [entry for entry in entries if kind_of(entry) in (CALL, FREEFORM)]
    for item in items:
        if item.call:
            item.entry = next((entry for entry in left if _is_about(entry, item, "call_id")), None)
            item.entry = item.entry or next((entry for entry in left if _is_about(entry, item, "id")), None)
            left = [entry for entry in left if entry is not item.entry]
    if failed and not isinstance(listed, list):
        return listed
    if failed:
        listed_as = [(item.entry, _kept(item)) for item in items]
        sent: dict[int, Json | None] = {id(entry): kept for entry, kept in listed_as if entry is not None}
        calls = {id(entry) for entry in entries if kind_of(entry) == CALL}
        kept = [sent.get(id(entry)) if id(entry) in calls else entry for entry in listed]
        return [entry for entry in kept if entry is not None]
    final = [body for item in items if (body := _kept(item)) is not None]
    same = len(entries) == len(final) and all(any(entry is body for body in final) for entry in entries)
    return listed if same and isinstance(listed, list) else final


def _kept(item: Item) -> Json | None:
    """The item in the list at the end: as it is listed, if that agrees with what the client got."""
    entry = item.entry
    return entry if entry is not None and _agrees(entry, item) else item.done


def _agrees(entry: Json, item: Item) -> bool:
    if item.call:
        return item.done is None or all(entry.get(key) == item.done.get(key) for key in _CARRIED)
    if item.done is not None and item.kind == FREEFORM:
        return bool(entry.get("call_id") == item.done.get("call_id"))
    if item.done is None or item.kind not in (MESSAGE, REASONING):
        return True
    if with_needed(entry, item) is not entry:
        return False
    return item.kind != MESSAGE or _texts(entry) == _texts(item.done)


def _texts(item: Json) -> list[str]:
    content = item.get("content")
    entries = content if isinstance(content, list) else []
    return [str(entry.get("text") or entry.get("refusal") or "") for entry in entries if isinstance(entry, dict)]


def _is_about(entry: Json, item: Item, key: str) -> bool:
    return bool(entry.get(key)) and isinstance(entry[key], str) and entry[key] in ids_of(item)
