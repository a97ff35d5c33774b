"""The arguments of a call that go on while they come (`toolfix_aggregate=false`).

What keeps the arguments a strict JSON prefix goes out at once. From the first character that does not, the rest is
held; at the end the whole is mended, and either continues what was sent or is refused: then nothing more goes out
that could make a whole call of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..mend.prefix import StrictPrefix
from ..outcome import Outcome
from .assembled_call import AssembledCall

_COMMA = re.compile(r",\s*\Z")


class LiveArguments:
    """What the client has of the arguments of one call."""

    __slots__ = ("_comma", "_holds_commas", "_prefix", "_sent")

    def __init__(self, *, holds_commas: bool = False) -> None:
        """`holds_commas`: a comma at the end waits, for before a closing bracket it would be one too many."""
        self._prefix = StrictPrefix()
        self._sent: list[str] = []
        self._holds_commas = holds_commas
        self._comma = ""

    @property
    def sent(self) -> str:
        """All that went out."""
        return "".join(self._sent)

    @property
    def complete(self) -> bool:
        """Is what went out a whole object?"""
        return self._prefix.complete

    def take(self, fragment: str) -> str:
        """What may go out now that this fragment came."""
        part = self._comma + fragment[: self._prefix.feed(fragment)]
        if self._holds_commas:
            self._comma = part[len(_COMMA.sub("", part)) :]
            part = part.removesuffix(self._comma)
        if part:
            self._sent.append(part)
        return part


@dataclass(slots=True, frozen=True)
class LivePart:
    """What of a call goes out now. `begins`: it is the first part, so the name and the id go with it."""

    live: LiveCall
    assembled: AssembledCall
    arguments: str
    begins: bool


class LiveCall:
    """A call that the client gets while it comes. `number` counts the calls that the client gets."""

    __slots__ = ("_begun", "_taken", "arguments", "id", "number")

    def __init__(self, number: int, identity: str, *, holds_commas: bool = True) -> None:
        self.number = number
        self.id = identity
        self._taken = 0
        self._begun = False
        self.arguments = LiveArguments(holds_commas=holds_commas)

    def take(self, call: AssembledCall) -> LivePart | None:
        """The fragments that are new; None when nothing of them may go out."""
        if call.doubt or call.unsure:
            return None
        new = "".join(call.fragments[self._taken :])
        self._taken = len(call.fragments)
        part = self.arguments.take(new)
        begins = not self._begun
        self._begun = True
        return LivePart(self, call, part, begins) if part or begins else None

    def rest(self, outcome: Outcome) -> str:
        """What the client still lacks."""
        return outcome.arguments[len(self.arguments.sent) :]
