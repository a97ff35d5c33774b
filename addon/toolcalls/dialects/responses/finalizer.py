"""Ends a response: what is held is sent, what is open is closed, and the output lists what was sent.

A terminal event of the server is never replaced by one of another type. If none arrived, `response.completed` is
written if every item is done; otherwise `response.failed`, so that clients retry and nothing runs incompletely.
"""

from __future__ import annotations

from typing import Any, Final

from ...mend.arguments import Finish
from ...turn import payload
from ...turn.item_answer import ItemAnswer
from ...turn.items import CallItem, Item
from ...wire.events import MOST_CALLS, LimitReached
from ..reply_builder import ReplyBuilder
from .call_items import CallItems
from .events import ADDED, EventWriter, IncomingEvent, Json
from .held_texts import HeldTexts
from .listed_items import ListedItems
from .output import CALL, FREEFORM, with_needed
from .terminal import COMPLETED, FAILED, failure_of, finish_in, output_in, status_of
from .text_items import TextItems, is_blank

_CARRIED: Final = ("id", "type", "call_id", "name", "namespace", "arguments", "input")


def text_of_content(item: Json) -> list[str]:
    content = item.get("content")
    entries = content if isinstance(content, list) else []
    return [str(entry.get("text") or entry.get("refusal") or "") for entry in entries if isinstance(entry, dict)]


