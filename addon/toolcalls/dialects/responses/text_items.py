"""What the model says in messages and reasoning items. It passes as it comes, in the moment it comes.

Only what a client cannot do without is added: an item or a part that was never announced, an end that
never came. Deltas are remembered as they came, in case that their text has to be told again in an end that the
upstream forgot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...mend.finish import Finish
from ...turn import payload
from ...turn.items import Item, Items, Part
from ...turn.text_search import SearchResult, TextSearch
from ...unread.fast_path import Lesson
from ...wire.events import PASS, Pass
from .events import EventWriter, IncomingEvent, Json
from .item_search import DELTA, ItemSearch, undecided, without_calls
from .output import with_needed

_TEXT, _REFUSAL, _SUMMARY, _THOUGHT = "output_text", "refusal", "summary_text", "reasoning_text"


@dataclass(slots=True, frozen=True)
class Family:
    """Events that speak about one kind of part of one type of item."""

    item: str
    part: str
    place: str
    """The key that numbers the parts."""


_FAMILIES = {
    "response.output_text": Family("message", _TEXT, "content_index"),
    "response.output_text.annotation": Family("message", _TEXT, "content_index"),
    "response.refusal": Family("message", _REFUSAL, "content_index"),
    "response.content_part": Family("message", _TEXT, "content_index"),
    "response.reasoning_text": Family("reasoning", _THOUGHT, "content_index"),
    "response.reasoning_summary_text": Family("reasoning", _SUMMARY, "summary_index"),
    "response.reasoning_summary_part": Family("reasoning", _SUMMARY, "summary_index"),
}
_PART_EVENTS = {
    _TEXT: "response.content_part",
    _REFUSAL: "response.content_part",
    _SUMMARY: "response.reasoning_summary_part",
}
_TEXT_EVENTS = {
    _TEXT: "response.output_text",
    _REFUSAL: "response.refusal",
    _SUMMARY: "response.reasoning_summary_text",
}


_MOST_PARTS = 1_000
"""Parts of one item. The upstream counts them, and a list that long is made: so it may not say any number."""


def is_text(kind: str) -> bool:
    return kind.rpartition(".")[0] in _FAMILIES


class SentDeltas:
    """The deltas that the client got, as bytes, until the item that they belong to is done."""

    __slots__ = ("_events", "_limit", "_size", "_writer")

    def __init__(self, limit: int, writer: EventWriter) -> None:
        self._writer = writer
        self._events: list[bytes] = []
        self._size = 0
        self._limit = limit

    def add(self, event: bytes) -> None:
        self._size += len(event)
        if self._size <= self._limit:
            self._events.append(event)

    def clear(self) -> None:
        self._events = []
        self._size = 0

    def text(self, item: Item, part: str, number: int) -> str | None:
        """The text of one part, told by its deltas; None when there was too much of it to remember."""
        if self._size > self._limit:
            return None
        said: list[str] = []
        for raw in self._events:
            message = payload.read_strict(self._writer.data_of(raw))
            if isinstance(message, dict) and message.get("item_id") == item.id:
                family = _FAMILIES.get(str(message.get("type")).removesuffix(".delta"))
                if family and family.part == part and message.get(family.place) == number:
                    said.append(payload.text_of(message.get("delta")))
        return "".join(said)


class SentText:
    """Receives deltas that pass unread and remembers that they were sent."""

    __slots__ = ("_prose", "_transcript", "_writer")

    def __init__(self, prose: TextSearch | None, transcript: SentDeltas, writer: EventWriter) -> None:
        """`prose`: the search of their text, where it is searched."""
        self._prose = prose
        self._transcript = transcript
        self._writer = writer

    def receive(self, literal: bytes, raw: bytes) -> Pass | None:
        if self._prose is not None and self._prose.receive(literal, raw) is None:
            return None
        self._transcript.add(raw)
        self._writer.passed = raw
        return PASS


class TextItems:
    __slots__ = ("_items", "_search", "_transcript", "_writer", "lesson")

    def __init__(self, items: Items, writer: EventWriter, limit: int, search: ItemSearch) -> None:
        self._search = search
        self._items = items
        self._writer = writer
        self._transcript = SentDeltas(limit, writer)
        self.lesson: Lesson | None = None
        """What the last delta says about those like it, if it went on as it came."""

    def learn(self, incoming: IncomingEvent, prose: TextSearch | None = None) -> None:
        """Deltas like this one may pass unread from now on; `prose` is the search of their text."""
        receiver = SentText(prose, self._transcript, self._writer)
        self.lesson = Lesson("delta", incoming.text("delta"), receiver)

    def read(self, incoming: IncomingEvent) -> list[bytes]:
        """One event of a text family: what the client gets for it."""
        stem, _, verb = incoming.type.rpartition(".")
        family = _family(stem, incoming)
        if family.part == _TEXT and verb == "done" and self._ends_undecided(incoming, family):
            return []
        item, out = self._item(family, incoming)
        place = incoming.number(family.place) or 0
        part = item.parts.setdefault((family.part, place), Part())
        opens = incoming.type == f"{_PART_EVENTS.get(family.part)}.added"
        if not part.opened and not opens and family.part in _PART_EVENTS:
            out.append(self._open_part(item, family.part, place))
        part.opened = True
        fields: Json = {"item_id": item.id, "output_index": item.index, family.place: place}
        searched = self._search.on and family.part == _TEXT
        if searched and verb == "done":
            out += self._end_text(item, place, part, None)
        if stem in _PART_EVENTS.values():
            fields["part"] = _whole_part(incoming.message.get("part"), family.part)
            if verb == "done" and part.calls:
                fields["part"] = {**fields["part"], "text": self._told(item, place, part)}
            part.closed = part.closed or verb == "done"
        elif verb == "done":
            said = incoming.message.get("refusal" if family.part == _REFUSAL else "text")
            part.text = said if isinstance(said, str) else None
            if part.calls:
                part.text = fields["text"] = self._told(item, place, part)
        elif incoming.type == DELTA and searched and not self._passes(incoming, item, place, part, out):
            return out
        sent = self._writer.forward(incoming, **fields)
        out.append(sent)
        if verb == "delta":
            self._transcript.add(sent)
            if sent is incoming.raw and (not searched or part.searched or part.prose is not None):
                self.learn(incoming, None if part.searched else part.prose)
        return out

    # The search for calls

    def _passes(self, incoming: IncomingEvent, item: Item, place: int, part: Part, out: list[bytes]) -> bool:
        """Search a delta. False when it does not simply go on; what may go out of the text is told."""
        text = incoming.message.get("delta")
        if not isinstance(text, str) or not text or part.searched:
            return True
        said = self._search.take(item, place, part, text, incoming)
        if said.parts == ((text, incoming),):
            return True
        if not said.parts:
            self._search.keep(item, place, incoming.raw)
        out += self._tell_text(item, place, said)
        return False

    def _tell_text(self, item: Item, place: int, said: SearchResult) -> list[bytes]:
        where: Json = {"item_id": item.id, "output_index": item.index, "content_index": place}
        out = [
            self._writer.write(DELTA, {**where, "delta": piece.text})
            if piece.source is None
            else self._writer.forward(piece.source, **where)
            for piece in said.pieces
        ]
        for sent in out:
            self._transcript.add(sent)
        return out

    def _ends_undecided(self, incoming: IncomingEvent, family: Family) -> bool:
        """The end of a text whose last words may be a call waits."""
        item = self._items.find(family.item, incoming.text("item_id"), incoming.number("output_index"))
        if item is None or not self.undecided(item):
            return False
        self._search.wait(incoming)
        return True

    def follows(self, incoming: IncomingEvent) -> bool:
        """Is this a delta with text of another part than the one whose last words may be a call?"""
        delta = incoming.message.get("delta")
        stem, _, verb = incoming.type.rpartition(".")
        if verb != "delta" or not is_text(incoming.type) or not delta:
            return False
        family = _family(stem, incoming)
        item = self._items.find(family.item, incoming.text("item_id"), incoming.number("output_index"))
        part = item.parts.get((family.part, incoming.number(family.place) or 0)) if item is not None else None
        return part is None or self._search.follows(part)

    @staticmethod
    def undecided(item: Item) -> bool:
        return any(map(undecided, item.parts.values()))

    def untold_may_be_call(self, item: Item | None, body: Json) -> bool:
        """May the last words of an item's text that came only with its end be a call?"""
        content = body.get("content")
        if not self._search.on or body.get("type") != "message" or not isinstance(content, list):
            return False
        told = item.parts if item is not None else {}
        said = [(place, entry) for place, entry in enumerate(content) if not is_blank(entry)]
        place, last = said[-1] if said else (0, None)
        text = last.get("text") if isinstance(last, dict) and last.get("type") == _TEXT else None
        return isinstance(text, str) and (_TEXT, place) not in told and self._search.may_end_with_call(text)

    def end_texts(self, finish: Finish | None) -> list[bytes]:
        """All texts are over: with the response, or, None, with something else behind them."""
        out: list[bytes] = []
        for item in self._items.all:
            for (kind, place), part in item.parts.items():
                if kind == _TEXT:
                    out += self._end_text(item, place, part, finish)
        return out

    def _end_text(self, item: Item, place: int, part: Part, finish: Finish | None) -> list[bytes]:
        """The text of a part is over: what was held of it is told."""
        return self._tell_text(item, place, self._search.close(item, place, part, finish))

    def _told(self, item: Item, place: int, part: Part) -> str:
        """The text that the client got of a part with calls in it."""
        said = self._transcript.text(item, _TEXT, place)
        return without_calls(part.text or "", part) if said is None else said

    def _search_content(self, item: Item, content: list[Any], finish: Finish | None) -> list[bytes]:
        """Put into the content what was told of it, and search what was never told."""
        out: list[bytes] = []
        last = max((place for place, entry in enumerate(content) if not is_blank(entry)), default=-1)
        for place, entry in enumerate(content):
            text = entry.get("text") if isinstance(entry, dict) and entry.get("type") == _TEXT else None
            if not isinstance(text, str) or not text:
                continue
            part = item.parts.setdefault((_TEXT, place), Part())
            out += self._end_text(item, place, part, None)
            if part.prose is None:
                ends = place == last and not entry.get("annotations")
                said = self._search.whole(item, place, part, text, finish if ends else None)
                if part.calls:
                    content[place] = {**entry, "text": said.text}
            elif part.calls:
                content[place] = {**entry, "text": self._told(item, place, part)}
        return out

    def _item(self, family: Family, incoming: IncomingEvent) -> tuple[Item, list[bytes]]:
        wire_id, wire_index = incoming.text("item_id"), incoming.number("output_index")
        item = self._items.find(family.item, wire_id, wire_index)
        if item is None:
            known = self._items.known(wire_id)
            if known is not None and known.type == family.item:
                # Something said after the item was done; there is nothing to announce.
                return known, []
            return self.open(family.item, wire_id, wire_index, {})
        self._items.alias(item, wire_id, None)
        return item, []

    # Items

    def open(
        self, kind: str, wire_id: str, wire_index: int | None, body: Json, *, instead: int | None = None
    ) -> tuple[Item, list[bytes]]:
        """An item that the upstream never announced; `instead`: at the index of a dropped one."""
        index = self._items.place(wire_index) if instead is None else instead
        item = Item(index, self._items.identity(wire_id, kind), kind, body, announced=True)
        self._items.add(item, wire_id, wire_index)
        kept = {key: value for key, value in body.items() if key not in ("content", "summary", "encrypted_content")}
        empty = {**with_needed({"type": kind, **kept}, kind, item.id), "status": "in_progress"}
        fields = {"output_index": index, "item": empty}
        return item, [self._writer.write("response.output_item.added", fields)]

    def say(self, text: str, index: int) -> list[bytes]:
        """A message of ours."""
        item, out = self.open("message", "", None, {}, instead=index)
        content = [{"type": _TEXT, "text": text, "annotations": []}]
        said = {"type": "message", "role": "assistant", "status": "completed", "content": content}
        body, events = self.finish(item, said)
        item.done = body
        return [*out, *events, self._writer.write("response.output_item.done", {"output_index": index, "item": body})]

    def finish(self, item: Item, body: Json, finish: Finish | None = None) -> tuple[Json, list[bytes]]:
        """The whole item for its end, and the ends of parts that have to come before it.

        `finish`: the response ends with this item; None where something may follow it.
        """
        body = with_needed(body, item.type, item.id)
        key = "content" if item.type == "message" else "summary"
        if item.type not in ("message", "reasoning") or not isinstance(body.get(key), list):
            return body, []
        content = list(body[key])
        out: list[bytes] = []
        for (part, place), state in sorted(item.parts.items(), key=lambda entry: entry[0][1]):
            if part in _PART_EVENTS and _belongs(part, key):
                self._settle_part(item, part, place, state, content)
        if self._search.on and item.type == "message":
            out += self._search_content(item, content, finish)
        for place, entry in enumerate(content):
            out += self._tell(item, key, place, entry)
        if not any(other.open and other.parts for other in self._items.all if other is not item):
            self._transcript.clear()
        return (body if content == body[key] else {**body, key: content}), out

    def _settle_part(self, item: Item, part: str, place: int, state: Part, content: list[Any]) -> None:
        """Put into the content what was said and is not in it."""
        field = "refusal" if part == _REFUSAL else "text"
        if not 0 <= place < _MOST_PARTS:
            return
        while len(content) <= place:
            content.append(_whole_part(None, part))
        entry = content[place]
        if isinstance(entry, dict) and not entry.get(field):
            said = state.text or self._transcript.text(item, part, place)
            content[place] = {**_whole_part(entry, part), field: said or ""}

    def _tell(self, item: Item, key: str, place: int, entry: Any) -> list[bytes]:
        """The events of a part that are still missing before its item ends."""
        part = entry.get("type") if isinstance(entry, dict) else None
        if not isinstance(part, str) or part not in _PART_EVENTS or not _belongs(part, key):
            return []
        state = item.parts.setdefault((part, place), Part())
        field = "refusal" if part == _REFUSAL else "text"
        text = entry.get(field)
        where = {"item_id": item.id, "output_index": item.index}
        where["summary_index" if part == _SUMMARY else "content_index"] = place
        out: list[bytes] = []
        if not state.opened:
            if not isinstance(text, str) or not text:
                return []
            out.append(self._open_part(item, part, place))
            state.opened = True
            out.append(self._writer.write(f"{_TEXT_EVENTS[part]}.delta", {**where, "delta": text}))
        if state.text is None and not state.closed:
            out.append(self._writer.write(f"{_TEXT_EVENTS[part]}.done", {**where, field: text or ""}))
            state.text = text or ""
        if not state.closed:
            out.append(self._writer.write(f"{_PART_EVENTS[part]}.done", {**where, "part": entry}))
            state.closed = True
        return out

    def _open_part(self, item: Item, part: str, place: int) -> bytes:
        fields: Json = {"item_id": item.id, "output_index": item.index}
        fields["summary_index" if part == _SUMMARY else "content_index"] = place
        fields["part"] = _whole_part(None, part)
        return self._writer.write(f"{_PART_EVENTS[part]}.added", fields)


def is_blank(entry: Any) -> bool:
    """Does this part of a message say nothing?"""
    text = entry.get("text") if isinstance(entry, dict) else None
    return isinstance(text, str) and not text.strip()


def _family(stem: str, incoming: IncomingEvent) -> Family:
    family = _FAMILIES[stem]
    part = incoming.message.get("part")
    if stem == "response.content_part" and isinstance(part, dict):
        if part.get("type") == _REFUSAL:
            return Family("message", _REFUSAL, "content_index")
        if part.get("type") == _THOUGHT:
            return Family("reasoning", _THOUGHT, "content_index")
    return family


def _belongs(part: str, key: str) -> bool:
    return (part == _SUMMARY) == (key == "summary")


def _whole_part(entry: Any, part: str) -> Json:
    field = "refusal" if part == _REFUSAL else "text"
    if not isinstance(entry, dict):
        return {"type": part, field: "", **({"annotations": []} if part == _TEXT else {})}
    return entry if isinstance(entry.get(field), str) else {**entry, field: ""}
