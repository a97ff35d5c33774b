"""Writes parts as events of a response. An event that needs no change is sent as it came.

The writer knows what the client has: which items began and which have ended, and the last number. What clients need
before an event is written before it: the beginning of an item or of a text, a number, an index. Numbers increase: an
event keeps its number if that is higher than the last one sent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from ... import payload
from ...parts import Decided, Json, Other, Part, Piece, Stop, Text, Thought, source_of
from ...wire.framing import Framing
from .answer import RETYPED
from .items import CALL, FREEFORM, MESSAGE, REASONING, Item, Items, MessageText, kind_of
from .read import (
    ADDED,
    ARGUMENTS,
    DELTA,
    DROPPED,
    ECHOES,
    ENDED,
    INPUT,
    NUMBER,
    OUTPUT_TEXT,
    PART,
    TERMINAL,
    TEXTS,
    Incoming,
)

_NUMBER: Final = re.compile(rb'"sequence_number"\s*+:\s*+([0-9]+)')
_SHORTENED: Final[Json] = {"instructions": None, "tools": [], "output": []}
"""Empty values instead of fields that may repeat a long request."""
_CONTENT: Final = ("content", "summary", "encrypted_content")
_CARRIERS: Final = {CALL: (ARGUMENTS, "arguments"), FREEFORM: (INPUT, "input")}
"""The type of the events of its arguments, without the last word, and their key."""


@dataclass(slots=True)
class _Call:
    """A call of which the client has the beginning. `named`: what its item says whenever it is told."""

    item: Item
    named: Json
    stem: str
    key: str
    sent: list[str] = field(default_factory=list)
    """The pieces of its arguments."""

    def with_text(self, body: Json, text: str) -> Json:
        """The item with the call as the client gets it."""
        other = "arguments" if self.key == "input" else "input"
        made = {**body, **self.named, self.key: text}
        return {key: value for key, value in made.items() if key != other and (key, value) != ("namespace", "")}


class Writer:
    def __init__(self, framing: Framing, items: Items, model: str) -> None:
        self._framing, self._items, self._model = framing, items, model
        self._last = -1
        """The number of the last event that was sent."""
        self._response: Json | None = None
        """The response as the server last announced it."""
        self._calls: dict[int, _Call] = {}
        """The calls that go out while they arrive."""
        self.left_alone = False
        """A call went as it came, because the options say so: no end is made up."""
        self.failed = False
        """The response failed: a call that is not complete gets no end."""
        self.cut = False
        """The response was cut off: a mended call that lacks its end is not said to be complete."""
        self.in_document = False
        """Only what the items become counts: a document has no events."""

    def write(self, part: Part) -> list[bytes]:
        """The events of one part."""
        source = part.source
        match part:
            case Text():
                return self._text(part)
            case Piece():
                return self._call(part, type=CALL)
            case Decided():
                return self._decided(part)
            case Stop() if isinstance(source, Incoming):
                came = source.message.get("response")
                response = came if isinstance(came, dict) else {**self.announced, "status": source.how_ended()[0]}
                listed = response.get("output")
                output = self._items.output(listed) if listed or not part.failed else listed
                if output != listed:
                    response = {**response, "output": output}
                return [self.send(source.kind, {} if response is came else {"response": response}, source)]
        if not (isinstance(part, Thought | Other) and isinstance(source, Incoming)):
            return []
        # An event is sent once, with its last part. What only a terminal event says is in that event.
        last = part is source.parts[-1] and source.kind not in TERMINAL and DROPPED not in part.body
        return self._event(source, part) if last else []

    # Events

    def send(self, kind: str, fields: Json, came: Incoming | None = None) -> bytes:
        """An event with these fields: the one that came, if it says so already; else a new one in its place."""
        wanted = None if came is None else came.number(NUMBER)
        self._last = number = wanted if wanted is not None and wanted > self._last else self._last + 1
        message: Json = {}
        if came is not None and came.kind == kind:
            message = came.message
            typed = came.line == kind == message.get("type") or not kind.startswith("response.")
            if number == wanted and typed and fields.items() <= message.items():
                return came.raw
        return self.written({**message, "type": kind, NUMBER: number, **fields}, kind)

    def in_order(self, came: Incoming) -> bytes:
        """An event that needs nothing but a number in order, if it has a number (`keepalive`, `error`)."""
        return came.raw if came.number(NUMBER) is None else self.send(came.kind, {}, came)

    def written(self, message: Json, kind: str) -> bytes:
        return b"" if self.in_document else self._framing.write(payload.write(message), kind)

    def passed(self, text: Text, texts: list[str], chunk: bytes) -> None:
        """Texts like this one passed unparsed, in these events."""
        text.body["text"].show("".join(texts))
        number = _NUMBER.search(chunk, max(chunk.rfind(b'"sequence_number"'), 0))
        self._last = max(self._last, int(number[1]) if number else -1)

    def keep_alive(self) -> bytes:
        """The announced response, shortened, with the number of the last event, so that the next keep theirs.

        Every client knows that event. Without a response it is `keepalive`, which OpenAI's own servers send.
        """
        kind, number = "response.in_progress", max(self._last, 0)
        if self._response is None:
            return self.written({"type": "keepalive", NUMBER: number}, "keepalive")
        short = {**self._response, **_SHORTENED, "status": "in_progress"}
        return self.written({"type": kind, NUMBER: number, "response": short}, kind)

    def _event(self, source: Incoming, part: Thought | Other) -> list[bytes]:
        """An event that is no delta of a text and about no call."""
        kind, item = source.kind, part.slot
        if kind in ECHOES and source.response:
            # llama.cpp announces a response without them, and the AI SDK rejects that.
            missing = {"created_at": 0, "model": self._model}
            response = source.response
            self._response = response if missing.keys() <= response.keys() else {**missing, **response}
            return [self.send(kind, {"response": self._response}, source)]
        if not kind.startswith("response."):
            return [self.in_order(source)]
        if item is None:
            return [self.send(kind, {}, source)]
        if kind in (ADDED, ENDED):
            return self._item_event(source, item)
        if kind.rpartition(".")[0] in TEXTS:
            return self._text_event(source, item, part.body.get("text"))
        known = item.index >= 0 and "item_id" in source.message
        return [self.send(kind, _place(item) if known else {}, source)]

    # Texts

    def _text(self, part: Text) -> list[bytes]:
        item: Item | None = part.slot
        if item is None:
            return self._note(part.text)
        text: MessageText = part.body["text"]
        text.sent.append(part.text)
        came = source_of(part)
        if not isinstance(came, Incoming) or came.kind != DELTA:
            return []  # The end of the item tells it, or the list.
        out, where = self._opened(item, text), _place(item, content_index=text.number)
        if isinstance(part.source, Incoming):
            return [*out, self.send(DELTA, where, part.source)]
        where["delta"] = part.text
        if "logprobs" in came.message:
            # The first piece of a text has them all.
            where["logprobs"], came.message["logprobs"] = came.message["logprobs"], []
        return [*out, self.send(DELTA, where)]

    def _text_event(self, source: Incoming, item: Item, text: MessageText | None) -> list[bytes]:
        """An event about a text that is no delta of a message."""
        stem, _, verb = source.kind.rpartition(".")
        out = self._opened(item, None if stem == PART and verb == "added" else text)
        key = "summary_index" if "summary" in stem else "content_index"
        fields = _place(item, **{key: source.number(key) or 0})
        if text is not None:
            text.opened = True
            if stem == PART:
                fields["part"] = (text if verb == "done" else MessageText(0)).in_part(source.message.get("part"))
            elif verb == "done":
                fields["text"] = text.in_part(source.message)["text"]
        return [*out, self.send(source.kind, fields, source)]

    def _opened(self, item: Item, text: MessageText | None) -> list[bytes]:
        """The beginnings of an item and of a text, if the client lacks them: Codex drops the deltas without them."""
        out: list[bytes] = []
        if item.index < 0:
            self._items.announce(item)
            kept = {key: value for key, value in item.body.items() if key not in _CONTENT}
            body = {**item.with_needed({"type": item.kind, **kept}), "status": "in_progress"}
            out.append(self.send(ADDED, {"output_index": item.index, "item": body}))
        if text is not None and not text.opened:
            where = _place(item, content_index=text.number)
            out.append(self.send(f"{PART}.added", {**where, "part": MessageText(0).in_part(None)}))
            text.opened = True
        return out

    def _note(self, text: str) -> list[bytes]:
        """A message of ours."""
        item = self._items.open(MESSAGE, "", None, {})
        out, where = self._opened(item, item.text(0)), _place(item, content_index=0)
        item.text(0).show(text)
        part = item.text(0).in_part(None)
        out.append(self.send(DELTA, {**where, "delta": text}))
        out.append(self.send(f"{OUTPUT_TEXT}.done", {**where, "text": text}))
        out.append(self.send(f"{PART}.done", {**where, "part": part}))
        item.done = item.as_sent({"type": MESSAGE, "role": "assistant", "status": "completed", "content": [part]})
        item.over = self._items.changed = True
        return [*out, self.send(ENDED, {"output_index": item.index, "item": item.done})]

    # Items and calls

    def _item_event(self, source: Incoming, item: Item) -> list[bytes]:
        """The beginning or the end of an item that is no call."""
        begun = source.kind == ENDED and item.kind in (MESSAGE, REASONING)
        out = self._opened(item, None) if begun else []
        if item.index < 0:
            self._items.announce(item)
        body = item.with_needed(source.item) if source.kind == ADDED else item.as_sent(source.item)
        item.done = body if source.kind == ENDED else None
        self._items.changed = self._items.changed or body is not source.item
        return [*out, self.send(source.kind, {"output_index": item.index, "item": body}, source)]

    def _decided(self, part: Decided) -> list[bytes]:
        """A whole call: one piece."""
        outcome, alone = part.outcome, part.outcome.left_alone
        freeform = RETYPED in outcome.steps or any(kind_of(one.body) == FREEFORM for one in part.fragments)
        kind = FREEFORM if freeform and outcome.status != "refused" else CALL
        ends = not alone or any(one.ends for one in part.fragments)
        piece = Piece(part.number, outcome.id, outcome.name, outcome.arguments, True, ends, alone)
        piece.fragments = part.fragments
        return self._call(piece, type=kind, namespace=outcome.namespace or "")

    def _call(self, piece: Piece, **named: str) -> list[bytes]:
        """A piece of a call, or all of it: its announcement, a delta, and how it ends."""
        if piece.begins:
            item_id = next((one.item for one in piece.fragments if one.item), "")
            place = piece.fragments[0].slot if piece.fragments else None
            item = self._items.open(CALL, item_id, place, {})
            self._items.announce(item)
            self._items.changed = True
            named = {"id": item.id, **named, "call_id": piece.id, "name": piece.name}
            self._calls[piece.number] = _Call(item, named, *_CARRIERS[named["type"]])
        call = self._calls[piece.number]
        came = {one.source.kind: one.source for one in reversed(piece.fragments) if isinstance(one.source, Incoming)}
        added, ended = came.get(ADDED), came.get(ENDED)
        listed = next((one.body for one in piece.fragments if one.again), None)
        body = ended.item if ended is not None else listed or (added.item if added is not None else {})
        item, out = call.item, list[bytes]()
        if piece.begins:
            begun = call.with_text(body if added is None else added.item, "")
            begun |= {"status": "in_progress"} if added is None else {}
            out.append(self.send(ADDED, {"output_index": item.index, "item": begun}, added))
        if piece.arguments or (piece.ends and not call.sent):
            call.sent.append(piece.arguments)
            delta = came.get(f"{call.stem}.delta", came.get(f"{ARGUMENTS}.delta"))
            out.append(self.send(f"{call.stem}.delta", {**_place(item), "delta": piece.arguments}, delta))
        if piece.left_alone:
            # It may have no end of its own: then the list at the end says what it was.
            self.left_alone, item.done = True, listed
        return out if not (piece.ends or piece.left_alone) else [*out, *self._end(call, piece, came, body)]

    def _end(self, call: _Call, piece: Piece, came: dict[str, Incoming], body: Json) -> list[bytes]:
        """The whole arguments and the whole item."""
        item, text, out = call.item, "".join(call.sent), list[bytes]()
        whole = piece.begins or piece.left_alone or payload.object_in(text) is not None
        ends = piece.ends and (whole or not self.failed)
        done = came.get(f"{call.stem}.done", came.get(f"{ARGUMENTS}.done"))
        if done is not None if piece.left_alone else ends:
            name = {"name": call.named["name"]} if done is not None and "name" in done.message else {}
            out.append(self.send(f"{call.stem}.done", {**_place(item), call.key: text, **name}, done))
        if ends:
            ended = came.get(ENDED)
            item.done = call.with_text(body, text)
            again = any(one.again for one in piece.fragments)
            said = ended is not None or (again and not (self.cut and item.done != body))
            open_still = body.get("status") == "in_progress" and not (self.in_document and item.done == body)
            if not said or not whole or open_still:
                item.done["status"] = "completed" if whole and not (self.cut and piece.fragments) else "incomplete"
            out.append(self.send(ENDED, {"output_index": item.index, "item": item.done}, ended))
        return out

    # The end

    @property
    def announced(self) -> Json:
        """The response as the server last announced it, or a new one if it never did."""
        if self._response is not None:
            return self._response
        identity = self._items.fresh("response")
        return {"id": identity, "object": "response", "created_at": 0, "model": self._model, "output": []}


def _place(item: Item, **numbers: int) -> Json:
    """The fields by which an event names an item, or a text in it."""
    return {"item_id": item.id, "output_index": item.index, **numbers}
