"""Text that passed without being parsed, kept in case the search for calls needs it to decide about quoting.

In most answers it never does.
"""

from __future__ import annotations

from .template import decoded


class PassedText:
    """The strings of events that passed, in order, still escaped as in JSON."""

    __slots__ = ("_literals", "size")

    def __init__(self) -> None:
        self._literals: list[bytes] = []
        self.size = 0

    def add(self, literal: bytes) -> None:
        self._literals.append(literal)
        self.size += len(literal)

    def take(self) -> str:
        """All text since the last call of `take`."""
        literals, self._literals = self._literals, []
        self.size = 0
        # The insides of JSON strings, joined, are the inside of one JSON string.
        text = decoded(b"".join(literals), strict=False)
        return "".join(map(_said, literals)) if text is None else text


def _said(literal: bytes) -> str:
    """The text of a string; if it is broken, at least with its line ends."""
    text = decoded(literal, strict=False)
    return literal.decode("utf-8", "replace").replace("\\n", "\n") if text is None else text
