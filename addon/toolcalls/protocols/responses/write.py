"""Writes parts as events of a response. An event that needs no change is sent as it came.

The writer knows what the client has: which items and texts began and which have ended, and the last number. What is
missing for an event is written before it: the beginning of an item or of a part, a number, an index. Numbers
increase: an event keeps its number if that is higher than the last one sent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

from ... import payload
from ...mend.strict import read_inside
from ...parts import Decided, Fragment, Json, Other, Part, Piece, Stop, Text, Thought
from ...payload import string_of
from ...wire.framing import Framing
from .events import ADDED, ARGUMENTS, CREATED, DELTA, ECHOES, ENDED, FAILED, INPUT, NUMBER, TERMINAL, Incoming
from .freeform import RETYPED
from .items import CALL, FREEFORM, MESSAGE, REASONING, REFUSAL, SUMMARY, TEXT, Item, ItemPart, Items, with_needed

_NUMBER: Final = re.compile(rb'"sequence_number": ?([0-9]+)')
_NEEDED: Final[Json] = {"created_at": 0, "model": ""}
"""What clients need in the announcement of a response, beside its id."""
_CONTENT: Final = ("content", "summary", "encrypted_content", "input")
_ECHOED: Final[dict[str, list[object] | None]] = {"instructions": None, "tools": [], "output": []}
"""Fields that may repeat a long request, and the empty values that replace them."""
_PART: Final = "response.content_part"
_TEXTS: Final = {TEXT: "response.output_text", REFUSAL: "response.refusal"}
"""The events of a text, by the kind of its part."""


@dataclass(slots=True)
class _Call:
    """A call of which the client has the beginning. `named`: what its item says whenever it is told."""

    item: Item
    named: Json
    key: str
    """The key of its arguments."""
    sent: list[str] = field(default_factory=list)
    """The pieces of its arguments."""

    def with_text(self, body: Json, text: str) -> Json:
        """The item with the call as the client gets it."""
        other = "input" if self.key == "arguments" else "arguments"
        made = {**body, **self.named, self.key: text}
        return {key: value for key, value in made.items() if key != other and (key, value) != ("namespace", "")}


class Writer:
    def __init__(self, framing: Framing, items: Items, model: str) -> None:
        self._framing, self._items, self._model = framing, items, model
        self._last = -1
        """The number of the last event that was sent, but for those that passed unparsed."""
        self._passed = b""
        """The events that passed unparsed last."""
        self._response: Json | None = None
        """The response as the server last announced it."""
        self._created = False
        """The client knows the response."""
        self._split: Text | None = None
        """The text of which a piece was sent last."""
        self._calls: dict[int, _Call] = {}
        """The calls that go out while they arrive."""
        self.cut = self.failed = False
        """The response was cut off; it failed, so that a call that is not complete gets no end."""
        self.left_alone = False
        """A call went as it came, because the options say so: no end is made up."""
        self.in_document = False
        """Only what the items become counts: a document has no events."""

    def write(self, part: Part) -> list[bytes]:
        """The events of one part."""
        source = part.source
        match part:
            case Text():
                return self._text(part)
            case Piece():
                return self._call(part, CALL, None)
            case Decided():
                return self._decided(part)
            case Fragment():
                text = part.arguments or str(part.given or "")
                whole = Piece(-1, part.id, part.name, text, begins=True, ends=True, slot=part.slot, fragments=[part])
                return self._call(whole, CALL, part.namespace)
            case Stop() if isinstance(source, Incoming):
                return [self._terminal(source)]
        if not (isinstance(part, Thought | Other) and isinstance(source, Incoming)):
            return []
        if "item" in part.body:
            return self._end_item(part.slot, part.body["item"], source)
        # An event is sent once, with its last part; in a terminal event all items have parts of their own.
        return [] if source.kind in TERMINAL or part is not source.parts[-1] else self._event(source, part)

    # Events

    def forward(self, source: Incoming, fields: Json) -> bytes:
        """An incoming event with these fields set; its own bytes if it already has them."""
        kind, message = source.kind, source.message
        wanted = source.number(NUMBER)
        number = self._next(wanted)
        typed = source.line == kind == message.get("type") or not kind.startswith("response.")
        if number == wanted and typed and fields.items() <= message.items():
            return source.raw
        return self.written({**message, "type": kind, NUMBER: number, **fields}, kind)

    def new(self, kind: str, fields: Json, wanted: int | None = None) -> bytes:
        """An event of ours."""
        return self.written({"type": kind, NUMBER: self._next(wanted), **fields}, kind)

    def written(self, message: Json, kind: str) -> bytes:
        return b"" if self.in_document else self._framing.write(payload.write(message), kind)

    def in_order(self, source: Incoming) -> bytes:
        """An event that needs nothing but a number in order, if it has a number (`keepalive`, `error`)."""
        return source.raw if source.number(NUMBER) is None else self.forward(source, {})

    def _next(self, wanted: int | None) -> int:
        if self._passed:
            self._count_passed()
        self._last = wanted if wanted is not None and wanted > self._last else self._last + 1
        return self._last

    def _count_passed(self) -> None:
        numbers = _NUMBER.findall(self._passed)
        self._last = max(self._last, int(numbers[-1]) if numbers else -1)
        self._passed = b""

    def passed(self, text: Text, literals: list[bytes], chunk: bytes) -> None:
        """Texts like this one passed unparsed: the insides of their JSON strings."""
        texts = [read_inside(literal) for literal in literals]
        part: ItemPart = text.body["part"]
        part.came += texts
        part.sent += texts
        self._passed = chunk

    def keep_alive(self) -> bytes:
        """The announced response, shortened, with the number of the last event, so that the next keep theirs.

        Every client knows that event. Without a response it is `keepalive`, which OpenAI's own servers send.
        """
        self._count_passed()
        number = max(self._last, 0)
        if self._response is None:
            return self.written({"type": "keepalive", NUMBER: number}, "keepalive")
        short = {key: _ECHOED.get(key, value) for key, value in self._response.items()}
        kind = "response.in_progress"
        return self.written({"type": kind, NUMBER: number, "response": {**short, "status": "in_progress"}}, kind)

    def _event(self, source: Incoming, part: Thought | Other) -> list[bytes]:
        """An event that is no text, no call and no end of an item."""
        kind, item = source.kind, part.slot
        if kind in ECHOES:
            return self._echo(source)
        if not kind.startswith("response."):
            return [self.in_order(source)]
        if kind == ADDED and item is not None:
            self._items.tell(item)
            return [self.forward(source, {"output_index": item.index, "item": with_needed(source.item, item)})]
        if "part" in part.body:
            return self._text_event(source, item, part.body["part"])
        fields: Json = {}
        if item is not None and item.told and ("item_id" in source.message or "output_index" in source.message):
            fields = {"output_index": item.index, **({"item_id": item.id} if kind.startswith(INPUT) else {})}
        return [self.forward(source, fields)]

    def _echo(self, source: Incoming) -> list[bytes]:
        response = source.response
        out: list[bytes] = []
        if response and not _NEEDED.keys() <= response.keys():
            # llama.cpp announces a response without them, and the AI SDK rejects that.
            response = {**_NEEDED, "model": self._model, **response}
        if not self._created and source.kind != CREATED and response:
            out.append(self.new(CREATED, {"response": {**response, "status": "in_progress"}}))
        self._created, self._response = True, response or self._response
        return [*out, self.forward(source, {"response": response} if response else {})]

    # Texts

    def _text(self, part: Text) -> list[bytes]:
        item: Item | None = part.slot
        if item is None:
            return self._note(part.text)
        told = part.body.get("part") or item.part(TEXT, max((number for _, number in item.parts), default=0))
        out = self._opened(item, told) if not (item.told and told.opened) else []
        told.sent.append(part.text)
        position = _position(item, told)
        if isinstance(part.source, Incoming) and part.source.kind == DELTA:
            return [*out, self.forward(part.source, position)]
        return [*out, self.new(DELTA, {**position, "delta": part.text, **self._logprobs(part.piece_of)})]

    def _logprobs(self, whole: Text | None) -> Json:
        """The `logprobs` of a text that is sent in pieces: the first piece has them all."""
        source = whole.source if whole is not None else None
        if not isinstance(source, Incoming) or not source.message.get("logprobs"):
            return {}
        begun, self._split = self._split is whole, whole
        return {"logprobs": [] if begun else source.message["logprobs"]}

    def _text_event(self, source: Incoming, item: Item, part: ItemPart) -> list[bytes]:
        """An event about a text that is no delta of a message."""
        stem, _, verb = source.kind.rpartition(".")
        begins, ends = stem == _PART and verb == "added", verb == "done"
        out = self._opened(item, None if begins else part)
        part.opened = True
        fields, key = _position(item, part), _text_key(part.kind)
        told = {key: "".join(part.sent)} if ends and part.changed else {}
        if item.kind == MESSAGE and stem == _PART:
            part.closed = part.closed or ends
            fields["part"] = {**_whole_part(source.message.get("part"), part.kind), **told}
        elif item.kind == MESSAGE and ends:
            part.stated = told.get(key, source.text(key))
            fields |= told
        return [*out, self.forward(source, fields)]

    def _opened(self, item: Item, part: ItemPart | None) -> list[bytes]:
        """The beginnings of an item and of a part, if the client lacks them."""
        out = [] if item.told else self._announce(item, item.body)
        if part is not None and not part.opened and item.kind == MESSAGE:
            out.append(self.new(f"{_PART}.added", {**_position(item, part), "part": _whole_part(None, part.kind)}))
            part.opened = True
        return out

    def _note(self, text: str) -> list[bytes]:
        """A message of ours."""
        item = self._items.open(MESSAGE, "", None, {})
        out = self._text(Text(text, item, {"part": item.part(TEXT, 0)}))
        content = [{"type": TEXT, "text": text, "annotations": []}]
        body = {"type": MESSAGE, "role": "assistant", "status": "completed", "content": content}
        return [*out, *self._end_item(item, body, None)]

    # Items

    def _announce(self, item: Item, body: Json) -> list[bytes]:
        self._items.tell(item)
        kept = {key: value for key, value in body.items() if key not in _CONTENT}
        named = {"id": item.id, "input": ""} if item.kind == FREEFORM else {}
        empty = {**with_needed({"type": item.kind, **kept}, item), **named, "status": "in_progress"}
        return [self.new(ADDED, {"output_index": item.index, "item": empty})]

    def _end_item(self, item: Item, body: Json, source: Incoming | None) -> list[bytes]:
        """The end of an item. What its texts lack is written first."""
        own = source is not None and source.kind == ENDED
        text, out = item.kind in (MESSAGE, REASONING), list[bytes]()
        if not item.told and own and not text and item.kind != FREEFORM:
            self._items.tell(item)
        elif not item.told:
            out += self._announce(item, body)
            out += self._input(item, str(body.get("input") or "")) if item.kind == FREEFORM else []
        if item.kind == FREEFORM and body.get("id") != item.id:
            body = {**body, "id": item.id}
        body = with_needed(body, item)
        if item.kind == MESSAGE and isinstance(body.get("content"), list):
            body = self._finished(item, body, out)
        item.done = body
        fields = {"output_index": item.index, "item": body}
        return [*out, self.forward(source, fields) if source is not None and own else self.new(ENDED, fields)]

    def _input(self, item: Item, text: str) -> list[bytes]:
        where = {"item_id": item.id, "output_index": item.index}
        return [
            self.new(f"{INPUT}.delta", {**where, "delta": text}),
            self.new(f"{INPUT}.done", {**where, "input": text}),
        ]

    def _finished(self, item: Item, body: Json, out: list[bytes]) -> Json:
        """The whole message as the client gets it. The events of its texts that are missing go to `out`."""
        content = list(body["content"])
        for part in sorted(item.parts.values(), key=lambda part: part.number):
            while len(content) <= part.number:
                content.append(_whole_part(None, part.kind))
            entry, key, sent = content[part.number], _text_key(part.kind), "".join(part.sent)
            text = sent if part.changed else part.stated or sent
            if isinstance(entry, dict) and (part.changed or (text and not entry.get(key))):
                content[part.number] = {**_whole_part(entry, part.kind), key: text}
        for number, entry in enumerate(content):
            if isinstance(entry, dict) and entry.get("type") in (TEXT, REFUSAL):
                self._end_part(item, item.part(entry["type"], number), entry, out)
        return body if content == body["content"] else {**body, "content": content}

    def _end_part(self, item: Item, part: ItemPart, entry: Json, out: list[bytes]) -> None:
        """The events of a text that are missing before its item ends."""
        key, stem = _text_key(part.kind), _TEXTS[part.kind]
        text = string_of(entry.get(key))
        if not (part.opened or text):
            return
        if not part.opened:
            out += self._opened(item, part)
            out.append(self.new(f"{stem}.delta", {**_position(item, part), "delta": text}))
        if part.stated is None and not part.closed:
            out.append(self.new(f"{stem}.done", {**_position(item, part), key: text}))
        if not part.closed:
            out.append(self.new(f"{_PART}.done", {**_position(item, part), "part": entry}))
        part.stated, part.closed = text, True

    # Calls

    def _decided(self, part: Decided) -> list[bytes]:
        outcome, fragments, alone = part.outcome, part.fragments, part.outcome.left_alone
        ends = not alone or any(one.ends for one in fragments)
        slot, named = fragments[0].slot if fragments else None, (outcome.id, outcome.name, outcome.arguments)
        piece = Piece(-1, *named, begins=True, ends=ends, left_alone=alone, slot=slot, fragments=fragments)
        return self._call(piece, FREEFORM if RETYPED in outcome.steps else CALL, outcome.namespace or "")

    def _call(self, piece: Piece, kind: str, namespace: str | None) -> list[bytes]:
        """A piece of a call, or all of it: its announcement, a delta, the whole arguments, the whole item. All agree.

        `namespace`: None if it stays as it came.
        """
        came = {one.source.kind: one.source for one in reversed(piece.fragments) if isinstance(one.source, Incoming)}
        out = [self._begun(piece, kind, namespace, came)] if piece.begins else []
        call, stem = self._calls[piece.number], ARGUMENTS if kind == CALL else INPUT
        where = {"item_id": call.item.id, "output_index": call.item.index}
        if piece.arguments or (piece.ends and not call.sent):
            call.sent.append(piece.arguments)
            fields = {**where, "delta": piece.arguments}
            out.append(self._carrier(came.get(f"{ARGUMENTS}.delta"), f"{stem}.delta", fields))
        if not (piece.ends or piece.left_alone):
            return out
        self.left_alone = self.left_alone or piece.left_alone
        text = "".join(call.sent)
        whole = piece.left_alone or piece.begins or payload.object_in(text) is not None
        ends = piece.ends and (whole or not self.failed)
        done, ended = came.get(f"{ARGUMENTS}.done"), came.get(ENDED)
        if done is not None if piece.left_alone else ends:
            fields = {**where, call.key: text}
            if done is not None and "name" in done.message:
                fields["name"] = piece.name
            out.append(self._carrier(done, f"{stem}.done", fields))
        if not ends:
            return out
        body = call.item.done = call.with_text(call.item.body if ended is None else ended.item, text)
        if ended is None or not whole or body.get("status") == "in_progress":
            body["status"] = "completed" if whole and not (self.cut and piece.fragments) else "incomplete"
        return [*out, self._carrier(ended, ENDED, {"output_index": call.item.index, "item": body})]

    def _begun(self, piece: Piece, kind: str, namespace: str | None, came: dict[str, Incoming]) -> bytes:
        """The announcement of a call."""
        added, ended, fragments = came.get(ADDED), came.get(ENDED), piece.fragments
        listed = next((one.body for one in fragments if one.again), None)
        told = [event.item for event in (added, ended) if event is not None]
        told = told if ended is not None or listed is None else [listed]
        item_id = next((one.item for one in fragments if one.item), "")
        item = self._items.open(kind, item_id, payload.index_of(piece.slot), told[-1] if told else {})
        self._items.tell(item)
        item.kind = CALL  # So the upstream lists it.
        named = {"id": item.id, "type": kind, "call_id": piece.id, "name": piece.name}
        named |= {} if namespace is None else {"namespace": namespace}
        call = self._calls[piece.number] = _Call(item, named, "arguments" if kind == CALL else "input")
        begun = call.with_text(item.body if added is None else added.item, "")
        begun |= {"status": "in_progress"} if added is None else {}
        return self._carrier(added, ADDED, {"output_index": item.index, "item": begun})

    def _carrier(self, source: Incoming | None, kind: str, fields: Json) -> bytes:
        """The event that came, or a new one in its place."""
        if source is None or source.kind != kind:
            return self.new(kind, fields, None if source is None else source.number(NUMBER))
        return self.forward(source, fields)

    # The end

    def _terminal(self, source: Incoming) -> bytes:
        came = source.message.get("response")
        response = came if isinstance(came, dict) else {**self.announced, "status": source.status}
        output = self._items.output(response.get("output"), failed=source.status in FAILED)
        if output != response.get("output"):
            response = {**response, "output": output}
        return self.forward(source, {} if response is came else {"response": response})

    @property
    def announced(self) -> Json:
        """The response as the server last announced it, or a new one if it never did."""
        if self._response is not None:
            return self._response
        identity = self._items.fresh("response")
        return {"id": identity, "object": "response", "created_at": 0, "model": self._model, "output": []}


def _position(item: Item, part: ItemPart) -> Json:
    """The fields by which an event names a part."""
    key = "summary_index" if part.kind == SUMMARY else "content_index"
    return {"item_id": item.id, "output_index": item.index, key: part.number}


def _text_key(kind: str) -> str:
    """The key of the text in parts of this kind."""
    return "refusal" if kind == REFUSAL else "text"


def _whole_part(entry: Any, kind: str) -> Json:
    """The part with a text field, which is empty if it was missing."""
    if not isinstance(entry, dict):
        return {"type": kind, _text_key(kind): "", **({"annotations": []} if kind == TEXT else {})}
    return entry if isinstance(entry.get(_text_key(kind)), str) else {**entry, _text_key(kind): ""}
