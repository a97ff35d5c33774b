"""The end of a response: what is held comes out, what is open is closed, and the output is what was sent.

A terminal event that came is never replaced by another one. Where none came, `response.completed` is
written if every item is done; otherwise `response.failed`, so that clients retry and nothing runs by halves.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from ...mend.arguments import Finish
from ...turn import payload
from ...turn.item_answer import ItemAnswer
from ...turn.items import Item
from .call_items import CallItems
from .call_reader import entry_in
from .events import EventWriter, IncomingEvent, Json
from .held_texts import HeldTexts
from .output import CALL, FREEFORM, with_needed
from .text_items import TextItems, is_blank

COMPLETED: Final = "response.completed"
TERMINAL: Final = frozenset(
    {COMPLETED, "response.incomplete", "response.failed", "response.cancelled", "response.done"}
)
_FAILED: Final = frozenset({"failed", "cancelled"})
_CARRIED: Final = ("id", "type", "call_id", "name", "namespace", "arguments", "input")


def finish_of(status: str) -> Finish:
    if status in ("incomplete", *_FAILED):
        return Finish.CUT
    return Finish.COMPLETE if status == "completed" else Finish.UNKNOWN


def status_of(kind: str, response: Any) -> str:
    """How a response ended, by its terminal event."""
    status = kind.removeprefix("response.")
    if status in ("completed", "done") and isinstance(response, dict):
        return str(response.get("status") or status)
    return status


def finish_in(kind: str, response: Any) -> Finish:
    """How a response ended: one that names what is missing, or an error, was cut off, whatever it calls itself."""
    if isinstance(response, dict) and (
        response.get("incomplete_details") or response.get("error") or _refuses(response.get("output"))
    ):
        return Finish.CUT
    return finish_of(status_of(kind, response))


def _refuses(output: Any) -> bool:
    """Does a message of the response refuse?"""
    items = [item for item in output if isinstance(item, dict)] if isinstance(output, list) else []
    contents = [item["content"] for item in items if isinstance(item.get("content"), list)]
    return any(isinstance(part, dict) and bool(part.get("refusal")) for content in contents for part in content)


def text_of_content(item: Json) -> list[str]:
    content = item.get("content")
    entries = content if isinstance(content, list) else []
    return [str(entry.get("text") or entry.get("refusal") or "") for entry in entries if isinstance(entry, dict)]


def _output_in(data: str) -> int:
    """Where the output of an unread terminal event begins; -1 where that cannot be told."""
    for key in ('"output":[', '"output": ['):
        at = data.find(key)
        if at >= 0:
            return at + len(key)
    return -1


class Finalizer:
    __slots__ = (
        "_answer",
        "_calls",
        "_held",
        "_items",
        "_matched",
        "_model",
        "_texts",
        "_unseen",
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
        self._matched: dict[int, Json] = {}
        """By our index: the entry of the terminal event's output."""
        self._unseen: list[tuple[int, Json]] = []
        self.created = ""
        """The data of the last event that carried the response, read only if it is needed."""
        self.error: Any = None

    def agrees(self, data: str) -> bool:
        """Is the output in an unread terminal event, word for word, what the client got?"""
        if self._answer.waiting or self._answer.dropped or self._answer.turn.has_found or self._held.ends:
            return False
        if self._answer.thoughts is not None and self._only_thinks():
            return False
        at = _output_in(data)
        if at < 0:
            return False
        for item in self._items.in_order():
            if not item.done_text or not data.startswith(item.done_text, at):
                return False
            at += len(item.done_text)
            at += data.startswith(", ", at) + data.startswith(",", at)
        return data.startswith("]", at)

    def read(self, incoming: IncomingEvent) -> tuple[list[bytes], list[str]]:
        """The terminal event."""
        response = incoming.message.get("response")
        fields: Json = {}
        if not isinstance(response, dict):
            response = {**self._response(), "status": incoming.type.removeprefix("response.")}
            fields["response"] = response
        out, keys, final = self._finish(incoming.type, response)
        if final != response.get("output"):
            fields["response"] = {**response, "output": final}
        out.append(self._writer.forward(incoming, **fields))
        return out, keys

    def mended_output(self, kind: str, response: Json) -> Any:
        """The output of a response that came as one document."""
        return self._finish(kind, response)[2]

    def _finish(self, kind: str, response: Json) -> tuple[list[bytes], list[str], Any]:
        status = status_of(kind, response)
        failed = status in _FAILED
        output = response.get("output")
        self._match_output(output if isinstance(output, list) else [])
        finish = finish_in(kind, response)
        out, keys = self._calls.flush(finish, before_error=failed)
        if failed:
            out += self._calls.flush_found(before_error=True)
            return out, keys, self._failed_output(output)
        out += self._close_items("incomplete" if status == "incomplete" else "completed", finish)
        self._look_into_thoughts(finish)
        out += self._calls.flush_found()
        out += self._write_notes()
        return out, keys, self._output(output)

    def stop(self, finish: Finish) -> tuple[list[bytes], list[str]]:
        """No terminal event came."""
        out, keys = self._calls.flush(finish, before_error=True)
        response = self._response()
        items = [item for item in self._items.all if not item.dropped]
        if items and all(item.finished for item in items) and not self._answer.dropped and not self.error:
            out += self._close_items("completed", finish)
            out += self._calls.flush_found()
            fields = {**response, "status": "completed", "output": self._output(None)}
            out.append(self._writer.write(COMPLETED, {"response": fields}))
            return out, keys
        error = self.error if isinstance(self.error, dict) else {}
        reason = {
            "code": str(error.get("code") or error.get("type") or "server_error"),
            "message": str(error.get("message") or "The answer of the server ended before it was complete."),
        }
        out += self._calls.flush_found(before_error=True)
        fields = {**response, "status": "failed", "error": reason, "output": self._output(None)}
        out.append(self._writer.write("response.failed", {"response": fields}))
        return out, keys

    def fail(self) -> tuple[list[bytes], list[str]]:
        """An error is about to go on: complete calls come out, unfinished ones are dropped."""
        out, keys = self._calls.flush(Finish.CUT, before_error=True)
        return [*out, *self._calls.flush_found(before_error=True)], keys

    def _response(self) -> Json:
        message = payload.read_strict(self.created)
        response = message.get("response") if isinstance(message, dict) else None
        if isinstance(response, dict):
            return response
        identity = self._items.identity("", "response")
        return {"id": identity, "object": "response", "created_at": 0, "model": self._model, "output": []}

    # What the terminal event says about the items

    def _match_output(self, output: list[Any]) -> None:
        entries = [(position, entry) for position, entry in enumerate(output) if isinstance(entry, dict)]
        left = [item for item in self._items.in_order() if item.index not in self._matched]
        later: list[tuple[int, Json]] = []
        known = _ItemsByIds(self._items.in_order())
        seen: dict[tuple[str, ...], Json] = {}
        for position, entry in entries:
            alike = [item for item in known.about(entry) if _same_item(item, entry)]
            item = _best(alike, entry)
            item = item if item in left else None
            names = _names(entry)
            twin = next((seen[name] for name in names if name in seen), None) if item is None else None
            seen.update(dict.fromkeys(names, entry))
            if twin is not None and entry.get("type") == CALL:
                # Listed twice: one call or two, as with every call that has the id of another.
                opened = self._answer.calls.open(str(entry.get("id") or ""), position)
                self._match(opened, entry)
                known.add(opened)
            elif twin is not None and all(twin.get(key) == entry.get(key) for key in ("name", "input")):
                # A call of a freeform tool with another input is another one.
                continue
            elif item is None:
                later.append((position, entry))
            else:
                left.remove(item)
                self._match(item, entry)
                known.add(item)
        # Ids that changed once more: told by their types, names and order, where nothing else is missing or new.
        pairs = _paired(left, [entry for _, entry in later])
        for position, entry in later:
            if pairs:
                self._match(pairs.pop(0), entry)
            elif entry.get("type") == CALL:
                call = self._answer.calls.open(str(entry.get("id") or ""), position)
                self._match(call, entry)
            else:
                self._unseen.append((position, entry))

    def _match(self, item: Item, entry: Json) -> None:
        self._matched[item.index] = entry
        if item.call is not None and item.type == entry.get("type"):
            item.call.listed = entry_in(entry, None)
        elif item.open:
            item.body = entry

    def _close_items(self, status: str, finish: Finish) -> list[bytes]:
        """Items that the client knows and that never ended, and items that nobody told it about."""
        out: list[bytes] = []
        spoken = [entry for _, entry in self._unseen if entry.get("type") != CALL and _says_something(entry)]
        for item in [item for item in self._items.in_order() if item.open]:
            entry = self._matched.get(item.index)
            if item.type in ("message", "reasoning"):
                body = entry or {"type": item.type, **item.body, "status": status}
                out += self._end_item(item, body, None if spoken else finish)
            elif entry is not None:
                out += self._end_item(item, entry)
        for position, entry in self._unseen:
            kind, wire_id = str(entry.get("type") or "message"), str(entry.get("id") or "")
            if kind in ("message", "reasoning"):
                item, events = self._texts.open(kind, wire_id, position, entry)
                out += events
            else:
                item = self._items.open(kind, wire_id, position, entry)
                item.announced = True
                fields = {"output_index": item.index, "item": entry}
                out.append(self._writer.write("response.output_item.added", fields))
                if kind == FREEFORM:
                    self._answer.turn.count_sent()
            self._matched[item.index] = entry
            out += self._end_item(item, entry, finish if spoken and entry is spoken[-1] else None)
        return out

    def _only_thinks(self) -> bool:
        """Is the answer reasoning, and perhaps a message without a word?"""
        items = self._items.all
        return bool(items) and all(
            item.type == "reasoning" or (item.done is not None and not _says_something(item.done)) for item in items
        )

    def _look_into_thoughts(self, finish: Finish) -> None:
        """Reasoning may end with the call of an answer that says nothing else."""
        if self._answer.thoughts is None or not self._only_thinks():
            return
        for item in self._items.in_order():
            self._answer.think(item.thought)
        cut = any((item.done or {}).get("status") == "incomplete" for item in self._items.all)
        self._answer.end_thoughts(Finish.CUT if cut else finish)

    def _end_item(self, item: Item, body: Json, finish: Finish | None = None) -> list[bytes]:
        body, out = self._texts.finish(item, body, finish)
        item.done = body
        fields = {"output_index": item.index, "item": body}
        return [*out, self._writer.write("response.output_item.done", fields)]

    def _write_notes(self) -> list[bytes]:
        return [piece for index, note in self._answer.notes() for piece in self._texts.say(note, index)]

    def _output(self, output: Any) -> list[Any]:
        """The output of the terminal event: the items as the client got them."""
        final: list[Any] = []
        for item in self._items.in_order():
            entry = self._matched.get(item.index)
            kept = None if item.dropped else item.done
            if entry is not None and not item.dropped and _holds(entry, item):
                kept = entry
            if kept is not None:
                final.append(kept)
        entries = output if isinstance(output, list) else []
        same = len(entries) == len(final) and all(any(entry is kept for kept in final) for entry in entries)
        return entries if same and isinstance(output, list) else final

    def _failed_output(self, output: Any) -> Any:
        """Nothing is added to the output of a failure; only its calls are those that went out."""
        if not isinstance(output, list):
            return output
        final = []
        for entry in output:
            item = next((item for item in self._items.all if self._matched.get(item.index) is entry), None)
            if item is None or item.call is None:
                final.append(entry)
            elif item.done is not None:
                final.append(entry if _holds(entry, item) else item.done)
        return final


