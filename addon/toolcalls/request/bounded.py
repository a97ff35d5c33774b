"""What is remembered between requests, within a limit."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Bounded(Generic[Key, Value]):
    """Values by key, bounded in number and in size: the least recently used is forgotten."""

    def __init__(self, most: int, most_size: int = 0) -> None:
        self._most, self._most_size = most, most_size
        self._entries: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self.size = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Key]:
        return iter(self._entries)

    def get(self, key: Key) -> Value | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._entries.move_to_end(key)
        return entry[0]

    def put(self, key: Key, value: Value, size: int = 0) -> None:
        self.size += size - self._entries.pop(key, (value, 0))[1]
        self._entries[key] = value, size
        while len(self._entries) > self._most or self.size > self._most_size:
            self.size -= self._entries.popitem(last=False)[1][1]
