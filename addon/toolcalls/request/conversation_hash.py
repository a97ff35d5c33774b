"""A hash of a conversation up to a turn: a key under which no turn of another conversation is found."""

from __future__ import annotations

import hashlib


class ConversationHash:
    """A salted hash of what was said so far, which no other conversation has."""

    __slots__ = ("_hash",)

    def __init__(self, salt: bytes, *parts: str) -> None:
        self._hash = hashlib.sha256(salt)
        self.add(*parts)

    def add(self, *parts: str) -> None:
        for part in parts:
            data = part.encode("utf-8", "surrogatepass")
            self._hash.update(b"%d:" % len(data))
            self._hash.update(data)

    def copy(self) -> ConversationHash:
        """A copy that can be continued separately."""
        twin = ConversationHash.__new__(ConversationHash)
        twin._hash = self._hash.copy()
        return twin

    def with_turn(self, ids: list[str], text: str) -> bytes:
        """The key of the next turn."""
        after = self._hash.copy()
        after.update("\0".join(["calls", *ids] if ids else ["text", text.strip()]).encode("utf-8", "surrogatepass"))
        return after.digest()
