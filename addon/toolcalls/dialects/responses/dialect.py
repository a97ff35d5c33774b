"""OpenAI Responses, streamed and not.

Strategy: text, reasoning, server-side tools and freeform calls pass as they arrive. The events of a function call are
held, and sent as one announcement, one delta, one end of arguments and one end of item that all agree
(`turn/item_answer.py` decides when). The terminal event lists what was really sent.
Two kinds of events are not parsed: those that only echo the request, and a terminal event whose output is, byte for
byte, what was sent.
"""

from __future__ import annotations

import re

from ...mend.arguments import Finish
from ...mend.mender import Mender
from ...policy import Policy
from ...request.request import Request
from ...turn import payload
from ...turn.item_answer import ItemAnswer
from ...turn.items import Items
from ...unread.fast_path import Lesson
from ...wire import sse
from ...wire.events import PASS, SPLIT_LINES, Event, Replace, Verdict
from ...wire.framing import SSE, Framing
from ..data_kinds import DataKind, classify_data
from ..interface import Dialect
from ..reply_builder import ReplyBuilder
from ..upstream_errors import error_in, error_in_text
from .call_items import CallItems
from .events import ADDED, ITEM_EVENTS, EventWriter, IncomingEvent, Json, number_in, read_incoming
from .finalizer import Finalizer
from .freeform import INPUT, Freeform
from .held_texts import HeldTexts
from .keep_alive import keep_alive
from .output import CALL, FREEFORM, fresh_ids, with_needed
from .part_families import FAMILIES
from .repeated_string import ARGUMENTS_DONE, RepeatedString
from .terminal import TERMINAL, document_in, finish_in, kind_of_document
from .text_items import TextItems

_CREATED = "response.created"
_ECHOES = frozenset({_CREATED, "response.in_progress", "response.queued"})
_ABOUT_A_CALL = re.compile(
    r'"(?:function_call|custom_tool_call|response\.(?:function_call_arguments|custom_tool_call_input)\.\w+)"'
)
"""In an event about a call: the type of the event or of an item in it. In a text its quotes would be escaped."""
_ARGUMENTS = "response.function_call_arguments"
_FRAGMENT = f"{_ARGUMENTS}.delta"


