"""From the events of a response to parts: text, thoughts, what is said about calls, and how the response ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from ... import payload
from ...mend.finish import Finish
from ...parts import Fragment, Json, Other, Part, SourceEvent, Stop, Text, Thought
from ...payload import shown_text, string_of
from ...request.history import objects_in
from ...request.read_by_model import ReadByModel
from ...request.request import tokens_in
from ...sizes import MOST_CALLS, LimitReached
from ...textcalls.tokens import without_tokens
from .answer import AnswerOfItems, wrapped
from .items import CALL, FREEFORM, MESSAGE, REASONING, REFUSAL, TEXT, Item, Items, ItemText, kind_of

ADDED: Final = "response.output_item.added"
ENDED: Final = "response.output_item.done"
CREATED: Final = "response.created"
COMPLETED: Final = "response.completed"
TERMINAL: Final = frozenset(
    {COMPLETED, "response.incomplete", "response.failed", "response.cancelled", "response.done"}
)
ARGUMENTS: Final = "response.function_call_arguments"
INPUT: Final = "response.custom_tool_call_input"
PART: Final = "response.content_part"
DELTA: Final = "response.output_text.delta"
TEXTS: Final = (PART, "response.output_text", "response.refusal", "response.reasoning_")
"""What the types of events about texts begin with."""
NUMBER: Final = "sequence_number"
_FAILED: Final = ("failed", "cancelled")


@dataclass(slots=True, eq=False)
class Incoming(SourceEvent):
    """An event of the upstream: its parsed data, the type on its `event:` line, and its type."""

    message: Json
    line: str
    kind: str

    def inner(self, key: str) -> Json:
        """An object in it, empty if there is none: the item, the response."""
        value = self.message.get(key)
        return value if isinstance(value, dict) else {}

    def number(self, key: str) -> int | None:
        value = self.message.get(key)
        return value if type(value) is int and value >= 0 else None

    def how_ended(self) -> tuple[str, Finish]:
        """The status of the response, and what a terminal event says of the end.

        With `incomplete_details` or an error a response was cut off, whatever its status.
        """
        response, status = self.inner("response"), self.kind.removeprefix("response.")
        status = str(response.get("status") or status) if status in ("completed", "done") else status
        if response.get("incomplete_details") or response.get("error") or status in ("incomplete", *_FAILED):
            return status, Finish.CUT
        # llama.cpp, whose responses have `timings`, says `completed` of answers that its limit cut off.
        complete = status == "completed" and not response.get("timings")
        return status, Finish.COMPLETE if complete else Finish.UNKNOWN


class Reader:
    def __init__(self, answer: AnswerOfItems, items: Items, read_by_model: ReadByModel) -> None:
        self._answer, self._items, self._read_by_model = answer, items, read_by_model

    def read(self, source: Incoming, *, document: bool = False) -> list[Part]:
        """The parts of an event or of a document, which remember it."""
        ends = document or source.kind in TERMINAL
        source.parts = self._read_end(source, document) if ends else self._read_event(source)
        for part in source.parts:
            part.source = source
        return source.parts

    def _read_event(self, source: Incoming) -> list[Part]:
        """The parts of an event that does not end the response. One that the client does not get is a fragment that
        says nothing."""
        stem, _, verb = source.kind.rpartition(".")
        message, place = source.message, source.number("output_index")
        item_id = string_of(message.get("item_id"))
        if source.kind.startswith(TEXTS):
            return self._read_text(source, item_id, place)
        if source.kind in (ADDED, ENDED):
            return self._read_item(source.inner("item"), place, source.kind)
        if stem == ARGUMENTS:
            name, piece = string_of(message.get("name")), payload.text_of(message.get("delta"))
            given = None if verb == "delta" else payload.text_of(message.get("arguments"))
            return [Fragment(place, name=name, arguments=piece, given=given, item=item_id)]
        item = self._items.known(item_id, place)
        if stem == INPUT and (item is None or item.kind != FREEFORM):
            return [Fragment()]  # Whose call it is, and the whole input, says the end of the item.
        return [Other(item, quiet=True)]

    # Items

    def _read_item(self, body: Json, place: int | None, event: str) -> list[Part]:
        kind, wire_id = kind_of(body), str(body.get("id") or "")
        self._read_by_model.add_results(body)
        if not kind:
            return [Other(quiet=True, waits=True)]
        if self._is_call(body):
            return [self._fragment(body, place, event)]
        if event == ENDED:
            item = self._items.find(kind, wire_id, place) or self._items.open(kind, wire_id, place, body)
            # Its end may be sent again.
            return [Fragment()] if item.over else [*self._read_whole(item, body), Other(item, ends=True)]
        known = self._items.known(wire_id)
        if known is not None and known.kind == kind and not known.over:
            return [Fragment()]
        item = self._items.open(kind, wire_id, place, body)
        content = body.get("content") if kind == MESSAGE else None
        empty = all(_text_in(entry) == "" for entry in (content if isinstance(content, list) else [content]))
        return [_beginning(item)] if empty else [Other(item, shown=None), _beginning(item)]

    def _is_call(self, body: Json) -> bool:
        """Whether an item is a call of one of the client's tools. A freeform call that nobody declared passes."""
        if kind_of(body) != FREEFORM:
            return kind_of(body) == CALL
        return self._answer.is_freeform(string_of(body.get("name")), string_of(body.get("namespace")))

    def _fragment(self, body: Json, place: int | None, event: str = "") -> Fragment:
        """What an item says about a call. `event`: the one that it is in, if that is not the list."""
        begins, ends = event == ADDED, event == ENDED
        self._items.called = True
        freeform = kind_of(body) == FREEFORM
        text = payload.text_of(body.get("input" if freeform else "arguments"))
        whole = wrapped(text) if freeform else text
        call_id, name, item_id = (string_of(body.get(key)) for key in ("call_id", "name", "id"))
        fragment = Fragment(place, call_id, name, item=item_id, begins=begins, ends=ends, again=not event, body=body)
        fragment.given = None if begins and not text else whole
        fragment.arguments = whole if freeform and ends else ""  # No piece of its input is read.
        fragment.cut, fragment.namespace = body.get("status") == "incomplete", string_of(body.get("namespace"))
        return fragment

    def _read_whole(self, item: Item, body: Json) -> list[Part]:
        """What an item that is told as a whole says and no event said before."""
        if item.over:
            return self._content(item, body.get("content")) if item.kind == MESSAGE else []
        parts: list[Part] = [_beginning(item)] if item.body is body else []
        item.over, item.body = True, body
        if item.kind == MESSAGE:
            parts += self._content(item, body.get("content"))
        elif item.kind == REASONING and (text := _reasoning_in(body)):
            parts.append(Thought(text, item))
        # Its text was cut off, so it ends with no call.
        cut = body.get("status") == "incomplete" and item.kind in (MESSAGE, REASONING)
        return [*parts, Other(item)] if cut else parts

    def _content(self, item: Item, content: Any) -> list[Part]:
        """The texts of a finished message that the client does not have yet; what it shows otherwise."""
        if not isinstance(content, list):
            return [Other(item, shown=None)] if content else []
        parts: list[Part] = []
        for number, entry in enumerate(content[:MOST_CALLS]):
            text, known = _text_in(entry), item.texts.get(number)
            if (known is not None and known.came) or (isinstance(entry, dict) and entry.get("type") == TEXT):
                parts += self._stated(item, item.text(number), text)
            elif text != "":
                parts.append(Other(item, shown=None))
        return parts

    # Texts

    def _read_text(self, source: Incoming, item_id: str, place: int | None) -> list[Part]:
        stem, _, verb = source.kind.rpartition(".")
        entry, delta = source.message.get("part"), source.message.get("delta")
        kind = source.inner("part").get("type")
        owner = REASONING if kind == "reasoning_text" or "reasoning" in stem else MESSAGE
        item = self._items.find(owner, item_id, place) or self._items.open(owner, item_id, place, {})
        if owner == REASONING:
            return [Thought("", item)] if verb == "delta" else [Other(item, quiet=True)]
        begins = stem == PART and verb == "added"
        if kind == REFUSAL or stem == "response.refusal":
            return [Other(item, shown="" if begins else None, quiet=begins, begins=begins)]
        text = item.text(source.number("content_index") or 0)
        body: Json = {"text": text}
        if source.kind == DELTA:
            if not isinstance(delta, str) or not delta:
                return [Other(item, body, shown=shown_text(delta), quiet=not delta)]
            text.came.append(delta)
            return [Text(delta, item, body)]
        if verb == "added" and not begins:  # An annotation.
            return [Other(item, body, quiet=True, waits=True)]
        stated = _text_in(entry or source.message)
        if not begins:
            return [*self._stated(item, text, stated), Other(item, body, ends=True)]
        if stated:
            text.show(stated)
        return [Other(item, body, begins=True, quiet=stated == "", shown=stated)]

    def _stated(self, item: Item, text: ItemText, stated: str | None) -> list[Part]:
        """What an event says that tells a text as a whole: nothing, if it repeats what came."""
        if stated and not text.came:
            text.came.append(stated)
            return [Text(stated, item, {"text": text})]
        seen = "".join(text.came)
        if stated == seen or (seen and not self._answer.text.examines):
            return []
        read, seen = _as_read(stated or ""), _as_read(seen)
        repeats = stated is not None and (seen.startswith(read) or seen.endswith(read))
        return [] if repeats else [Other(item, shown=None)]

    # The end

    def _read_end(self, source: Incoming, document: bool) -> list[Part]:
        """The terminal event, which repeats all items, or a document, which is nothing else."""
        status, finish = source.how_ended()
        entries, parts = objects_in(source.inner("response").get("output")), list[Part]()
        if len(entries) > MOST_CALLS:
            raise LimitReached
        for place, (entry, item) in enumerate(zip(entries, self._items.match(entries), strict=True)):
            if not self._is_call(entry):
                self._read_by_model.add_results(entry)
                item = item or self._items.open(kind_of(entry), string_of(entry.get("id")), place, entry)
                parts += self._read_whole(item, entry)
                continue
            fragment = self._fragment(entry, place)
            if document:
                fragment.arguments, fragment.given = fragment.given, None
                fragment.followed = not fragment.arguments.strip() and place + 1 < len(entries)
            parts.append(fragment)
        tokens = tokens_in(source.inner("response").get("usage"), "output_tokens")
        return [*parts, Stop(source.kind, finish, tokens=tokens, failed=status in _FAILED)]


def _beginning(item: Item) -> Other:
    return Other(item, begins=True, quiet=item.kind in (MESSAGE, REASONING))


# Texts


def _text_in(entry: Any) -> str | None:
    """The text of a part; None if it refuses, is spoken, or is in a form that is not known."""
    if not isinstance(entry, dict):
        return shown_text(entry)
    return None if entry.get("refusal") or entry.get("transcript") else shown_text(entry.get("text"))


def _as_read(text: str) -> str:
    """The text as people read it: halves of a character that two deltas brought joined, without white space, and
    without the tokens of a template at its end, which do not keep a call before them from being one."""
    joined = without_tokens(text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return "".join(joined.split())


def _reasoning_in(body: Json) -> str:
    """The words of the model in a finished item, or else their summary."""
    for key in ("content", "summary"):
        said = [string_of(entry.get("text")) for entry in objects_in(body.get(key))]
        if any(said):
            return "\n\n".join(filter(None, said))
    return ""