def _says_something(entry: Json) -> bool:
    """Is this an item behind which no text can be a call's last words?"""
    content = entry.get("content")
    return entry.get("type") != "message" or not isinstance(content, list) or not all(map(is_blank, content))


def _same_item(item: Item, entry: Json) -> bool:
    if item.call is not None:
        if entry.get("type") not in (CALL, item.type):
            return False
        # Lists: what stands in the position of an id may be no text, and then it is in no set.
        known = [item.call.sent_id, *(carrier.body.get("call_id") for carrier in item.call.carriers)]
        call_ids = [call_id for call_id in known if call_id not in ("", None)]
        if entry.get("call_id") and call_ids:
            return entry["call_id"] in call_ids
    elif entry.get("type") != item.type:
        return False
    return _has_id(item, entry)


class _ItemsByIds:
    """Finds the items that go by one of the ids of an entry, without a look at all the others."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._named: dict[str, dict[int, Item]] = {}
        for item in items:
            self.add(item)

    def add(self, item: Item) -> None:
        """By all that it goes by now."""
        for identity in _ids_of(item):
            self._named.setdefault(str(identity), {})[id(item)] = item

    def about(self, entry: Json) -> list[Item]:
        """Those that may be the item of an entry of the output, in order."""
        found: dict[int, Item] = {}
        for key in ("call_id", "id"):
            found |= self._named.get(str(entry.get(key)), {})
        return sorted(found.values(), key=lambda item: item.index)


def _ids_of(item: Item) -> list[object]:
    bodies = [item.done or item.body, *((carrier.body for carrier in item.call.carriers) if item.call else ())]
    own = [item.id, item.call.sent_id] if item.call else [item.id]
    return [*own, *(body.get(key) for body in bodies for key in ("id", "call_id"))]


def _best(items: list[Item], entry: Json) -> Item | None:
    """The item that an entry speaks about: where calls share one id, the other id tells them apart, else the name."""
    for fits in (_has_id, _is_named):
        if len(items) > 1:
            items = [item for item in items if fits(item, entry)]
    return items[0] if items else None


def _has_id(item: Item, entry: Json) -> bool:
    """Is this one of the ids that the item goes by?"""
    bodies = [item.done or item.body, *((carrier.body for carrier in item.call.carriers) if item.call else ())]
    return bool(entry.get("id")) and entry["id"] in [item.id, *(body.get("id") for body in bodies)]


def _paired(items: list[Item], entries: list[Json]) -> list[Item]:
    """For each entry the first item of its type and name; nothing where one has none, or an item is left."""
    left, found = list(items), list[Item]()
    for entry in entries:
        item = next((item for item in left if _is_named(item, entry)), None)
        if item is None:
            return []
        left.remove(item)
        found.append(item)
    return [] if left else found


def _is_named(item: Item, entry: Json) -> bool:
    if item.type != entry.get("type"):
        return False
    return item.call is None or not entry.get("name") or item.call.name in ("", entry["name"])


def _names(entry: Json) -> list[tuple[str, ...]]:
    """What names an item: its type and each of its ids."""
    ids = [(key, entry[key]) for key in ("call_id", "id") if entry.get(key)]
    return [(str(entry.get("type")), key, str(identity)) for key, identity in ids]


def _holds(entry: Json, item: Item) -> bool:
    """Is the entry of the output good as it came, or does it lag behind what the client was told?"""
    if item.call is not None:
        return item.done is not None and all(entry.get(key) == item.done.get(key) for key in _CARRIED)
    if item.done is not None and item.type == FREEFORM:
        return bool(entry.get("call_id") == item.done.get("call_id"))
    if item.done is None or item.type not in ("message", "reasoning"):
        return True
    if with_needed(entry, item.type, item.id) is not entry:
        return False
    return item.type != "message" or text_of_content(entry) == text_of_content(item.done)
