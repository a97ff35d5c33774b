"""Writes a call as events of the Responses protocol: announcement, one delta, whole arguments, item. All four agree.

Each is the original event with the necessary changes, or a new event if none arrived.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...outcome import Outcome
from ...turn.item_call import CallSnapshot, ItemCall
from ...turn.items import CallItem
from ...turn.live import LiveCall
from ...wire.escaper import PLACEHOLDER, fill_placeholder
from .events import ADDED, ENDED, EventWriter, IncomingEvent, Json
from .output import CALL, FREEFORM


@dataclass(slots=True, frozen=True)
class ItemKind:
    """How a call is written: as a function call, or as the call of a freeform tool."""

    type: str
    field: str
    events: str


FUNCTION = ItemKind(CALL, "arguments", "response.function_call_arguments")
CUSTOM = ItemKind(FREEFORM, "input", "response.custom_tool_call_input")


class CallWriter:
    __slots__ = ("_writer",)

    def __init__(self, writer: EventWriter) -> None:
        self._writer = writer

    def whole(self, item: CallItem, outcome: Outcome, *, cut: bool) -> list[bytes]:
        """A complete call. `cut`: the response was cut off."""
        call = item.call
        form = CUSTOM if call.raw_input else FUNCTION
        namespace = outcome.namespace or ""
        text = outcome.arguments
        shared: Json = {"id": item.id, "type": form.type, "call_id": outcome.id, "name": outcome.name}
        body = _finished(call, form, {**shared, form.field: text}, namespace, cut=cut)
        item.type = form.type
        item.done = body
        return [
            *self._beginning(item, form, _announced(call, form, body), text),
            self._arguments_done(item, form, outcome.name, text),
            self._ended(item, body),
        ]

    def announcement(self, item: CallItem) -> bytes:
        """The beginning of a call that is sent while it arrives: its name and its id are final."""
        incoming = _source(item.call.announcement)
        assert incoming is not None
        body = {**incoming.item, "id": item.id, "type": CALL, "call_id": item.call.sent_id, "arguments": ""}
        return self._writer.forward(incoming, output_index=item.index, item=body)

    def fragment(self, item: CallItem, incoming: IncomingEvent, text: str) -> bytes:
        """A fragment of a call that is sent while it arrives."""
        return self._writer.forward(incoming, **_position(item), delta=text)

    def rest(self, item: CallItem, live: LiveCall, outcome: Outcome) -> list[bytes]:
        """The end of a live call, with the missing arguments if the mended ones continue what was sent."""
        call, sent, name = item.call, live.sent, item.call.names[-1]
        text = outcome.arguments if outcome.arguments.startswith(sent) else sent
        shared = {"id": item.id, "type": CALL, "call_id": call.sent_id, "name": name, "arguments": text}
        body = _finished(call, FUNCTION, shared, "", cut=outcome.status == "refused")
        item.done = body
        out: list[bytes] = []
        if len(text) > len(sent) or not call.first:
            delta = {**_position(item), "delta": text[len(sent) :]}
            out.append(self._writer.write(f"{FUNCTION.events}.delta", delta))
        return [*out, self._arguments_done(item, FUNCTION, name, text), self._ended(item, body)]

    def _beginning(self, item: CallItem, form: ItemKind, body: Json, text: str) -> list[bytes]:
        """The announcement and the delta of a complete call."""
        writer, call = self._writer, item.call
        fields = {"output_index": item.index, "item": body}
        added, delta = _source(call.announcement), call.first
        first = writer.forward(added, **fields) if added else writer.write(ADDED, fields)
        pieces = _missing_pieces(call, delta.message if delta else {}, "delta", text)
        fields = {**_position(item), "delta": PLACEHOLDER if pieces else text}
        if delta and form is FUNCTION:
            return [first, fill_placeholder(writer.forward(delta, **fields), pieces)]
        wanted = delta.number("sequence_number") if delta else None
        return [first, fill_placeholder(writer.write(f"{form.events}.delta", fields, wanted), pieces)]

    def _arguments_done(self, item: CallItem, form: ItemKind, name: str, text: str) -> bytes:
        """The event with the whole arguments of a call."""
        done = _source(item.call.arguments_done)
        pieces = _missing_pieces(item.call, done.message if done else {}, form.field, text)
        fields = {**_position(item), form.field: PLACEHOLDER if pieces else text}
        if done and form is FUNCTION:
            if "name" in done.message:
                fields["name"] = name
            return fill_placeholder(self._writer.forward(done, **fields), pieces)
        wanted = done.number("sequence_number") if done else None
        return fill_placeholder(self._writer.write(f"{form.events}.done", fields, wanted), pieces)

    def _ended(self, item: CallItem, body: Json) -> bytes:
        """The event that ends the item of a call."""
        key = FUNCTION.field
        ended = _source(item.call.end)
        pieces = _missing_pieces(item.call, ended.item if ended else {}, key, str(body.get(key, "")))
        fields = {"output_index": item.index, "item": {**body, key: PLACEHOLDER} if pieces else body}
        if not ended:
            return fill_placeholder(self._writer.write(ENDED, fields), pieces)
        written = fill_placeholder(self._writer.forward(ended, **fields), pieces)
        if ended.message.get("item") == body:
            item.done_text = ended.item_text
        return written


def _finished(call: ItemCall, form: ItemKind, fields: Json, namespace: str, *, cut: bool) -> Json:
    """The item of `output_item.done` and of the terminal event, with its keys in their original order."""
    body = dict(call.snapshots[0].body) if call.snapshots else {}
    if form is CUSTOM:
        body.pop("arguments", None)
    if namespace:
        fields["namespace"] = namespace
    elif form is FUNCTION and not call.live:
        # A call that is redirected to the client's tool for invalid calls loses its namespace.
        body.pop("namespace", None)
    if not call.end or body.get("status") == "in_progress" or (cut and call.live):
        fields["status"] = "incomplete" if cut else "completed"
    return {**body, **fields}


def _announced(call: ItemCall, form: ItemKind, item: Json) -> Json:
    """The item of `output_item.added`, without its arguments."""
    incoming = call.announcement.body if call.announcement else None
    body = incoming if incoming else {**item, "status": "in_progress"}
    gone = {"arguments" if form is CUSTOM else "input", *({"namespace"} - item.keys())}
    body = {key: value for key, value in body.items() if key not in gone}
    shared: Json = {key: item[key] for key in ("id", "type", "call_id", "name", "namespace") if key in item}
    return {**body, **shared, form.field: ""}


def _missing_pieces(call: ItemCall, event: Json, key: str, text: str) -> list[str]:
    """The escaped pieces of long arguments to insert into the event; none if it already contains the arguments."""
    return call.pieces(text) if call.escaped.pieces and event.get(key) != text else []


def _position(item: CallItem) -> Json:
    return {"item_id": item.id, "output_index": item.index}


def _source(snapshot: CallSnapshot | None) -> IncomingEvent | None:
    return snapshot.source if snapshot is not None else None