class Finalizer:
    __slots__ = (
        "_answer",
        "_calls",
        "_held",
        "_items",
        "_listed",
        "_model",
        "_texts",
        "_writer",
        "created",
        "error",
    )

    def __init__(
        self,
        answer: ItemAnswer,
        calls: CallItems,
        texts: TextItems,
        writer: EventWriter,
        held: HeldTexts,
        model: str,
    ) -> None:
        self._held = held
        self._answer = answer
        self._items = answer.items
        self._calls = calls
        self._texts = texts
        self._writer = writer
        self._model = model
        self._listed = ListedItems(answer.items, answer.assembler)
        self.created = ""
        """The data of the last event that contained the response, parsed only if it is needed."""
        self.error: Any = None

    def agrees(self, data: str) -> bool:
        """Whether the output in a terminal event that was not parsed is, byte for byte, what the client got."""
        if self._answer.ended or self._answer.dropped or self._answer.outgoing.found or self._held.ends:
            return False
        if self._answer.reasoning is not None and self._is_only_reasoning():
            return False
        at = output_in(data)
        if at < 0:
            return False
        for item in self._items.in_order():
            if not item.done_text or not data.startswith(item.done_text, at):
                return False
            at += len(item.done_text)
            at += data.startswith(", ", at) + data.startswith(",", at)
        return data.startswith("]", at)

    def read(self, incoming: IncomingEvent, reply: ReplyBuilder) -> None:
        """Handle the terminal event."""
        response = incoming.message.get("response")
        fields: Json = {}
        if not isinstance(response, dict):
            response = {**self._response(), "status": incoming.type.removeprefix("response.")}
            fields["response"] = response
        final = self.finish(incoming.type, response, reply)
        if final != response.get("output"):
            fields["response"] = {**response, "output": final}
        reply.out.append(self._writer.forward(incoming, **fields))

    def finish(self, kind: str, response: Json, reply: ReplyBuilder) -> Any:
        """Send everything that has to precede the terminal event, and return the output for that event."""
        status = status_of(kind, response)
        failed = status in FAILED
        output = response.get("output")
        if isinstance(output, list) and len(output) > MOST_CALLS:
            raise LimitReached
        self._listed.match(output)
        finish = finish_in(kind, response)
        if failed:
            self._calls.flush_all(finish, reply, drop_refused=True)
            return self._failed_output(output)
        # In a document, all texts are among these items; in a stream, a call may be complete long before a late text.
        if self._answer.streamed:
            self._calls.flush_all(finish, reply)
        self._close_items("incomplete" if status == "incomplete" else "completed", finish, reply)
        if not self._answer.streamed:
            self._calls.flush_all(finish, reply)
        self._search_reasoning(finish)
        self._calls.flush_found(reply)
        for index, note in self._answer.notes():
            self._texts.send_note(note, index, reply)
        return self._output(output)

    def stop(self, finish: Finish, reply: ReplyBuilder) -> None:
        """End a response that has no terminal event."""
        self._calls.flush(finish, reply, drop_refused=True)
        response = self._response()
        items = [item for item in self._items.all if not item.dropped]
        if items and all(item.finished for item in items) and not self._answer.dropped and not self.error:
            self._close_items("completed", finish, reply)
            self._calls.flush_found(reply)
            fields = {**response, "status": "completed", "output": self._output(None)}
            reply.out.append(self._writer.write(COMPLETED, {"response": fields}))
            return
        self._calls.flush_found(reply, drop_refused=True)
        fields = {**response, "status": "failed", "error": failure_of(self.error), "output": self._output(None)}
        reply.out.append(self._writer.write("response.failed", {"response": fields}))

    def fail(self, reply: ReplyBuilder) -> None:
        """Before an error: send complete calls, drop unfinished ones."""
        self._calls.flush(Finish.CUT, reply, drop_refused=True)
        self._calls.flush_found(reply, drop_refused=True)

    def _response(self) -> Json:
        """The response as the server last announced it, or a new one if it never did."""
        response = (payload.object_in(self.created) or {}).get("response")
        if isinstance(response, dict):
            return response
        identity = self._items.identity("", "response")
        return {"id": identity, "object": "response", "created_at": 0, "model": self._model, "output": []}

    # Items

    def _close_items(self, status: str, finish: Finish, reply: ReplyBuilder) -> None:
        """End the items that never ended, and send the listed items that were never announced."""
        with_content = [
            entry for _, entry in self._listed.unseen if entry.get("type") != CALL and _has_content(entry)
        ]
        for item in [item for item in self._items.in_order() if item.open]:
            entry = self._listed.entries.get(item.id)
            if item.type in ("message", "reasoning"):
                body = entry or {"type": item.type, **item.body, "status": status}
                self._texts.end_item(item, body, reply, None if with_content else finish)
            elif entry is not None and not isinstance(item, CallItem):
                self._texts.end_item(item, entry, reply)
        for position, entry in self._listed.unseen:
            kind, wire_id = str(entry.get("type") or "message"), str(entry.get("id") or "")
            if kind in ("message", "reasoning"):
                item = self._texts.writer.open(kind, wire_id, position, entry, reply)
            else:
                item = self._items.open(kind, wire_id, position, entry)
                fields = {"output_index": item.index, "item": entry}
                reply.out.append(self._writer.write(ADDED, fields))
                if kind == FREEFORM:
                    self._answer.outgoing.sent += 1
            self._listed.entries[item.id] = entry
            self._texts.end_item(item, entry, reply, finish if with_content and entry is with_content[-1] else None)

    def _is_only_reasoning(self) -> bool:
        """Whether the answer is only reasoning, apart from messages without text."""
        items = self._items.all
        return bool(items) and all(
            item.type == "reasoning" or (item.done is not None and not _has_content(item.done)) for item in items
        )

    def _search_reasoning(self, finish: Finish) -> None:
        """Search the reasoning for a call at its end, if the answer contains nothing else."""
        if self._answer.reasoning is None or not self._is_only_reasoning():
            return
        for item in self._items.in_order():
            self._answer.take_reasoning(item.reasoning_text)
        cut = any((item.done or {}).get("status") == "incomplete" for item in self._items.all)
        self._answer.end_reasoning(Finish.CUT if cut else finish)

    def _output(self, output: Any) -> list[Any]:
        """The output of the terminal event: the items as the client got them."""
        final: list[Any] = []
        for item in self._items.in_order():
            entry = self._listed.entries.get(item.id)
            kept = None if item.dropped else item.done
            if entry is not None and not item.dropped and _holds(entry, item):
                kept = entry
            if kept is not None:
                final.append(kept)
        entries = output if isinstance(output, list) else []
        same = len(entries) == len(final) and all(any(entry is kept for kept in final) for entry in entries)
        return entries if same and isinstance(output, list) else final

    def _failed_output(self, output: Any) -> Any:
        """The output of a failed response: nothing is added, and its calls are replaced by those that were sent."""
        if not isinstance(output, list):
            return output
        final = []
        for entry in output:
            item = next((item for item in self._items.all if self._listed.entries.get(item.id) is entry), None)
            if not isinstance(item, CallItem):
                final.append(entry)
            elif item.done is not None:
                final.append(entry if _holds(entry, item) else item.done)
        return final


def _has_content(entry: Json) -> bool:
    """Whether the item has content, so that a text before it is not the end of the answer."""
    content = entry.get("content")
    return entry.get("type") != "message" or not isinstance(content, list) or not all(map(is_blank, content))


def _holds(entry: Json, item: Item) -> bool:
    """Whether the entry of the output agrees with the item that the client got, and can stay unchanged."""
    if isinstance(item, CallItem):
        return item.done is not None and all(entry.get(key) == item.done.get(key) for key in _CARRIED)
    if item.done is not None and item.type == FREEFORM:
        return bool(entry.get("call_id") == item.done.get("call_id"))
    if item.done is None or item.type not in ("message", "reasoning"):
        return True
    if with_needed(entry, item.type, item.id) is not entry:
        return False
    return item.type != "message" or text_of_content(entry) == text_of_content(item.done)
