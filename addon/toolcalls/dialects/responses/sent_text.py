"""The texts of sent deltas, in case one has to be repeated in an end event that the upstream left out."""

from __future__ import annotations

from itertools import groupby

from ...turn.items import TextPart
from ...turn.structured_text import StructuredText
from ...turn.text_search import TextSearch
from ...unread.passed_text import text_of
from ...wire.events import PASS, Pass
from .events import EventWriter


class SentDeltas:
    """The texts of the deltas that the client got, until the item that they belong to is done."""

    __slots__ = ("_limit", "_room", "_text", "_texts", "_writer", "search")

    def __init__(self, limit: int, writer: EventWriter) -> None:
        self._writer = writer
        self._texts: dict[int, list[str | bytes]] = {}
        """`id()` of a part → its texts: strings, or literals of unparsed events."""
        self._text: list[str | bytes] = []
        """The text of the part that the last delta belongs to."""
        self.search: TextSearch | StructuredText | None = None
        """The search that unparsed deltas of that part go through; None if they are not searched."""
        self._room = self._limit = limit
        """How many more bytes of events may be sent until nothing is remembered."""

    def add(self, part: TextPart, text: str, event: bytes) -> None:
        """Note a sent delta that was parsed; the unparsed ones after it belong to the same part."""
        self._text = self._texts.setdefault(id(part), [])
        self._room -= len(event)
        if self._room >= 0:
            self._text.append(text)

    def receive(self, literal: bytes, raw: bytes) -> Pass | None:
        """Let a delta pass without being parsed, unless the search of its text needs it."""
        if self.search is not None and self.search.receive(literal, raw) is None:
            return None
        self._room -= len(raw)
        if self._room >= 0:
            self._text.append(literal)
        self._writer.passed = raw
        return PASS

    def clear(self) -> None:
        self._texts = {}
        self._room = self._limit

    def text(self, part: TextPart) -> str | None:
        """The text of one part, joined from its deltas; None if there were too many deltas to remember."""
        if self._room < 0:
            return None
        pieces = self._texts.get(id(part), ())
        texts: list[str] = []
        for _, run in groupby(pieces, type):
            alike = list(run)
            literals = [piece for piece in alike if isinstance(piece, bytes)]
            texts += [text_of(literals)] if literals else [piece for piece in alike if isinstance(piece, str)]
        return "".join(texts)
