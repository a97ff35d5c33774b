"""Remembers which calls were refused, and why, until the client sends their results."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

from ..outcome import Outcome

MAX_REMEMBERED = 4096
MAX_BYTES = 4 * 1024 * 1024
"""The limit of all ids and reasons together, in characters: the upstream may send ids of any length."""
MAX_LENGTH = 400
"""The limit of one reason, in characters: it may quote a name that the upstream made up."""

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


class Refusals(Bounded[str, str]):
    """Reasons by the id that the client knows.

    Only ids that were made for a refusal are kept here (`Ids.new`): they differ between users and conversations
    even if the upstream's own ids (`functions.x:0`) do not.
    """

    def __init__(self) -> None:
        super().__init__(MAX_REMEMBERED, MAX_BYTES)

    def remember(self, outcome: Outcome) -> None:
        if outcome.status == "refused" and outcome.id and outcome.reason:
            self.add(outcome.id, outcome.reason)

    def add(self, identity: str, reason: str) -> None:
        reason = reason[:MAX_LENGTH]
        self.put(identity, reason, len(identity) + len(reason))
