"""The tail of a stream: the parts that were taken and that the client has nothing of, in the order of their arrival.

It is all that has to be sent if something fails. What an event changes in it counts only once the event has been
answered (`commit`): if anything raises before that, nothing of the event was sent, and the tail is as it was.
"""

from __future__ import annotations

from .parts import Fragment, Part


class Tail:
    __slots__ = ("_parts", "changes", "size")

    def __init__(self) -> None:
        self._parts: dict[Part, int] = {}
        self.changes: list[tuple[Part, bool]] = []
        """What the event that is being answered has changed, and in which order: kept, or let go."""
        self.size = 0
        """How many bytes its events have."""

    def __bool__(self) -> bool:
        return bool(self._parts)

    def keep(self, part: Part) -> None:
        """Nothing of this part is sent now."""
        self.changes.append((part, True))

    def let_go(self, part: Part) -> None:
        """This part is sent, or is no longer needed."""
        self.changes.append((part, False))

    def commit(self) -> None:
        """The event was answered: what it changed counts."""
        for part, kept in self.changes:
            if kept:
                size = len(part.source.raw) // len(part.source.parts) + 1 if part.source is not None else 1
                self._parts[part] = size
                self.size += size
            else:
                self.size -= self._parts.pop(part, 0)
                if isinstance(part, Fragment):
                    part.source = None  # Its call is kept for comparison; the bytes of its event are not.
        self.changes = []

    def drain(self) -> list[Part]:
        """All of it, without what the last event changed, if that was not answered."""
        parts = list(self._parts)
        self._parts, self.changes, self.size = {}, [], 0
        return parts
