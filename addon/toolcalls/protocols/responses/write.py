"""Writes parts as events of a response. An event that needs no change is sent as it came.

The writer knows what the client has: which items began and which have ended, and the last number. What clients need
before an event is written before it: the beginning of an item or of a text, a number, an index. Numbers increase: an
event keeps its number if that is higher than the last one sent.
"""

from __future__ import annotations

import re
from typing import Any, Final

from ... import payload
from ...parts import Json, Other, Part, Piece, Stop, Text, Thought
from ...wire.framing import Framing
from .answer import RETYPED
from .items import CALL, FREEFORM, MESSAGE, NEEDED, Item, Items, ItemText, kind_of
from .read import ADDED, ARGUMENTS, DELTA, ENDED, INPUT, NUMBER, PART, TERMINAL, TEXTS, Incoming

_NUMBER: Final = re.compile(rb'"sequence_number"\s*+:\s*+([0-9]+)')
_SHORTENED: Final[Json] = {"instructions": None, "tools": [], "output": []}
"""Empty values instead of fields that may repeat a long request."""
_CARRIERS: Final = {CALL: (ARGUMENTS, "arguments"), FREEFORM: (INPUT, "input")}
"""The type of the events of its arguments, without the last word, and their key."""


class Writer:
    def __init__(self, framing: Framing, items: Items, model: str) -> None:
        self._framing, self._items, self._model = framing, items, model
        self._last = -1
        """The number of the last event that was sent."""
        self.response: Json = {}
        """The response as the server last announced it; empty if it never did."""
        self._calls: dict[int, Item] = {}
        """The calls of which the client has the beginning."""

    def write(self, part: Part) -> list[bytes]:
        """The events of one part."""
        source = part.source
        match part:
            case Text():
                return self._text(part)
            case Piece():
                return self._call(part)
            case Stop() if isinstance(source, Incoming):
                response = source.inner("response") or {**self.response, "status": source.how_ended()[0]}
                listed = response.get("output")
                if listed or not part.failed:
                    response = {**response, "output": self._items.output(listed)}
                self.response = response
                return [self.send(source.kind, {"response": response}, source)]
            case Thought() | Other() if isinstance(source, Incoming):
                # An event is sent once, with its last part. What only a terminal event says is in that event.
                last = part is source.parts[-1] and source.kind not in TERMINAL
                return self._event(source, part.slot, part.body.get("text")) if last else []
        return []

    # Events

    def send(self, kind: str, fields: Json, came: Incoming | None = None) -> bytes:
        """An event with these fields: the one that came, if it says so already; else a new one in its place.

        Events beside the answer (`keepalive`, `error`) need nothing but a number in order, if they have one.
        """
        wanted = None if came is None else came.number(NUMBER)
        beside = not kind.startswith("response.")
        if came is not None and beside and wanted is None:
            return came.raw
        self._last = number = max(self._last + 1, wanted or 0)
        message = came.message if came is not None and came.kind == kind else {}
        typed = beside or (came is not None and came.line == kind == message.get("type"))
        if came is not None and typed and number == wanted and fields.items() <= message.items():
            return came.raw
        return self.written({**message, "type": kind, NUMBER: number, **fields}, kind)

    def written(self, message: Json, kind: str) -> bytes:
        return self._framing.write(payload.write(message), kind)

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
        if not self.response:
            return self.written({"type": "keepalive", NUMBER: number}, "keepalive")
        short = {**self.response, **_SHORTENED, "status": "in_progress"}
        return self.written({"type": kind, NUMBER: number, "response": short}, kind)

    def _event(self, source: Incoming, item: Item | None, text: ItemText | None) -> list[bytes]:
        """An event that is no delta of a text and about no call."""
        kind, out, fields = source.kind, list[bytes](), dict[str, Any]()
        response, body = source.inner("response"), source.inner("item")
        if response:
            # llama.cpp announces a response without them, and the AI SDK rejects that.
            missing = {"created_at": 0, "model": self._model}
            self.response = response if missing.keys() <= response.keys() else {**missing, **response}
            fields = {"response": self.response}
        elif item is not None and kind in (ADDED, ENDED):
            if kind == ENDED and item.kind in NEEDED:
                out = self._opened(item, None)
            elif not item.id:
                self._items.announce(item)
            body = item.as_sent(body)
            item.done = body if kind == ENDED else None
            fields = {"output_index": item.index, "item": body}
        elif item is not None and kind.startswith(TEXTS):
            return self._text_event(source, item, text)
        elif item is not None and item.id and "item_id" in source.message:
            fields = _place(item)
        return [*out, self.send(kind, fields, source)]

    # Texts

    def _text(self, part: Text) -> list[bytes]:
        item: Item | None = part.slot
        if item is None:
            return self._note(part.text)
        text: ItemText = part.body["text"]
        text.sent.append(part.text)
        came = (part.piece_of or part).source
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

    def _text_event(self, source: Incoming, item: Item, text: ItemText | None) -> list[bytes]:
        """An event about a text that is no delta of a message."""
        stem, _, verb = source.kind.rpartition(".")
        out = self._opened(item, None if stem == PART and verb == "added" else text)
        key = "summary_index" if "summary" in stem else "content_index"
        fields = _place(item, **{key: source.number(key) or 0})
        if text is not None:
            text.opened = True
            if stem == PART:
                fields["part"] = text.in_part(source.message.get("part"))
            elif verb == "done":
                fields["text"] = text.in_part(source.message)["text"]
        return [*out, self.send(source.kind, fields, source)]

    def _opened(self, item: Item, text: ItemText | None) -> list[bytes]:
        """The beginnings of an item and of a text, if the client lacks them: Codex drops the deltas without them."""
        out: list[bytes] = []
        if not item.id:
            self._items.announce(item)
            own = {"id": item.id, "status": "in_progress"}
            body = {"type": item.kind, **item.body, **NEEDED[item.kind], **own}
            out.append(self.send(ADDED, {"output_index": item.index, "item": body}))
        if text is not None and not text.opened:
            where = _place(item, content_index=text.number)
            out.append(self.send(f"{PART}.added", {**where, "part": ItemText(0).in_part(None)}))
            text.opened = True
        return out

    def _note(self, note: str) -> list[bytes]:
        """A message of ours, told like one of a server that leaves out all but its ends."""
        item = self._items.open(MESSAGE, "", None, {})
        text = item.text(0)
        out, where = self._opened(item, text), _place(item, content_index=0)
        out.append(self.send(DELTA, {**where, "delta": note}))
        text.show(note)
        for kind in ("response.output_text.done", f"{PART}.done"):
            out += self._text_event(Incoming(b"", [], {}, "", kind), item, text)
        body = {"type": MESSAGE, "role": "assistant", "status": "completed", "content": []}
        return [*out, *self._event(Incoming(b"", [], {"type": ENDED, "item": body}, "", ENDED), item, text)]

    # Calls

    def _call(self, piece: Piece) -> list[bytes]:
        """A piece of a call, or all of it: its announcement, a delta, and how it ends."""
        came = {one.source.kind: one.source for one in reversed(piece.fragments) if isinstance(one.source, Incoming)}
        added, ended = came.get(ADDED), came.get(ENDED)
        listed = next((one.body for one in piece.fragments if one.again), None)
        begun = {} if added is None else added.inner("item")
        body = listed or begun if ended is None else ended.inner("item")
        out: list[bytes] = []
        if piece.begins:
            item_id = next((one.item for one in piece.fragments if one.item), "")
            place = piece.fragments[0].slot if piece.fragments else None
            item = self._calls[piece.number] = self._items.open(CALL, item_id, place, {})
            self._items.announce(item)
            item.said = {"id": item.id, **_kind_of(piece), "call_id": piece.id, "name": piece.name}
            made = _with_call(begun, item, "") if begun else {**_with_call(body, item, ""), "status": "in_progress"}
            out.append(self.send(ADDED, {"output_index": item.index, "item": made}, added))
        item = self._calls[piece.number]
        stem, key = _CARRIERS[item.said["type"]]
        where = {"item_id": item.id, "output_index": item.index}
        if piece.arguments or (piece.ends and not item.sent):
            item.sent.append(piece.arguments)
            fields = {**where, "delta": piece.arguments}
            out.append(self.send(f"{stem}.delta", fields, came.get(f"{stem}.delta")))
        arguments, done = "".join(item.sent), came.get(f"{stem}.done")
        alone = piece.outcome is not None and piece.outcome.left_alone
        told = done is not None if alone else piece.ends
        if told:
            name = {"name": piece.name} if done is not None and "name" in done.message else {}
            out.append(self.send(f"{stem}.done", {**where, key: arguments, **name}, done))
        if not piece.ends:
            # One that is left alone may have no end of its own: then the list at the end says what it was.
            item.done = listed if alone else None
            return out
        item.done = _with_call(body, item, arguments)
        whole = piece.begins or alone or payload.object_in(arguments) is not None
        if not whole or (ended is None and listed is None):
            item.done["status"] = "completed" if whole else "incomplete"
        return [*out, self.send(ENDED, {"output_index": item.index, "item": item.done}, ended)]


def _kind_of(piece: Piece) -> Json:
    """The kind of a call, and the namespace of its tool, if the call is complete."""
    outcome = piece.outcome
    if outcome is None:
        return {"type": CALL}
    freeform = RETYPED in outcome.steps or any(kind_of(one.body) == FREEFORM for one in piece.fragments)
    kind = FREEFORM if freeform and outcome.status != "refused" else CALL
    return {"type": kind, "namespace": outcome.namespace or ""}


def _with_call(body: Json, item: Item, arguments: str) -> Json:
    """The item of a call as the client gets it."""
    key = _CARRIERS[item.said["type"]][1]
    made = {**body, **item.said, key: arguments}
    other = "arguments" if key == "input" else "input"
    return {key: value for key, value in made.items() if key != other and (key, value) != ("namespace", "")}


def _place(item: Item, **numbers: int) -> Json:
    """The fields by which an event names an item, or a text in it."""
    return {"item_id": item.id, "output_index": item.index, **numbers}