class Responses(Dialect):
    """The dialect of `/responses`."""

    __slots__ = (
        "_answer",
        "_begun",
        "_calls",
        "_finalizer",
        "_freeform",
        "_held",
        "_items",
        "_over",
        "_read_by_model",
        "_repeated",
        "_started",
        "_texts",
        "_writer",
        "framing",
    )

    def __init__(self, request: Request, policy: Policy, mender: Mender, framing: Framing = SSE) -> None:
        self.framing = framing
        self._items = Items(fresh_ids(mender.ids.unique))
        self._writer = EventWriter(framing)
        answer = self._answer = ItemAnswer(request, policy, mender, self._items, CALL)
        self._read_by_model = request.read_by_model
        self._held = held = HeldTexts(answer, self._writer)
        self._texts = TextItems(answer, self._writer, policy.max_held_bytes, held)
        self._calls = CallItems(answer, self._writer, held, live=not policy.aggregate)
        self._finalizer = Finalizer(answer, self._calls, self._texts, self._writer, held, request.model)
        self._freeform = Freeform(self._items, self._writer, mender.ids)
        self._repeated = RepeatedString()
        self._started = False
        self._begun = 0
        """How many times the answer began."""
        self._over = False

    @property
    def lesson(self) -> Lesson | None:
        return self._texts.lesson or self._calls.lesson

    def read(self, event: Event) -> Verdict:
        self._texts.lesson = self._calls.lesson = None
        data = event.data or ""
        if self._over:
            # A call after the terminal event would run unmended, or again.
            return Replace() if _ABOUT_A_CALL.search(data) else PASS
        if self.framing is SSE and not sse.is_ended(event.raw):
            return self._read_tail(event, data)
        if event.type in _ECHOES and self._pass_unread(event, data):
            self._note_response(event.type, data)
            return PASS
        if event.type in TERMINAL and self._finalizer.agrees(data) and self._pass_unread(event, data):
            self._over = True
            return PASS
        if event.type == ARGUMENTS_DONE and (expected := self._calls.expected()) is not None:
            self._repeated.expect(*expected)
        incoming = read_incoming(event.raw, event.type, data, self._repeated)
        if incoming is not None:
            return self._reply(incoming)
        return self._read_odd(event) if self.framing is SSE else self._keep_unread(event)

    def break_off(self, half: Event) -> Verdict:
        # It is dropped if our own end follows.
        return Replace() if self._started and not self._over else PASS

    def close(self) -> Replace | None:
        if self._over or not self._started:
            return None
        self._over = True
        return self._stop(Finish.CUT)

    def keep_alive(self) -> bytes:
        return keep_alive(self._finalizer.created, self._writer)

    def body(self, body: bytes) -> bytes:
        """Mend a document as if it were the terminal event of a stream without other events."""
        response = document_in(body)
        if response is None:
            return body
        self._answer.streamed = False
        self._note_results(response)
        output = self._finalizer.finish(kind_of_document(response), response, ReplyBuilder())
        if output == response["output"]:
            return body
        return payload.write({**response, "output": output}).encode("utf-8", "backslashreplace")

    def _pass_unread(self, event: Event, data: str) -> bool:
        """Whether an event whose content does not matter can pass without being parsed.

        Its data must contain its type, its number must be in order, and `response.created` must come first.
        """
        if f'"type":"{event.type}"' not in data and f'"type": "{event.type}"' not in data:
            return False
        if not self._started and event.type != _CREATED:
            return False
        return self._writer.passes(number_in(event.raw))

    def _read_tail(self, event: Event, data: str) -> Verdict:
        """Handle the last event of a stream that ends without a blank line: complete, or cut off in the middle."""
        raw = sse.write(data.replace("\n", " "), event.type)
        incoming = read_incoming(raw, event.type, data, self._repeated)
        if incoming is not None:
            answer = self._reply(incoming)
            return Replace((raw,)) if answer is PASS and self._started else answer
        if data.strip() == "[DONE]" or error_in_text(data, event.type) is not None:
            return self._read_odd(Event(raw, data, event.type))
        return self.break_off(event)

    def _read_odd(self, event: Event) -> Verdict:
        """Handle data that is not a JSON object."""
        odd = classify_data(event, payload.read_strict(event.data or ""))
        match odd.kind:
            case DataKind.ERROR:
                reply = ReplyBuilder()
                self._fail(event.raw, odd.value, reply)
                return reply.replacement()
            case DataKind.KEEP_ALIVE:
                return Replace((sse.comment((event.data or "").strip()),))
            case DataKind.DONE if self._started:
                self._over = True
                return self._stop(Finish.UNKNOWN, event.raw)
            case DataKind.SEVERAL_LINES:
                return SPLIT_LINES
            case DataKind.BROKEN:
                written = payload.write(odd.value)
                rewritten = sse.write(written, event.type)
                answer = self._reply(IncomingEvent(rewritten, event.type, written, odd.value))
                return Replace((rewritten,)) if answer is PASS else answer
        return self._keep_unread(event)

    def _keep_unread(self, event: Event) -> Verdict:
        """Hold an unparsable delta of a held call, because nothing of that call may be sent; pass anything else."""
        return (self._calls.hold_of_last if event.type == _FRAGMENT else None) or PASS

    def _reply(self, incoming: IncomingEvent) -> Verdict:
        """Handle a parsed event."""
        reply = ReplyBuilder(incoming.raw)
        if self._answer.examines_text and self._shows_unseen(incoming):
            self._end_texts(None, reply)
            self._answer.texts.stop()
        elif self._held.undecided and self._follows(incoming):
            self._end_texts(None, reply)
        self._dispatch(incoming, reply)
        return reply.verdict()

    def _dispatch(self, incoming: IncomingEvent, reply: ReplyBuilder) -> None:
        kind = incoming.type
        stem, _, verb = kind.rpartition(".")
        if kind in ITEM_EVENTS:
            self._started = True
            self._read_item(incoming, reply)
        elif stem == _ARGUMENTS:
            self._started = True
            (self._calls.read_delta if verb == "delta" else self._calls.read_arguments_done)(incoming, reply)
        elif stem in FAMILIES:
            self._started = True
            self._texts.read(incoming, reply)
        elif kind in TERMINAL:
            self._over = True
            self._note_results(incoming.message.get("response"))
            self._end_texts(finish_in(kind, incoming.message.get("response")), reply)
            self._finalizer.read(incoming, reply)
        elif (error := _error_in(incoming)) is not None:
            self._over = incoming.message.get("type") == "error"
            self._fail(incoming.raw, error, reply)
        elif kind in _ECHOES:
            self._read_echo(incoming, reply)
        elif not kind.startswith("response."):
            reply.out.append(incoming.raw)
        elif not (kind.startswith(INPUT) and self._freeform.read_input(incoming, reply)):
            reply.out.append(self._forward(incoming))

    def _fail(self, raw: bytes, error: Json, reply: ReplyBuilder) -> None:
        """Forward an error. If it is not an event of the protocol, `response.failed` repeats it at the end."""
        if not self._over:
            self._finalizer.error = error
        self._end_texts(Finish.CUT, reply)
        self._finalizer.fail(reply)
        reply.out.append(raw)

    def _stop(self, finish: Finish, last: bytes = b"") -> Replace:
        """End a response that has no terminal event. `last`: an event to send after our own end."""
        reply = ReplyBuilder()
        self._end_texts(finish, reply)
        self._finalizer.stop(finish, reply)
        reply.out += [last] if last else []
        return reply.replacement()

    def _read_echo(self, incoming: IncomingEvent, reply: ReplyBuilder) -> None:
        response = incoming.message.get("response")
        if not self._started and incoming.type != _CREATED and isinstance(response, dict):
            created = {**response, "status": "in_progress"}
            reply.out.append(self._writer.write(_CREATED, {"response": created}))
        self._note_response(incoming.type, incoming.data)
        reply.out.append(self._writer.forward(incoming))

    def _note_response(self, kind: str, data: str) -> None:
        """Note an event that contains the response. Another `response.created` means that the answer begins again."""
        self._started = True
        self._finalizer.created = data
        if kind == _CREATED:
            self._begun += 1
            self._answer.assembler.answer_id = str(self._begun)

    def _forward(self, incoming: IncomingEvent) -> bytes:
        """Forward an event of a server-side tool, an event of a freeform call, or an unknown event."""
        item = self._items.known(incoming.text("item_id")) or self._items.at(incoming.number("output_index"))
        fields: Json = {}
        if item is not None and ("item_id" in incoming.message or "output_index" in incoming.message):
            fields = {"output_index": item.index}
            if incoming.type.startswith(INPUT):
                fields["item_id"] = item.id
        sent = self._writer.forward(incoming, **fields)
        if incoming.type.endswith(".delta") and incoming.text("item_id") and sent is incoming.raw:
            self._texts.learn(incoming, self._writer)
        return sent

    def _note_results(self, response: object) -> None:
        """Note the tool results in the list of all items, because no other event may have contained them."""
        output = response.get("output") if isinstance(response, dict) else None
        for item in output if isinstance(output, list) else []:
            self._read_by_model.add_results(item)

    # Text that is searched for calls

    def _shows_unseen(self, incoming: IncomingEvent) -> bool:
        """Whether the client sees text in this event that the search cannot take, so that no later text is a call."""
        if incoming.type not in ITEM_EVENTS:
            return self._texts.seen.misses(incoming)
        item = incoming.item
        if _type_of(item) != "message":
            return False
        known = self._items.find("message", incoming.item_id, incoming.number("output_index"))
        return self._texts.seen.misses_content(None if incoming.type == ADDED else known, item.get("content"))

    def _follows(self, incoming: IncomingEvent) -> bool:
        """Whether this event shows that the held text is not a call.

        That is an item that is not a call, other text, a citation, an item that was cut off, or a list of all items
        with more text.
        """
        if incoming.type in TERMINAL:
            return self._texts.seen.misses_listed(incoming.message.get("response"), self._held.ends)
        if incoming.type == ADDED:
            return _type_of(incoming.item) not in (CALL, FREEFORM)
        cited = incoming.type == "response.output_text.annotation.added"
        return cited or incoming.item.get("status") == "incomplete" or self._texts.follows(incoming)

    def _end_texts(self, finish: Finish | None, reply: ReplyBuilder) -> None:
        """Decide what the held text is, then handle the events that waited for that.

        `finish`: how the response ended; None if something else followed the text.
        """
        if not self._answer.examines_text:
            return
        ends = self._held.pop_ends(reply)
        self._texts.end_texts(finish, reply)
        for incoming in ends:
            if incoming.type in ITEM_EVENTS:
                self._end_item(incoming, "message", finish, reply)
            else:
                self._texts.read(incoming, reply)

    # Items

    def _read_item(self, incoming: IncomingEvent, reply: ReplyBuilder) -> None:
        kind, begins = _type_of(incoming.item), incoming.type == ADDED
        self._read_by_model.add_results(incoming.item)
        if not kind:
            reply.out.append(self._writer.forward(incoming))
        elif kind == CALL:
            (self._calls.read_added if begins else self._calls.read_ended)(incoming, reply)
        elif kind == FREEFORM and self._freeform.read_item(incoming, reply):
            return
        elif begins:
            self._read_added(incoming, kind, reply)
        else:
            self._read_ended(incoming, kind, reply)

    def _read_added(self, incoming: IncomingEvent, kind: str, reply: ReplyBuilder) -> None:
        known = self._items.known(incoming.item_id)
        if known is not None and known.type == kind and known.open:
            return
        item = self._items.open(kind, incoming.item_id, incoming.number("output_index"), incoming.item)
        body = with_needed(incoming.item, kind, item.id)
        reply.out.append(self._writer.forward(incoming, output_index=item.index, item=body))
        self._texts.show_content(item, incoming, reply)

    def _read_ended(self, incoming: IncomingEvent, kind: str, reply: ReplyBuilder) -> None:
        item = self._items.find(kind, incoming.item_id, incoming.number("output_index"))
        if incoming.item.get("status") != "incomplete" and (
            (item is not None and item.undecided) or self._texts.unannounced_text_waits(item, incoming.item)
        ):
            self._held.wait(incoming, reply)
        else:
            self._end_item(incoming, kind, None, reply)

    def _end_item(self, incoming: IncomingEvent, kind: str, finish: Finish | None, reply: ReplyBuilder) -> None:
        """End an item that is not a function call.

        `finish`: the response ends with this item; None: something may follow it.
        """
        wire_id, wire_index = incoming.item_id, incoming.number("output_index")
        item = self._items.find(kind, wire_id, wire_index)
        if item is None:
            known = self._items.known(wire_id)
            if known is not None and known.type == kind and known.done is not None:
                return
            if kind in ("message", "reasoning"):
                item = self._texts.writer.open(kind, wire_id, wire_index, incoming.item, reply)
            else:
                item = self._items.open(kind, wire_id, wire_index, incoming.item)
        body = item.done = self._texts.finish(item, incoming.item, reply, finish)
        if kind == FREEFORM:
            self._answer.outgoing.sent += 1
            self._freeform.ended(body)
        if body == incoming.item:
            item.done_text = incoming.item_text
        reply.out.append(self._writer.forward(incoming, output_index=item.index, item=body))


def _error_in(incoming: IncomingEvent) -> Json | None:
    """The error in an event that does not belong to the protocol."""
    foreign = not incoming.type.startswith("response.") or incoming.type == "response.error"
    return error_in(incoming.message, incoming.line) if foreign else None


def _type_of(item: Json) -> str:
    """The type of an item; if the server left it out, the type that its fields show, or ""."""
    kind = item.get("type")
    if isinstance(kind, str) and kind:
        return kind
    if "arguments" in item:
        return CALL
    return "message" if "content" in item else ""
