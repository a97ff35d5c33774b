"""Remembers which calls were refused, and why, until the client sends their results."""

from __future__ import annotations

from collections import OrderedDict

from ..outcome import Outcome

MAX_REMEMBERED = 4096
MAX_BYTES = 4 * 1024 * 1024
"""The limit of all ids and reasons together, in characters: the upstream may send ids of any length."""
MAX_LENGTH = 400
"""The limit of one reason, in characters: it may quote a name that the upstream made up."""


class Refusals:
    """Reasons by the id that the client knows. Bounded: the least recently used is forgotten.

    Only ids that were made for a refusal are kept here (`Ids.fresh`): they differ between users and conversations
    even if the upstream's own ids (`functions.x:0`) do not.
    """

    __slots__ = ("_reasons", "_size")

    def __init__(self) -> None:
        self._reasons: OrderedDict[str, str] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        return len(self._reasons)

    def __contains__(self, identity: str) -> bool:
        return identity in self._reasons

    def remember(self, outcome: Outcome) -> None:
        if outcome.status == "refused" and outcome.id and outcome.reason:
            self.add(outcome.id, outcome.reason)

    def add(self, identity: str, reason: str) -> None:
        self._forget(identity, self._reasons.pop(identity, None))
        reason = reason[:MAX_LENGTH]
        self._reasons[identity] = reason
        self._size += len(identity) + len(reason)
        while len(self._reasons) > MAX_REMEMBERED or self._size > MAX_BYTES:
            self._forget(*self._reasons.popitem(last=False))

    def _forget(self, identity: str, reason: str | None) -> None:
        """Subtract the size of an entry that was removed."""
        self._size -= len(identity) + len(reason) if reason is not None else 0

    def reason(self, identity: str) -> str | None:
        """Why that call was refused; None if it was not, or if that is forgotten."""
        if identity in self._reasons:
            self._reasons.move_to_end(identity)
        return self._reasons.get(identity)
