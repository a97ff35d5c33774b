"""Holds text of a response that may become a call, and the events that end such a text.

Whether the end of a text is a call is known when the response ends, or when something else follows it. Until then the
events that end the text and its item wait, and so do structured calls.
"""

from __future__ import annotations

from ...turn.item_answer import ItemAnswer
from ...turn.items import TextPart
from ...turn.text_search import SearchResult
from ..reply_builder import ReplyBuilder
from .events import EventWriter, IncomingEvent
from .part_families import position_of

DELTA = "response.output_text.delta"
_ENDS = "ends of text"


class HeldTexts:
    __slots__ = ("_answer", "_keys", "_writer", "ends")

    def __init__(self, answer: ItemAnswer, writer: EventWriter) -> None:
        self._answer = answer
        self._writer = writer
        self.ends: list[IncomingEvent] = []
        """Events that end a part or an item whose text may still end with a call."""
        self._keys: set[str] = set()
        """The keys under which something is held."""

    @property
    def undecided(self) -> bool:
        """Whether the last text may still end with a call."""
        return bool(self.ends) or self._answer.texts.undecided

    def update(self, part: TextPart, found: SearchResult, reply: ReplyBuilder) -> None:
        """Note what the search of a part found: hold only the text that is still held after it."""
        if found.parts:
            self._let_go(_key(part), reply)
            if part.search is not None and part.search.holding:
                held = {"type": DELTA, **position_of(part), "delta": part.search.held}
                self.keep(part, self._writer.write_unnumbered(held, DELTA), reply)

    def keep(self, part: TextPart, raw: bytes, reply: ReplyBuilder) -> None:
        """Hold an event with text of a part."""
        self._keep(_key(part), raw, reply)

    # The events that end a text

    def wait(self, incoming: IncomingEvent, reply: ReplyBuilder) -> None:
        """Hold the end of a text, or of its item."""
        self.ends.append(incoming)
        self._keep(_ENDS, incoming.raw, reply)

    def pop_ends(self, reply: ReplyBuilder) -> list[IncomingEvent]:
        """Release the ends that waited; the caller handles them now."""
        ends, self.ends = self.ends, []
        self._let_go(_ENDS, reply)
        return ends

    # The ledger

    def _keep(self, key: str, raw: bytes, reply: ReplyBuilder) -> None:
        reply.hold(key, raw)
        self._keys.add(key)

    def _let_go(self, key: str, reply: ReplyBuilder) -> None:
        if key in self._keys:
            self._keys.remove(key)
            reply.release(key)


def _key(part: TextPart) -> str:
    return f"text {part.item_index} {part.number}"
