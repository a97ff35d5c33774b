"""A Chat call that goes on while it comes, delta by delta."""

from __future__ import annotations

from ...calls import Outcome
from ...turn.assembled_call import Slot
from ...turn.live import LiveArguments
from .calls import Json


class LiveCall:
    """The deltas of one call that the client gets as they come."""

    __slots__ = ("_begun", "_id", "_index", "_taken", "arguments")

    def __init__(self, index: int, identity: str) -> None:
        self._index = index
        self._id = identity
        self._taken = 0
        self._begun = False
        self.arguments = LiveArguments(holds_commas=True)

    def take(self, slot: Slot) -> Json | None:
        """The delta for the fragments that are new; None when nothing of them may go out."""
        if slot.doubt or slot.unsure:
            return None
        new = "".join(slot.fragments[self._taken :])
        self._taken = len(slot.fragments)
        part = self.arguments.take(new)
        if self._begun:
            return {"index": self._index, "function": {"arguments": part}} if part else None
        self._begun = True
        function = {"name": slot.name, "arguments": part}
        return {"index": self._index, "id": self._id, "type": "function", "function": function, **slot.extra}

    def rest(self, outcome: Outcome) -> Json | None:
        """The delta with what is still missing; None when the client has all of it."""
        rest = outcome.arguments[len(self.arguments.sent) :]
        return {"index": self._index, "function": {"arguments": rest}} if rest else None
