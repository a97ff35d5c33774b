"""What was said in a conversation up to a turn, as a key under which nobody else's turn is found."""

from __future__ import annotations

import hashlib


class SaidSoFar:
    """What was said so far, as a number that nobody else comes to."""

    __slots__ = ("_hash",)

    def __init__(self, salt: bytes, *parts: str) -> None:
        self._hash = hashlib.sha256(salt)
        self.add(*parts)

    def add(self, *parts: str) -> None:
        for part in parts:
            data = part.encode("utf-8", "surrogatepass")
            self._hash.update(b"%d:" % len(data))
            self._hash.update(data)

    def copy(self) -> SaidSoFar:
        """One that goes on from here."""
        twin = SaidSoFar.__new__(SaidSoFar)
        twin._hash = self._hash.copy()
        return twin

    def with_turn(self, ids: list[str], text: str) -> bytes:
        """The key of a turn that follows."""
        after = self._hash.copy()
        after.update("\0".join(["calls", *ids] if ids else ["text", text.strip()]).encode("utf-8", "surrogatepass"))
        return after.digest()
