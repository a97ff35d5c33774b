"""What is held of the texts of a response: words that may become a call, and the events that end such a text.

Whether the last words of a text are a call is known when the response ends, or when something else follows them.
Until then the events that end the text and its item wait, and so do structured calls.
"""

from __future__ import annotations

from ...mend.finish import Finish
from ...turn.item_answer import ItemAnswer
from ...turn.items import Item, Part
from ...turn.text_search import SearchResult
from .events import EventWriter, IncomingEvent

DELTA = "response.output_text.delta"
_ENDS = "ends of text"


class HeldTexts:
    __slots__ = ("_answer", "_hold", "_keys", "_release", "_writer", "ends")

    def __init__(self, answer: ItemAnswer, writer: EventWriter) -> None:
        self._answer = answer
        self._writer = writer
        self.ends: list[IncomingEvent] = []
        """Events that end a part or an item whose last words are not decided yet."""
        self._keys: set[str] = set()
        """The keys under which something is held."""
        self._hold: list[tuple[str, bytes]] = []
        self._release: list[str] = []
        """What the answer to this event has to tell the ledger."""

    @property
    def undecided(self) -> bool:
        """May the last words that were said be a call?"""
        return bool(self.ends) or self._answer.texts.undecided

    def follows(self, part: Part) -> bool:
        """Does text of this part follow what may be a call in another one?"""
        return self.undecided and not self._answer.texts.is_last(part.search)

    def take(
        self, item: Item, number: int, part: Part, text: str, source: IncomingEvent | None = None
    ) -> SearchResult:
        """A part says this: what may go out of it."""
        return self._note(item, number, part, self._answer.say_in(part, text, source))

    def close(self, item: Item, number: int, part: Part, finish: Finish | None) -> SearchResult:
        """The text of a part is over: with the response, or, None, with something else behind it."""
        return self._note(item, number, part, self._answer.end_in(part, finish))

    def whole(self, item: Item, number: int, part: Part, text: str, finish: Finish | None) -> SearchResult:
        """A text that came in one piece."""
        first, last = self.take(item, number, part, text), self.close(item, number, part, finish)
        return SearchResult(first.parts + last.parts)

    def _note(self, item: Item, number: int, part: Part, result: SearchResult) -> SearchResult:
        if result.parts:
            key = _key(item, number)
            self._let_go(key)
            if part.search is not None and part.search.holding:
                where = {"item_id": item.id, "output_index": item.index, "content_index": number}
                self._keep(key, self._writer.unnumbered({"type": DELTA, **where, "delta": part.search.held}, DELTA))
        return result

    def keep(self, item: Item, number: int, raw: bytes) -> None:
        """All of an event is held."""
        self._keep(_key(item, number), raw)

    # The events that end a text

    def wait(self, incoming: IncomingEvent) -> None:
        self.ends.append(incoming)
        self._keep(_ENDS, incoming.raw)

    def take_ends(self) -> list[IncomingEvent]:
        ends, self.ends = self.ends, []
        if ends:
            self._let_go(_ENDS)
        return ends

    # The ledger

    def _keep(self, key: str, raw: bytes) -> None:
        self._hold.append((key, raw))
        self._keys.add(key)

    def _let_go(self, key: str) -> None:
        if key in self._keys:
            self._keys.remove(key)
            self._release.append(key)
            self._hold = [entry for entry in self._hold if entry[0] != key]

    def drain(self) -> tuple[tuple[str, ...], tuple[tuple[str, bytes], ...]]:
        """What this event released and what it holds."""
        release, hold = tuple(self._release), tuple(self._hold)
        self._release, self._hold = [], []
        return release, hold


def _key(item: Item, number: int) -> str:
    return f"text {item.index} {number}"
