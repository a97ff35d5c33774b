"""A call that flows on while it comes (`toolfix_aggregate=false`), in Chat.

What keeps the arguments a strict JSON prefix goes out at once. From the first character that does not, the
rest is held; at the end the whole is mended, and either continues what was sent or is refused: then nothing
more goes out that could make a whole call of it.
"""

from __future__ import annotations

import re

from ...mend.arguments import Finish
from ...mend.call import Mender
from ...mend.prefix import StrictPrefix
from ..assembled_call import Slot
from .calls import Json

_COMMA = re.compile(r",\s*\Z")


class LiveCall:
    __slots__ = ("_begun", "_comma", "_id", "_index", "_prefix", "_sent", "_taken")

    def __init__(self, index: int, identity: str) -> None:
        self._index = index
        self._id = identity
        self._prefix = StrictPrefix()
        self._sent: list[str] = []
        self._taken = 0
        self._begun = False
        self._comma = ""
        """A comma at the end of what came, held back: before a closing bracket it would be one too many."""

    def take(self, slot: Slot) -> Json | None:
        """The delta for the fragments that are new; None when nothing of them may go out."""
        if slot.doubt:
            return None
        new = "".join(slot.fragments[self._taken :])
        self._taken = len(slot.fragments)
        part = self._comma + new[: self._prefix.feed(new)]
        self._comma = part[len(_COMMA.sub("", part)) :]
        part = part.removesuffix(self._comma)
        if part:
            self._sent.append(part)
        if self._begun:
            return {"index": self._index, "function": {"arguments": part}} if part else None
        self._begun = True
        function = {"name": slot.name, "arguments": part}
        return {"index": self._index, "id": self._id, "type": "function", "function": function, **slot.extra}

    def end(self, slot: Slot, mender: Mender, finish: Finish, *, before_error: bool) -> Json | None:
        """What is still missing; None when the call is whole already."""
        sent = "".join(self._sent)
        text, _ = slot.settle()
        outcome = mender.mend_rest(slot.name, text, sent, finish, before_error=before_error, doubt=slot.doubt)
        rest = outcome.arguments[len(sent) :]
        return {"index": self._index, "function": {"arguments": rest}} if rest else None
