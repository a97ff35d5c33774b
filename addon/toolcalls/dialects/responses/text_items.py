"""The texts in messages and reasoning items, which pass unchanged as soon as they arrive.

Messages are searched for calls. `text_writer.py` adds what is missing if a text was never announced or ended.
"""

from __future__ import annotations

from typing import Any

from ...mend.finish import Finish
from ...turn import payload
from ...turn.item_answer import ItemAnswer
from ...turn.items import Item, TextPart
from ...turn.text_search import SearchResult, TextPiece
from ...unread.fast_path import Lesson, Receiver
from ..reply_builder import ReplyBuilder
from .events import ENDED, EventWriter, IncomingEvent, Json
from .held_texts import DELTA, HeldTexts
from .output import with_needed
from .part_families import FAMILIES, REASONING_TEXT, REFUSAL, SUMMARY, TEXT, PartFamily, family_of, position_of
from .seen_texts import SeenTexts, is_text_part, text_in, text_of_event
from .text_writer import MOST_PARTS, PART_EVENTS, TextWriter, belongs, whole_part

_MOST_JOINED = 8
"""The most parts of one item whose text is joined from its deltas."""


class TextItems:
    __slots__ = ("_answer", "_events", "_held", "_items", "lesson", "seen", "writer")

    def __init__(self, answer: ItemAnswer, writer: EventWriter, limit: int, held: HeldTexts) -> None:
        self._answer = answer
        self._held = held
        self._items = answer.items
        self._events = writer
        self.writer = TextWriter(writer, answer.items, limit)
        self.seen = SeenTexts(answer.items, self.writer.sent)
        self.lesson: Lesson | None = None
        """How to handle deltas like the last one without parsing them, if that one was forwarded unchanged."""

    def learn(self, incoming: IncomingEvent, receiver: Receiver) -> None:
        """Let deltas like this one pass without being parsed from now on, if the receiver allows it."""
        self.lesson = Lesson("delta", incoming.text("delta"), receiver)

    def read(self, incoming: IncomingEvent, reply: ReplyBuilder) -> None:
        """Handle one event of a text family."""
        stem, _, verb = incoming.type.rpartition(".")
        family = family_of(stem, incoming)
        if family.part == TEXT and verb == "done" and self._ends_undecided(incoming, family, reply):
            return
        item = self._item(family, incoming, reply)
        part = item.part(family.part, family.number_in(incoming))
        opens = incoming.type == f"{PART_EVENTS.get(family.part)}.added"
        if not part.opened and not opens and family.part in PART_EVENTS:
            reply.out.append(self.writer.open_part(part))
        part.opened = True
        fields = position_of(part)
        searched = self._answer.examines_text and family.part == TEXT
        if searched and verb != "delta":
            self._show(part, text_of_event(incoming), incoming, reply)
        if searched and verb == "done":
            self._send(part, self._answer.end_part_text(part, None), reply)
        if stem in PART_EVENTS.values():
            fields["part"] = whole_part(incoming.message.get("part"), family.part)
            if verb == "done" and part.changed:
                fields["part"] = {**fields["part"], "text": self._text_sent(part)}
            part.closed = part.closed or verb == "done"
        elif verb == "done":
            text = incoming.message.get("refusal" if family.part == REFUSAL else "text")
            part.text = text if isinstance(text, str) else None
            if part.changed:
                part.text = fields["text"] = self._text_sent(part)
        elif incoming.type == DELTA and searched and not self._passes(incoming, part, reply):
            return
        sent = self._events.forward(incoming, **fields)
        reply.out.append(sent)
        if verb == "delta":
            deltas = self.writer.sent
            deltas.add(part, payload.text_of(incoming.message.get("delta")), sent)
            if sent is incoming.raw and (not searched or part.searched or part.search is not None):
                deltas.search = None if part.searched else part.search
                self.learn(incoming, deltas)

    # The search for calls

    def _passes(self, incoming: IncomingEvent, part: TextPart, reply: ReplyBuilder) -> bool:
        """Search a delta. True if it passes; otherwise the text that may be sent is written here."""
        text = incoming.message.get("delta")
        if not isinstance(text, str) or not text or part.searched:
            return True
        found = self._answer.take_part_text(part, text, incoming)
        self._held.update(part, found, reply)
        if found.parts == (TextPiece(text, incoming),):
            return True
        if not found.parts:
            self._held.keep(part, incoming.raw, reply)
        self.writer.write_found(part, found, reply)
        return False

    def _send(self, part: TextPart, found: SearchResult, reply: ReplyBuilder) -> None:
        """Send the text that the search of a part lets go."""
        self._held.update(part, found, reply)
        self.writer.write_found(part, found, reply)

    def _show(self, part: TextPart, text: str | None, source: IncomingEvent, reply: ReplyBuilder) -> None:
        """Let the search know a text that arrived in no delta, and that the client gets in this event."""
        begins = source.type.endswith(".added")
        if not text or (part.search is not None and not begins):
            return
        self._send(part, self._answer.show_part_text(part, text), reply)
        if begins:
            self.writer.sent.add(part, text, source.raw)
        else:
            part.seen = text

    def show_content(self, item: Item, incoming: IncomingEvent, reply: ReplyBuilder) -> None:
        """Let the search know the texts that an item begins with."""
        content = incoming.item.get("content")
        if not self._answer.examines_text or item.type != "message" or not isinstance(content, list):
            return
        for number, entry in enumerate(content[:MOST_PARTS]):
            if is_text_part(entry):
                self._show(item.part(TEXT, number), text_in(entry), incoming, reply)

    def _ends_undecided(self, incoming: IncomingEvent, family: PartFamily, reply: ReplyBuilder) -> bool:
        """Whether the end of a text has to wait, because the text may end with a call; if so, it is held."""
        item = family.find(self._items, incoming)
        if item is None or not item.undecided:
            return False
        self._held.wait(incoming, reply)
        return True

    def follows(self, incoming: IncomingEvent) -> bool:
        """Whether this is a delta with text of another part than the one that may end with a call."""
        stem, _, verb = incoming.type.rpartition(".")
        if verb != "delta" or stem not in FAMILIES or not incoming.message.get("delta"):
            return False
        family = family_of(stem, incoming)
        item = family.find(self._items, incoming)
        part = item.parts.get((family.part, family.number_in(incoming))) if item is not None else None
        return part is None or not self._answer.texts.is_last(part.search)

    def unannounced_text_waits(self, item: Item | None, body: Json) -> bool:
        """Whether a text that arrived only with the end of its item may be a call, depending on what follows."""
        content = body.get("content")
        if not self._answer.examines_text or body.get("type") != "message" or not isinstance(content, list):
            return False
        known = item.parts if item is not None else {}
        filled = [(number, entry) for number, entry in enumerate(content) if not is_blank(entry)]
        number, last = filled[-1] if filled else (0, None)
        text = last.get("text") if isinstance(last, dict) and last.get("type") == TEXT else None
        return isinstance(text, str) and (TEXT, number) not in known and self._answer.texts.waits_for_end(text)

    def end_texts(self, finish: Finish | None, reply: ReplyBuilder) -> None:
        """End all texts. `finish`: how the response ended; None: something else follows the texts."""
        for item in self._items.all:
            for part in item.parts.values():
                if part.kind == TEXT and not part.searched:
                    self._send(part, self._answer.end_part_text(part, finish), reply)

    def _text_sent(self, part: TextPart) -> str:
        """The text that the client got for a part that was changed."""
        text = self.writer.sent.text(part)
        return part.text_for_client(part.text or "") if text is None else text

    def _search_content(self, item: Item, content: list[Any], finish: Finish | None, reply: ReplyBuilder) -> None:
        """Replace the changed texts in the content by what the client got, and search texts that it never got."""
        last = max((number for number, entry in enumerate(content) if not is_blank(entry)), default=-1)
        for part in item.parts.values():
            if part.kind == TEXT:
                self._send(part, self._answer.end_part_text(part, None), reply)
        if self.seen.misses_content(item, content):
            self._answer.texts.stop()
        for number, entry in enumerate(content):
            text = text_in(entry) if is_text_part(entry) else None
            if not text:
                continue
            part = item.part(TEXT, number)
            if part.search is None:
                part.seen = text
                ends = number == last and not entry.get("annotations")
                first = self._answer.take_part_text(part, text)
                self._held.update(part, first, reply)
                rest = self._answer.end_part_text(part, finish if ends else None)
                self._held.update(part, rest, reply)
                if part.changed:
                    content[number] = {**entry, "text": first.text + rest.text}
            elif part.changed:
                content[number] = {**entry, "text": self._text_sent(part)}

    def _item(self, family: PartFamily, incoming: IncomingEvent, reply: ReplyBuilder) -> Item:
        """The item that an event about a text belongs to, announced if the upstream did not."""
        wire_id, wire_index = incoming.text("item_id"), incoming.number("output_index")
        item = family.find(self._items, incoming)
        if item is None:
            known = self._items.known(wire_id)
            if known is not None and known.type == family.item:
                # The text arrived after the item was done, so there is nothing to announce.
                return known
            return self.writer.open(family.item, wire_id, wire_index, {}, reply)
        self._items.alias(item, wire_id, None)
        return item

    # Items

    def send_note(self, text: str, index: int, reply: ReplyBuilder) -> None:
        """Send a message of ours."""
        item = self.writer.open("message", "", None, {}, reply, instead=index)
        content = [{"type": TEXT, "text": text, "annotations": []}]
        message = {"type": "message", "role": "assistant", "status": "completed", "content": content}
        self.end_item(item, message, reply)

    def end_item(self, item: Item, body: Json, reply: ReplyBuilder, finish: Finish | None = None) -> None:
        """End an item for which the upstream sent no end event."""
        item.done = self.finish(item, body, reply, finish)
        fields = {"output_index": item.index, "item": item.done}
        reply.out.append(self._events.write(ENDED, fields))

    def finish(self, item: Item, body: Json, reply: ReplyBuilder, finish: Finish | None = None) -> Json:
        """The whole item for its end event. The missing events of its parts are written first.

        `finish`: the response ends with this item; None: something may follow it.
        """
        body = with_needed(body, item.type, item.id)
        if item.type == "reasoning" and self._answer.reasoning is not None:
            item.reasoning_text = self._reasoning_text(item, body)
        key = "content" if item.type == "message" else "summary"
        if item.type not in ("message", "reasoning") or not isinstance(body.get(key), list):
            if item.type == "message" and body.get(key):
                self._answer.texts.stop()
            return body
        content = list(body[key])
        for part in sorted(item.parts.values(), key=lambda part: part.number):
            if part.kind in PART_EVENTS and belongs(part.kind, key):
                self.writer.fill_part(part, content)
        if self._answer.examines_text and item.type == "message":
            self._search_content(item, content, finish, reply)
        for number, entry in enumerate(content):
            self.writer.end_part(item, key, number, entry, reply)
        if not any(other.open and other.parts for other in self._items.all if other is not item):
            self.writer.sent.clear()
        return body if content == body[key] else {**body, key: content}

    def _reasoning_text(self, item: Item, body: Json) -> str:
        """The text of a reasoning item: the reasoning itself, or else its summary."""
        for kind, key in ((REASONING_TEXT, "content"), (SUMMARY, "summary")):
            entries = body.get(key) if isinstance(body.get(key), list) else []
            texts = [entry.get("text") for entry in entries or () if isinstance(entry, dict)]
            if not any(texts):
                known = [part for part in item.parts.values() if part.kind == kind]
                known.sort(key=lambda part: part.number)
                if sum(not part.text for part in known) > _MOST_JOINED:
                    return ""
                texts = [part.text or self.writer.sent.text(part) for part in known]
            if whole := "\n\n".join(text for text in texts if isinstance(text, str) and text):
                return whole
        return ""


def is_blank(entry: Any) -> bool:
    """Whether this part of a message has no text except white space."""
    text = entry.get("text") if isinstance(entry, dict) else None
    return isinstance(text, str) and not text.strip()
