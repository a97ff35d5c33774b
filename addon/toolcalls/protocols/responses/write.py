"""Writes parts as events of a response. An event that needs no change is sent as it came.

The writer knows what the client has: which items and texts began and which have ended, and the last number. What is
missing for an event is written before it: the beginning of an item or of a part, a number, an index. Numbers
increase: an event keeps its number if that is higher than the last one sent.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from ... import payload
from ...outcome import Outcome
from ...parts import Decided, Fragment, Json, Other, Part, Stop, Text, Thought
from ...wire.framing import Framing
from .freeform import RETYPED
from .items import (
    CALL,
    FREEFORM,
    MESSAGE,
    MOST_PARTS,
    PART_EVENTS,
    REASONING,
    SUMMARY,
    TEXT,
    TEXT_EVENTS,
    Item,
    ItemPart,
    Items,
    position_of,
    text_key,
    whole_part,
    with_needed,
)
from .output import output_of
from .read import (
    ADDED,
    ARGUMENTS,
    CREATED,
    DELTA,
    ECHOES,
    ENDED,
    FAILED,
    INPUT,
    NUMBER,
    TERMINAL,
    Incoming,
    status_of,
)

_NUMBER: Final = re.compile(rb'"sequence_number": ?([0-9]+)')
NEEDED: Final[Json] = {"created_at": 0, "model": ""}
"""What clients need in the announcement of a response, beside its id."""
_CONTENT: Final = ("content", "summary", "encrypted_content", "input")
_ECHOED: Final[dict[str, list[object] | None]] = {"instructions": None, "tools": [], "output": []}
"""Fields that may repeat a long request, and the empty values that replace them."""


@dataclass(slots=True, frozen=True)
class CallForm:
    """How a call is written: as a function call, or as the call of a freeform tool."""

    type: str
    field: str
    events: str


_FUNCTION: Final = CallForm(CALL, "arguments", ARGUMENTS)
_CUSTOM: Final = CallForm(FREEFORM, "input", INPUT)


class Writer:
    def __init__(self, framing: Framing, items: Items, model: str) -> None:
        self._framing, self._items, self._model = framing, items, model
        self._last = -1
        """The number of the last event that was sent, but for those that passed unparsed."""
        self._passed = b""
        """The events that passed unparsed last."""
        self.response: Json | None = None
        """The response as the server last announced it."""
        self.created = False
        """The client knows the response."""
        self._split: Text | None = None
        """The text of which a piece was sent last."""
        self.cut = False
        """The response was cut off."""
        self.left_alone = False
        """A call went as it came, because the options say so: no end is made up."""

    def write(self, part: Part) -> list[bytes]:
        """The events of one part."""
        match part:
            case Text():
                return self._text(part)
            case Decided():
                return self._call(part.outcome, part.fragments)
            case Fragment():
                text = part.arguments or str(part.given or "")
                made = Outcome("valid", part.name, text, part.name, text, namespace=part.namespace, id=part.id)
                return self._call(made, [part])
            case Stop():
                return self._terminal(part) if isinstance(part.source, Incoming) else []
        source = part.source
        if not (isinstance(part, Thought | Other) and isinstance(source, Incoming)):
            return []
        if "item" in part.body:
            return self._end_item(part.slot, part.body["item"], source)
        # An event is sent once, with its last part; in a terminal event all items have parts of their own.
        if source.kind in TERMINAL or part is not source.parts[-1]:
            return []
        return self._event(source, part)

    # Events

    def forward(self, source: Incoming, fields: Json) -> bytes:
        """An incoming event with these fields set; its own bytes if it already has them."""
        kind, message = source.kind, source.message
        wanted = source.number(NUMBER)
        number = self._next(wanted)
        if number == wanted and source.line == kind == message.get("type") and fields.items() <= message.items():
            return source.raw
        return self.written({**message, "type": kind, NUMBER: number, **fields}, kind)

    def new(self, kind: str, fields: Json, wanted: int | None = None) -> bytes:
        """An event of ours."""
        return self.written({"type": kind, NUMBER: self._next(wanted), **fields}, kind)

    def written(self, message: Json, kind: str) -> bytes:
        return self._framing.write(payload.write(message), kind)

    def in_order(self, source: Incoming) -> bytes:
        """An event that needs nothing but a number in order, if it has a number (`keepalive`, `error`)."""
        number = source.number(NUMBER)
        if number is None:
            return source.raw
        if number > self.last:
            self._last = number
            return source.raw
        return self.forward(source, {})

    def _next(self, wanted: int | None) -> int:
        last = self.last
        self._last = wanted if wanted is not None and wanted > last else last + 1
        return self._last

    @property
    def last(self) -> int:
        """The number of the last event that was sent."""
        if self._passed:
            numbers = _NUMBER.findall(self._passed)
            self._last = max(self._last, int(numbers[-1]) if numbers else -1)
            self._passed = b""
        return self._last

    def passed(self, text: Text, literals: list[bytes], chunk: bytes) -> None:
        """Texts like this one passed unparsed: the insides of their JSON strings."""
        texts = [literal.decode("utf-8", "replace") for literal in literals]
        part: ItemPart = text.body["part"]
        part.came += texts
        part.sent += texts
        self._passed = chunk

    def keep_alive(self) -> bytes:
        """The announced response, shortened, with the number of the last event, so that the next keep theirs.

        Every client knows that event. Without a response it is `keepalive`, which OpenAI's own servers send.
        """
        number = max(self.last, 0)
        if self.response is None:
            return self.written({"type": "keepalive", NUMBER: number}, "keepalive")
        short = {key: _ECHOED.get(key, value) for key, value in self.response.items()}
        kind = "response.in_progress"
        return self.written({"type": kind, NUMBER: number, "response": {**short, "status": "in_progress"}}, kind)

    def _event(self, source: Incoming, part: Thought | Other) -> list[bytes]:
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
        response = source.message.get("response")
        out: list[bytes] = []
        fields: Json = {}
        if isinstance(response, dict) and not NEEDED.keys() <= response.keys():
            # llama.cpp announces a response without them, and the AI SDK rejects that.
            response = fields["response"] = {**NEEDED, "model": self._model, **response}
        if not self.created and source.kind != CREATED and isinstance(response, dict):
            out.append(self.new(CREATED, {"response": {**response, "status": "in_progress"}}))
        self.created = True
        self.response = response if isinstance(response, dict) else self.response
        return [*out, self.forward(source, fields)]

    # Texts

    def _text(self, part: Text) -> list[bytes]:
        if part.slot is None:
            return self._note(part.text)
        item: Item = part.slot
        told = part.body.get("part") or item.part(TEXT, max((number for _, number in item.parts), default=0))
        out = self._opened(item, told) if not (item.told and told.opened) else []
        told.sent.append(part.text)
        position = position_of(item, told)
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
        whole = stem in PART_EVENTS.values()
        opens = whole and verb == "added"
        out = self._opened(item, None if opens else part)
        part.opened = True
        fields = position_of(item, part)
        if whole:
            fields["part"] = whole_part(source.message.get("part"), part.kind)
            part.closed = part.closed or verb == "done"
            if verb == "done" and part.changed:
                fields["part"] = {**fields["part"], "text": "".join(part.sent)}
        elif verb == "done":
            text = source.message.get(text_key(part.kind))
            part.stated = text if isinstance(text, str) else None
            if part.changed:
                part.stated = fields["text"] = "".join(part.sent)
        return [*out, self.forward(source, fields)]

    def _opened(self, item: Item, part: ItemPart | None) -> list[bytes]:
        """The beginnings of an item and of a part, if the client lacks them."""
        out = [] if item.told else self._announce(item, item.body)
        if part is not None and not part.opened and part.kind in PART_EVENTS:
            fields = {**position_of(item, part), "part": whole_part(None, part.kind)}
            out.append(self.new(f"{PART_EVENTS[part.kind]}.added", fields))
            part.opened = True
        return out

    def _announce(self, item: Item, body: Json) -> list[bytes]:
        self._items.tell(item)
        kept = {key: value for key, value in body.items() if key not in _CONTENT}
        named = {"id": item.id, "input": ""} if item.kind == FREEFORM else {}
        empty = {**with_needed({"type": item.kind, **kept}, item), **named, "status": "in_progress"}
        return [self.new(ADDED, {"output_index": item.index, "item": empty})]

    def _note(self, text: str) -> list[bytes]:
        """A message of ours."""
        item = self._items.open(MESSAGE, "", None, {})
        out = self._text(Text(text, item, {"part": item.part(TEXT, 0)}))
        content = [{"type": TEXT, "text": text, "annotations": []}]
        body = {"type": MESSAGE, "role": "assistant", "status": "completed", "content": content}
        return [*out, *self._end_item(item, body, None)]

    # Items

    def _end_item(self, item: Item, body: Json, source: Incoming | None) -> list[bytes]:
        """The end of an item. What its texts lack is written first."""
        own = source is not None and source.kind == ENDED
        text = item.kind in (MESSAGE, REASONING)
        out: list[bytes] = []
        if not item.told and (text or not own or item.kind == FREEFORM):
            out += self._announce(item, body)
            out += self._input(item, body) if item.kind == FREEFORM else []
        elif not item.told:
            self._items.tell(item)
        if item.kind == FREEFORM and body.get("id") != item.id:
            body = {**body, "id": item.id}
        if text:
            body, more = self._finished(item, with_needed(body, item))
            out += more
        item.done = body
        fields = {"output_index": item.index, "item": body}
        return [*out, self.forward(source, fields) if source is not None and own else self.new(ENDED, fields)]

    def _input(self, item: Item, body: Json) -> list[bytes]:
        where = {"item_id": item.id, "output_index": item.index}
        text = body.get("input")
        return [
            self.new(f"{INPUT}.delta", {**where, "delta": text}),
            self.new(f"{INPUT}.done", {**where, "input": text}),
        ]

    def _finished(self, item: Item, body: Json) -> tuple[Json, list[bytes]]:
        """The whole item as the client gets it, and the events of its texts that are missing."""
        key = "content" if item.kind == MESSAGE else "summary"
        if not isinstance(body.get(key), list):
            return body, []
        content, out = list(body[key]), list[bytes]()
        for part in sorted(item.parts.values(), key=lambda part: part.number):
            if part.kind not in PART_EVENTS or (part.kind == SUMMARY) != (key == "summary"):
                continue
            if not 0 <= part.number < MOST_PARTS:
                continue
            while len(content) <= part.number:
                content.append(whole_part(None, part.kind))
            entry, name = content[part.number], text_key(part.kind)
            if isinstance(entry, dict) and part.kind == TEXT and part.changed:
                content[part.number] = {**entry, name: "".join(part.sent)}
            elif isinstance(entry, dict) and not entry.get(name) and (part.stated or part.sent):
                text = part.stated or "".join(part.sent)
                content[part.number] = {**whole_part(entry, part.kind), name: text}
        for number, entry in enumerate(content):
            out += self._end_part(item, key, number, entry)
        return (body if content == body[key] else {**body, key: content}), out

    def _end_part(self, item: Item, key: str, number: int, entry: Any) -> list[bytes]:
        """The events of a text that are missing before its item ends."""
        kind = entry.get("type") if isinstance(entry, dict) else None
        if not isinstance(kind, str) or kind not in PART_EVENTS or (kind == SUMMARY) != (key == "summary"):
            return []
        part = item.part(kind, number)
        text, position, out = entry.get(text_key(kind)), position_of(item, part), list[bytes]()
        if not part.opened:
            if not isinstance(text, str) or not text:
                return []
            out += self._opened(item, part)
            out.append(self.new(f"{TEXT_EVENTS[kind]}.delta", {**position, "delta": text}))
        if part.stated is None and not part.closed:
            part.stated = text or ""
            out.append(self.new(f"{TEXT_EVENTS[kind]}.done", {**position, text_key(kind): part.stated}))
        if not part.closed:
            part.closed = True
            out.append(self.new(f"{PART_EVENTS[kind]}.done", {**position, "part": entry}))
        return out

    # Calls

    def _call(self, outcome: Outcome, fragments: Sequence[Fragment]) -> list[bytes]:
        """A call: its announcement, one delta, the whole arguments, the whole item. All four agree."""
        form = _CUSTOM if RETYPED in outcome.steps else _FUNCTION
        added = _first(fragments, lambda one: one.begins)
        delta = _first(fragments, lambda one: _kind(one) == f"{ARGUMENTS}.delta")
        done = _first(fragments, lambda one: _kind(one) == f"{ARGUMENTS}.done")
        end = _first(fragments, lambda one: one.ends)
        bodies = [one.body for one in (end, _first(fragments, lambda one: one.again), added) if one is not None]
        item = self._items.open(
            form.type,
            next((one.item for one in fragments if one.item), ""),
            payload.index_of(fragments[0].slot) if fragments else None,
            next(iter(bodies), {}),
        )
        item.call = True
        self._items.tell(item)
        shared: Json = {"id": item.id, "type": form.type, "call_id": outcome.id, "name": outcome.name}
        body = {**item.body, **shared, form.field: outcome.arguments}
        for key in ("namespace", *(["arguments"] if form is _CUSTOM else [])):
            body.pop(key, None)
        if outcome.namespace:
            body["namespace"] = outcome.namespace
        if end is None or body.get("status") == "in_progress":
            body["status"] = "incomplete" if self.cut and fragments else "completed"
        out = [self._announced(item, form, body, added)]
        where = {"item_id": item.id, "output_index": item.index}
        out.append(self._carrier(delta, form, "delta", {**where, "delta": outcome.arguments}))
        if done is not None or not outcome.left_alone:
            named = done is not None and isinstance(done.source, Incoming) and "name" in done.source.message
            name = {"name": outcome.name} if named else {}
            out.append(self._carrier(done, form, "done", {**where, form.field: outcome.arguments, **name}))
        self.left_alone = self.left_alone or outcome.left_alone
        if end is None and outcome.left_alone:
            return out  # It ends as it came.
        item.done = body
        fields = {"output_index": item.index, "item": body}
        source = end.source if end is not None else None
        return [*out, self.forward(source, fields) if isinstance(source, Incoming) else self.new(ENDED, fields)]

    def _announced(self, item: Item, form: CallForm, body: Json, added: Fragment | None) -> bytes:
        begun: Json = {**body, "status": "in_progress"} if added is None else {**added.body}
        for key in ("arguments" if form is _CUSTOM else "input", "namespace"):
            begun.pop(key, None)
        shared: Json = {key: body[key] for key in ("id", "type", "call_id", "name", "namespace") if key in body}
        fields: Json = {"output_index": item.index, "item": {**begun, **shared, form.field: ""}}
        source = added.source if added is not None else None
        return self.forward(source, fields) if isinstance(source, Incoming) else self.new(ADDED, fields)

    def _carrier(self, one: Fragment | None, form: CallForm, verb: str, fields: Json) -> bytes:
        """The event with the arguments: the one that came, or a new one in its place."""
        source = one.source if one is not None else None
        if isinstance(source, Incoming) and form is _FUNCTION:
            return self.forward(source, fields)
        wanted = source.number(NUMBER) if isinstance(source, Incoming) else None
        return self.new(f"{form.events}.{verb}", fields, wanted)

    # The end

    def _terminal(self, part: Stop) -> list[bytes]:
        source = part.source
        assert isinstance(source, Incoming)
        response = source.message.get("response")
        fields: Json = {}
        if not isinstance(response, dict):
            response = fields["response"] = {**self.announced(), "status": status_of(source.kind, None)}
        output = output_of(self._items, response.get("output"), failed=status_of(source.kind, response) in FAILED)
        if output != response.get("output"):
            fields["response"] = {**response, "output": output}
        return [self.forward(source, fields)]

    def announced(self) -> Json:
        """The response as the server last announced it, or a new one if it never did."""
        if self.response is not None:
            return self.response
        identity = self._items.fresh("response")
        return {"id": identity, "object": "response", "created_at": 0, "model": self._model, "output": []}


def _first(fragments: Sequence[Fragment], fits: Any) -> Fragment | None:
    return next((one for one in fragments if fits(one)), None)


def _kind(one: Fragment) -> str:
    return one.source.kind if isinstance(one.source, Incoming) else ""
