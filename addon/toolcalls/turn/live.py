"""The arguments of a call that are sent while they arrive (`toolfix_aggregate=false`).

As long as the arguments are a prefix of strict JSON, they are sent at once. From the first character that breaks it,
the rest is held. At the end the whole is mended: either it continues what was sent, or the call is refused, and
nothing more is sent that could complete it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..mend.prefix import StrictPrefix
from ..outcome import Outcome

if TYPE_CHECKING:
    from .assembled_call import AssembledCall

_COMMA = re.compile(r",\s*\Z")


@dataclass(slots=True, frozen=True)
class LivePart:
    """The part of a call that is sent now. `begins`: it is the first part, so the name and the id go with it."""

    live: LiveCall
    assembled: AssembledCall
    arguments: str
    begins: bool


class LiveCall:
    """A call that is sent while it arrives. `number`: its position among the calls that the client gets."""

    __slots__ = ("_begun", "_comma", "_fragments_taken", "_holds_commas", "_prefix", "_sent", "id", "name", "number")

    def __init__(self, number: int, identity: str, name: str, *, holds_commas: bool = True) -> None:
        """`holds_commas`: a comma at the end is held, because it would be wrong if a closing bracket followed."""
        self.number = number
        self.id = identity
        self.name = name
        self._fragments_taken = 0
        self._begun = False
        self._prefix = StrictPrefix()
        self._sent: list[str] = []
        self._holds_commas = holds_commas
        self._comma = ""

    @property
    def sent(self) -> str:
        """The arguments that the client has."""
        return "".join(self._sent)

    @property
    def complete(self) -> bool:
        """Whether the client has a whole object."""
        return self._prefix.complete

    def next_part(self, call: AssembledCall) -> LivePart | None:
        """The part of the new fragments that may be sent now; None if there is none."""
        if call.refusal_reason or call.all_or_none:
            return None
        new = "".join(call.fragments[self._fragments_taken :])
        self._fragments_taken = len(call.fragments)
        part = self._comma + new[: self._prefix.feed(new)]
        if self._holds_commas:
            self._comma = part[len(_COMMA.sub("", part)) :]
            part = part.removesuffix(self._comma)
        if part:
            self._sent.append(part)
        begins = not self._begun
        self._begun = True
        return LivePart(self, call, part, begins) if part or begins else None

    def rest(self, outcome: Outcome) -> str:
        """The arguments that the client still lacks."""
        return outcome.arguments[len(self.sent) :]
