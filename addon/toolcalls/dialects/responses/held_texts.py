"""Holds text of a response that may become a call, and the events that end such a text.

Whether the end of a text is a call is known when the response ends, or when something else follows it. Until then the
events that end the text and its item wait, and so do structured calls.
"""

from __future__ import annotations

from ...mend.finish import Finish
from ...turn.item_answer import ItemAnswer
from ...turn.items import Item, TextPart
from ...turn.text_search import SearchResult
from ..reply_builder import ReplyBuilder
from .events import EventWriter, IncomingEvent

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

    def follows(self, part: TextPart) -> bool:
        """Whether text of this part follows another part that may end with a call."""
        return self.undecided and not self._answer.texts.is_last(part.search)

    def take(
        self,
        item: Item,
        number: int,
        part: TextPart,
        text: str,
        reply: ReplyBuilder,
        source: IncomingEvent | None = None,
    ) -> SearchResult:
        """Search a text of a part; the result contains what may be sent."""
        return self._note(item, number, part, self._answer.take_part_text(item, part, text, source), reply)

    def show(self, item: Item, number: int, part: TextPart, text: str, reply: ReplyBuilder) -> SearchResult:
        """Let the search know text of a part that is forwarded as it arrived; the result is sent before it."""
        return self._note(item, number, part, self._answer.show_part_text(part, text), reply)

    def close(
        self, item: Item, number: int, part: TextPart, finish: Finish | None, reply: ReplyBuilder
    ) -> SearchResult:
        """End the text of a part. `finish`: how the response ended; None: something else follows the text."""
        return self._note(item, number, part, self._answer.end_part_text(part, finish), reply)

    def _note(
        self, item: Item, number: int, part: TextPart, result: SearchResult, reply: ReplyBuilder
    ) -> SearchResult:
        if result.parts:
            key = _key(item, number)
            self._let_go(key, reply)
            if part.search is not None and part.search.holding:
                where = {"item_id": item.id, "output_index": item.index, "content_index": number}
                held = self._writer.write_unnumbered({"type": DELTA, **where, "delta": part.search.held}, DELTA)
                self._keep(key, held, reply)
        return result

    def keep(self, item: Item, number: int, raw: bytes, reply: ReplyBuilder) -> None:
        """Hold a whole event."""
        self._keep(_key(item, number), raw, reply)

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


def _key(item: Item, number: int) -> str:
    return f"text {item.index} {number}"
