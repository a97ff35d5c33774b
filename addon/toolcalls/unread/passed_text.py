"""Text that passed unread, kept until the search for calls asks how it was quoted: in most answers never."""

from __future__ import annotations

from .template import decoded


class PassedText:
    """The strings of events that passed, in their order, as JSON writes them."""

    __slots__ = ("_literals", "size")

    def __init__(self) -> None:
        self._literals: list[bytes] = []
        self.size = 0

    def add(self, literal: bytes) -> None:
        self._literals.append(literal)
        self.size += len(literal)

    def take(self) -> str:
        """All that was said since it was last asked for."""
        literals, self._literals = self._literals, []
        self.size = 0
        # JSON strings one after another are one JSON string, but for the quotes between them.
        text = decoded(b"".join(literals), strict=False)
        return "".join(map(_said, literals)) if text is None else text


def _said(literal: bytes) -> str:
    """The text of a string; of a broken one, where its lines end."""
    text = decoded(literal, strict=False)
    return literal.decode("utf-8", "replace").replace("\\n", "\n") if text is None else text
