"""From the events of a response to parts: text, thoughts, what is said about calls, and how the response ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from ... import payload
from ...answer import Answer
from ...ids import Ids
from ...mend.finish import Finish
from ...parts import Fragment, Json, Other, Part, SourceEvent, Stop, Text, Thought
from ...payload import string_of
from ...request.limit import tokens_in
from ...request.read_by_model import ReadByModel
from ...wire.events import MOST_CALLS, LimitReached
from .items import (
    CALL,
    FREEFORM,
    MESSAGE,
    REASONING,
    REASONING_TEXT,
    REFUSAL,
    SUMMARY,
    TEXT,
    Item,
    ItemPart,
    Items,
    as_read,
    ids_of,
    is_text,
    kind_of,
    reasoning_text,
    repeats,
    text_in,
)

ADDED, ENDED = "response.output_item.added", "response.output_item.done"
CREATED: Final = "response.created"
ECHOES: Final = frozenset({CREATED, "response.in_progress", "response.queued"})
COMPLETED: Final = "response.completed"
TERMINAL: Final = frozenset(
    {COMPLETED, "response.incomplete", "response.failed", "response.cancelled", "response.done"}
)
FAILED: Final = frozenset({"failed", "cancelled"})
ARGUMENTS: Final = "response.function_call_arguments"
INPUT: Final = "response.custom_tool_call_input"
DELTA: Final = "response.output_text.delta"
CITED: Final = "response.output_text.annotation"
FAMILIES: Final = {
    "response.output_text": (MESSAGE, TEXT),
    CITED: (MESSAGE, TEXT),
    "response.refusal": (MESSAGE, REFUSAL),
    "response.content_part": (MESSAGE, TEXT),
    "response.reasoning_text": (REASONING, REASONING_TEXT),
    "response.reasoning_summary_text": (REASONING, SUMMARY),
    "response.reasoning_summary_part": (REASONING, SUMMARY),
}
"""The events about texts, with the type of item and the kind of part that each is about."""
NUMBER: Final = "sequence_number"


@dataclass(slots=True, eq=False)
class Incoming(SourceEvent):
    """An event of the upstream: its parsed data, the type on its `event:` line, and its type."""

    message: Json
    line: str
    kind: str

    @property
    def item(self) -> Json:
        """The item in the event; empty if there is none."""
        item = self.message.get("item")
        return item if isinstance(item, dict) else {}

    def text(self, key: str) -> str:
        return string_of(self.message.get(key))

    def number(self, key: str) -> int | None:
        value = self.message.get(key)
        return value if type(value) is int and value >= 0 else None


class Reader:
    def __init__(self, answer: Answer, items: Items, ids: Ids, read_by_model: ReadByModel) -> None:
        self._answer, self._items, self._ids, self._read_by_model = answer, items, ids, read_by_model
        self._freeform: dict[str, Json] = {}
        """The freeform calls that ended, by call id."""
        self._sent_again: dict[str, list[Other]] = {}
        """By the id of its item: what was said of a freeform call whose call id another one has."""

    def read(self, source: Incoming) -> list[Part]:
        """The parts of an event; none if the client does not get it."""
        kind = source.kind
        stem, _, verb = kind.rpartition(".")
        if stem in FAMILIES:
            return self._read_text(source, stem, verb)
        if stem == ARGUMENTS:
            return [self._read_arguments(source, verb == "delta")]
        if kind in (ADDED, ENDED):
            return self._read_item(source, kind == ADDED)
        if stem == INPUT:
            return self._read_input(source)
        return [Other(self._items.known(source.text("item_id"), source.number("output_index")), quiet=True)]

    # Calls

    def _read_arguments(self, source: Incoming, delta: bool) -> Fragment:
        place, item = source.number("output_index"), source.text("item_id")
        if delta:
            return Fragment(place, arguments=payload.text_of(source.message.get("delta")), item=item)
        given = payload.text_of(source.message.get("arguments"))
        return Fragment(place, name=source.text("name"), given=given, item=item)

    def fragment(self, body: Json, place: int | None, **more: Any) -> Fragment:
        """What an item says about a call."""
        given = payload.text_of(body.get("arguments"))
        return Fragment(
            place,
            string_of(body.get("call_id")),
            string_of(body.get("name")),
            item=string_of(body.get("id")),
            given=None if more.get("begins") and not given else given,
            namespace=string_of(body.get("namespace")),
            cut=body.get("status") == "incomplete",
            body=body,
            **more,
        )

    # Items

    def _read_item(self, source: Incoming, begins: bool) -> list[Part]:
        body, place = source.item, source.number("output_index")
        kind, wire_id = kind_of(body), str(body.get("id") or "")
        self._read_by_model.add_results(body)
        if not kind:
            return [Other(quiet=True, waits=True)]
        if kind == CALL:
            return [self.fragment(body, place, begins=begins, ends=not begins)]
        known = self._items.known(wire_id)
        known = known if known is not None and known.kind == kind else None
        if kind == FREEFORM and str(body.get("call_id") or "") in self._freeform:
            return self._read_sent_again(source, body, begins)
        if begins:
            if known is not None and not known.over:
                return []
            return self._begin(self._items.open(kind, wire_id, place, body))
        item = self._items.find(kind, wire_id, place)
        if item is None and known is not None:
            return []  # Its end, sent again.
        return self.end(item or self._items.open(kind, wire_id, place, body), body)

    def _begin(self, item: Item) -> list[Part]:
        if item.kind == FREEFORM:
            item.waits = self._answer.text_undecided
            return [Other(item, begins=not item.waits, waits=item.waits)]
        shown: str | None = ""
        content = item.body.get("content")
        if item.kind == MESSAGE and content:
            shown = "" if isinstance(content, list) else None
            for number, entry in enumerate(content if isinstance(content, list) else ()):
                text = text_in(entry)
                shown = None if text is None or shown is None or not (is_text(entry) or not text) else shown + text
                if text and is_text(entry):
                    _show(item.part(TEXT, number), text)
        quiet = item.kind in (MESSAGE, REASONING) and shown == ""
        return [Other(item, begins=True, quiet=quiet, shown=shown)]

    def end(self, item: Item, body: Json) -> list[Part]:
        """The end of an item, which repeats it as a whole."""
        item.over, item.body = True, body
        parts: list[Part] = []
        if item.kind == FREEFORM:
            call_id = str(body.get("call_id") or "")
            if call_id and call_id not in self._freeform:
                self._freeform[call_id] = body
                self._ids.unique(call_id)  # It is taken.
            self._answer.sent += 1
            self._answer.other_calls = True
        elif item.kind == MESSAGE:
            parts += self._content(item, body.get("content"))
            if body.get("status") == "incomplete":
                parts.append(Other(item))  # Its text was cut off, so it ends with no call.
        elif item.kind == REASONING and (text := reasoning_text(item, body)):
            parts.append(Thought(text, item))
            if body.get("status") == "incomplete":
                parts.append(Other(item))
        return [*parts, Other(item, {"item": body}, ends=not item.waits, quiet=item.waits, waits=item.waits)]

    def _content(self, item: Item, content: Any) -> list[Part]:
        """The texts of a finished message that the client does not have yet; what it shows otherwise."""
        if not isinstance(content, list):
            return [Other(item, shown=None)] if content else []
        parts: list[Part] = []
        for number, entry in enumerate(content[:MOST_CALLS]):
            text, part = text_in(entry), item.parts.get((TEXT, number))
            known = part is not None and bool(part.text)
            if text is None or (text and not known and not is_text(entry)):
                parts.append(Other(item, shown=None))
            elif not known and text:
                part = item.part(TEXT, number)
                part.came.append(text)
                parts.append(Text(text, item, {"part": part}))
                parts += [Other(item)] if entry.get("annotations") else []
            elif part is not None and self._answer.searches_text and not repeats(text, part.text):
                parts.append(Other(item, shown=None))
        return parts

    # Freeform calls, which pass unless they are sent again

    def _read_sent_again(self, source: Incoming, body: Json, begins: bool) -> list[Part]:
        """A freeform call whose call id another one has: dropped if it is the same call, else it gets an own id."""
        item_id, call_id = str(body.get("id") or ""), str(body["call_id"])
        if begins:
            self._sent_again[item_id] = []
            return self._hold(item_id, source)
        for part in self._sent_again.pop(item_id, []):
            self._answer.tail.let_go(part)
        if all(body.get(key) == self._freeform[call_id].get(key) for key in ("name", "input")):
            return []
        item = self._items.open(FREEFORM, item_id, source.number("output_index"), body)
        return self.end(item, {**body, "call_id": self._ids.unique(call_id)})

    def _read_input(self, source: Incoming) -> list[Part]:
        item_id = source.text("item_id")
        if item_id in self._sent_again:
            return self._hold(item_id, source)
        item = self._items.known(item_id, source.number("output_index"))
        waits = item is not None and item.waits
        return [Other(item, quiet=True, waits=waits)]

    def _hold(self, item_id: str, source: Incoming) -> list[Part]:
        part = Other(source=source)
        source.parts = [part]
        self._sent_again[item_id].append(part)
        self._answer.tail.keep(part)
        return []

    # Texts

    def _read_text(self, source: Incoming, stem: str, verb: str) -> list[Part]:
        item_kind, kind = FAMILIES[stem]
        told = source.message.get("part")
        if stem == "response.content_part" and isinstance(told, dict) and told.get("type") == REFUSAL:
            kind = REFUSAL
        elif stem == "response.content_part" and isinstance(told, dict) and told.get("type") == REASONING_TEXT:
            item_kind, kind = REASONING, REASONING_TEXT
        wire_id, place = source.text("item_id"), source.number("output_index")
        item = self._items.find(item_kind, wire_id, place)
        if item is None:
            known = self._items.known(wire_id)
            late = known is not None and known.kind == item_kind
            item = known if known is not None and late else self._items.open(item_kind, wire_id, place, {})
        self._items.alias(item, wire_id)
        part = item.part(kind, source.number("summary_index" if kind == SUMMARY else "content_index") or 0)
        body: Json = {"part": part}
        begins = verb == "added" and stem != CITED
        delta = source.message.get("delta")
        if item_kind == REASONING:
            if verb == "delta" and isinstance(delta, str):
                part.came.append(delta)
                part.sent = part.came
                return [Thought("", item, body)]
            return [Other(item, body, quiet=True)]
        if kind == REFUSAL:
            text = delta if verb == "delta" else source.message.get("refusal") or text_in(told) != ""
            if verb == "delta" and isinstance(delta, str):
                part.came.append(delta)
                part.sent = part.came
            return [Other(item, body, refusal=bool(text), shown=None if text else "", quiet=begins, begins=begins)]
        if stem == CITED:
            # It shows that the text before it is no call; what may still become one goes before it.
            answer = self._answer
            waits = answer.engaged and not (answer.waits or answer.text_undecided)
            return [Other(item, body, quiet=waits, waits=waits)]
        if verb == "delta":
            return [self._read_delta(item, part, delta, body)]
        text = text_in(told) if told else text_in(source.message)
        if begins:
            if text:
                _show(part, text)
            return [Other(item, body, begins=True, quiet=text == "", shown=text)]
        return self._read_end_of_text(item, part, text, body)

    def _read_delta(self, item: Item, part: ItemPart, delta: Any, body: Json) -> Part:
        if not isinstance(delta, str) or not delta:
            return Other(item, body, shown=None if delta else "", quiet=not delta)
        if part.over or item.over:
            return Other(item, body, shown=None)
        part.came.append(delta)
        return Text(delta, item, body)

    def _read_end_of_text(self, item: Item, part: ItemPart, text: str | None, body: Json) -> list[Part]:
        part.over = True
        parts: list[Part] = []
        if self._answer.searches_text:
            if text and not part.text:
                parts.append(Other(item, shown=text))
            elif text is None or not repeats(text, part.text):
                parts.append(Other(item, shown=None))
        if text and not part.text:
            part.said = text
        return [*parts, Other(item, body, ends=True)]

    # The end

    def read_end(self, kind: str, response: Json, *, streamed: bool) -> list[Part]:
        """The terminal event, which repeats all items, or a document, which is nothing else."""
        output = response.get("output")
        entries = [entry for entry in output if isinstance(entry, dict)] if isinstance(output, list) else []
        if len(entries) > MOST_CALLS:
            raise LimitReached
        failed = status_of(kind, response) in FAILED
        parts: list[Part] = []
        items = self._listed([entry for entry in entries if kind_of(entry) != CALL])
        for place, entry in enumerate(entries):
            self._read_by_model.add_results(entry)
            if kind_of(entry) == CALL:
                fragment = self.fragment(entry, place, again=True)
                if not streamed:
                    fragment.arguments, fragment.given = fragment.given, None
                    fragment.followed = not fragment.arguments.strip() and place + 1 < len(entries)
                parts.append(fragment)
            elif not (failed and streamed):
                parts += self._read_listed(*items.pop(0), entry, place)
        if not failed:
            status = "incomplete" if status_of(kind, response) == "incomplete" else "completed"
            for item in self._items.all:
                if not item.over and item.kind in (MESSAGE, REASONING):
                    parts += self.end(item, {"type": item.kind, **item.body, "status": status})
        finish = finish_of(kind, response)
        tokens = tokens_in(response.get("usage"), "output_tokens")
        return [*parts, Stop(kind, finish, tokens=tokens, failed=failed)]

    def _listed(self, entries: list[Json]) -> list[tuple[Item | None, bool]]:
        """The item of each entry, and whether no event was about it. Servers list items under other ids, or twice
        (None), or not at all."""
        left = list(self._items.all)
        found: list[Item | None] = []
        for entry in entries:
            ids = {entry.get(key) for key in ("call_id", "id") if isinstance(entry.get(key), str)} - {""}
            alike = next((item for item in left if item.kind == kind_of(entry) and ids & ids_of(item)), None)
            found.append(alike)
            left = [item for item in left if item is not alike]
        unknown = [kind_of(entry) for entry, item in zip(entries, found, strict=True) if item is None]
        told: list[tuple[Item | None, bool]] = []
        for number, entry in enumerate(entries):
            item, kind = found[number], kind_of(entry) or MESSAGE
            if item is None:
                of_kind = [one for one in left if one.kind == kind and one not in found]
                if of_kind and unknown.count(kind_of(entry)) == sum(one.kind == kind for one in left):
                    found[number] = item = of_kind[0]
            copy = item is None and any(_is_copy(entry, one) for one in entries[:number])
            if item is None and not copy:
                told.append((self._items.open(kind, string_of(entry.get("id")), None, {}), True))
            else:
                told.append((item, False))
        return told

    def _read_listed(self, item: Item | None, unseen: bool, entry: Json, place: int) -> list[Part]:
        if item is None:
            return []
        item.entry = entry
        if unseen:
            item.wire_index, item.body = place, entry
            quiet = item.kind in (MESSAGE, REASONING)
            return [Other(item, begins=True, quiet=quiet), *self.end(item, entry)]
        if not item.over:
            return self.end(item, entry)
        if item.kind != MESSAGE or not self._answer.searches_text:
            return []
        content = entry.get("content")
        texts = [text_in(part) for part in (content if isinstance(content, list) else [content])]
        return [Other(item, shown=None)] if not all(self._is_seen(text) for text in texts) else []

    def _is_seen(self, text: str | None) -> bool:
        """Whether the search has seen a text, in any item."""
        if text is None:
            return False
        seen = [part.text for item in self._items.all for part in item.parts.values() if part.kind == TEXT]
        return (
            not text or text in seen or any(as_read(text) == as_read(one) for one in seen) or repeats(text, seen[-1])
        )


def _show(part: ItemPart, text: str) -> None:
    """The client gets this text in any case."""
    part.came.append(text)
    part.sent.append(text)


def _is_copy(entry: Json, one: Json) -> bool:
    """Whether the list has an item twice. A freeform call with another input is another call."""
    same = any(entry.get(key) and entry.get(key) == one.get(key) for key in ("call_id", "id"))
    return same and all(entry.get(key) == one.get(key) for key in ("type", "name", "input"))


def status_of(kind: str, response: Any) -> str:
    """The status according to a terminal event, or to the response in it."""
    status = kind.removeprefix("response.")
    if status in ("completed", "done") and isinstance(response, dict):
        return str(response.get("status") or status)
    return status


def finish_of(kind: str, response: Json) -> Finish:
    """How a response ended. With `incomplete_details`, an error or a refusal it was cut off, whatever its status."""
    if response.get("incomplete_details") or response.get("error") or _refuses(response.get("output")):
        return Finish.CUT
    status = status_of(kind, response)
    if status == "incomplete" or status in FAILED:
        return Finish.CUT
    # llama.cpp, whose responses have `timings`, says `completed` of answers that its limit cut off.
    return Finish.COMPLETE if status == "completed" and not response.get("timings") else Finish.UNKNOWN


def _refuses(output: Any) -> bool:
    """Whether a message of the response contains a refusal."""
    items = [item for item in output if isinstance(item, dict)] if isinstance(output, list) else []
    contents = [item["content"] for item in items if isinstance(item.get("content"), list)]
    return any(isinstance(part, dict) and bool(part.get("refusal")) for content in contents for part in content)
