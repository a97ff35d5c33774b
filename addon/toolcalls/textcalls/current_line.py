"""The line in which the text ends so far: how it begins, how it ends, and what of it was not examined yet."""

from __future__ import annotations

from .lead_ins.paragraph import KEPT
from .line_heads import visible

HEAD = 120
"""How many characters of a line show how it begins."""


class CurrentLine:
    __slots__ = ("ends_block", "head", "last", "lead", "length", "seen", "starts_heredoc", "tail")

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Begin a new line."""
        self.head = ""
        self.length = 0
        self.last = ""
        """Its last characters."""
        self.lead = 0
        """Where in the line the answer begins, after reasoning."""
        self.tail = ""
        """The part of the line that was not examined yet, after a few characters that were."""
        self.seen = 0
        """How many those few characters are."""
        self.starts_heredoc = ""
        """The word that ends the here-document which begins in the next line."""
        self.ends_block = False
        """The line begins with the closer of a block of lines."""

    def add(self, text: str) -> None:
        """Add text that need not be examined."""
        if self.length < HEAD:
            self.head = (self.head + text)[:HEAD]
        self.length += len(text)
        self.last = (self.last + text)[-KEPT:]

    @property
    def text(self) -> str:
        """The line without white space around it; of a long line, its beginning and its end."""
        line = visible(self.head).rstrip()
        return line + self.last[HEAD - self.length :].rstrip() if self.length > HEAD else line

    @property
    def after_reasoning(self) -> str:
        """The end of the line, without the reasoning in it."""
        return self.last[max(0, self.lead - (self.length - len(self.last))) :]
