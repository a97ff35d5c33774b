"""The arguments of a call that go on while they come (`toolfix_aggregate=false`).

What keeps the arguments a strict JSON prefix goes out at once. From the first character that does not, the rest is
held; at the end the whole is mended, and either continues what was sent or is refused: then nothing more goes out
that could make a whole call of it.
"""

from __future__ import annotations

import re

from ..mend.prefix import StrictPrefix

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
