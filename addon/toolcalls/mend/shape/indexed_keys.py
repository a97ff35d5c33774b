"""Arrays that were sent as keys with indices: `{"todos[0].id": 1, "todos[1].id": 2}`.

They become an array if the schema declares one of that name, no index is missing and every key inside an item is
declared there. The caller keeps the array only if the result violates the schema less.
"""

from __future__ import annotations

import re
from typing import Any, Final

from ...tools.schema.node import ARRAY, OBJECT
from ...tools.schema.views import View

_INDEXED: Final = re.compile(r"([^\[\].]+)\[(\d{1,4})\](?:\.([^\[\].]+))?")
_MAX_KEYS: Final = 200


def indexed(view: View, value: dict[str, Any]) -> dict[str, list[Any]]:
    """The arrays that were written as keys with indices, by name."""
    if not view.keys_known or len(value) > _MAX_KEYS:
        return {}
    found: dict[str, list[tuple[int, str | None, Any]]] = {}
    for key, item in value.items():
        match = _INDEXED.fullmatch(key) if key.endswith("]") or "]." in key else None
        if match is not None and match[1] in view.properties and match[1] not in value and not view.declares(key):
            found.setdefault(match[1], []).append((int(match[2]), match[3], item))
    built = {head: _built(view, head, entries) for head, entries in found.items()}
    return {head: items for head, items in built.items() if items is not None}


def _built(view: View, head: str, entries: list[tuple[int, str | None, Any]]) -> list[Any] | None:
    """The items in order; None if an index is missing, an item is given twice or a key is not declared."""
    child = view.child(head)
    if child is None or ARRAY not in child.types:
        return None
    items: dict[int, Any] = {}
    for index, key, value in entries:
        if key is None:
            if index in items:
                return None
            items[index] = value
            continue
        item = items.setdefault(index, {})
        inside = child.narrowed(ARRAY).item(index)
        if not isinstance(item, dict) or key in item or inside is None or OBJECT not in inside.types:
            return None
        if key not in inside.narrowed(OBJECT).properties:
            return None
        item[key] = value
    return [items[index] for index in range(len(items))] if set(items) == set(range(len(items))) else None


def with_array(value: dict[str, Any], head: str, items: list[Any]) -> dict[str, Any]:
    """The value with the array instead of its keys with indices, at the position of the first of them."""
    result: dict[str, Any] = {}
    for key, item in value.items():
        match = _INDEXED.fullmatch(key)
        if match is None or match[1] != head:
            result[key] = item
        elif head not in result:
            result[head] = items
    return result
