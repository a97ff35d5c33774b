"""Text that passed without being searched: what it changes about quoting is examined when an opener needs to know."""

from __future__ import annotations

from ..work import Work
from .quoting import Quoting

MOST_SKIPPED = 320 * 1024
"""How many characters may pass before their quoting is examined: most answers are shorter."""
SKIPPED_BEYOND = 64 * 1024  # How many characters are examined at a time after that.
_BLOCK, _ALLOWANCE = 16 * 1024, 2048


class SkippedText:
    """The text that the quoting state has not seen yet."""

    __slots__ = ("_pieces", "_work", "size")

    def __init__(self, work: Work) -> None:
        self._work = work
        self._pieces: list[str] = []
        self.size = 0

    def add(self, text: str, quoting: Quoting) -> None:
        """Add text that passed. If it is too much, the first part of it is examined now."""
        self._pieces.append(text)
        self.size += len(text)
        if self.size > MOST_SKIPPED:
            self.examine(quoting, max(SKIPPED_BEYOND, self.size - MOST_SKIPPED))

    def examine(self, quoting: Quoting, most: int | None = None) -> None:
        """Let the quoting state see all of it, or its first `most` characters."""
        text = "".join(self._pieces)
        end = len(text) if most is None else most
        self._pieces, self.size = [text[end:]], len(text) - end
        for at in range(0, end, _BLOCK):
            block = text[at : min(at + _BLOCK, end)]
            if most is None:
                # When the text arrived, each character allowed two steps, but those above the limit were lost.
                self._work.add_bytes((len(block) + _ALLOWANCE) // 2)
            quoting.advance(block)
            quoting.charge(self._work)
