"""From the events of a response to parts: text, thoughts, what is said about calls, and how the response ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final
from unicodedata import normalize

from ... import payload
from ...mend.finish import Finish
from ...parts import Fragment, Json, Other, Part, SourceEvent, Stop, Text, Thought
from ...payload import shown_text, string_of
from ...request.limit import tokens_in
from ...request.read_by_model import ReadByModel
from ...sizes import MOST_CALLS, LimitReached
from ...textcalls.tokens import without_tokens
from .answer import AnswerOfItems, wrapped
from .items import CALL, FREEFORM, MESSAGE, REASONING, REFUSAL, TEXT, Item, Items, MessageText, kind_of

ADDED: Final = "response.output_item.added"
ENDED: Final = "response.output_item.done"
CREATED: Final = "response.created"
ECHOES: Final = frozenset({CREATED, "response.in_progress", "response.queued"})
COMPLETED: Final = "response.completed"
TERMINAL: Final = frozenset(
    {COMPLETED, "response.incomplete", "response.failed", "response.cancelled", "response.done"}
)
FAILED: Final = ("failed", "cancelled")
ARGUMENTS: Final = "response.function_call_arguments"
INPUT: Final = "response.custom_tool_call_input"
PART: Final = "response.content_part"
OUTPUT_TEXT: Final = "response.output_text"
DELTA: Final = f"{OUTPUT_TEXT}.delta"
CITED: Final = f"{OUTPUT_TEXT}.annotation"
REFUSED: Final = "response.refusal"
TEXTS: Final = {
    PART: MESSAGE,
    OUTPUT_TEXT: MESSAGE,
    CITED: MESSAGE,
    REFUSED: MESSAGE,
    "response.reasoning_text": REASONING,
    "response.reasoning_summary_text": REASONING,
    "response.reasoning_summary_part": REASONING,
}
"""The events about texts, with the type of item that each is about."""
NUMBER: Final = "sequence_number"
DROPPED: Final = "dropped"
"""The key in the body of a part whose event the client does not get."""


@dataclass(slots=True, eq=False)
class Incoming(SourceEvent):
    """An event of the upstream: its parsed data, the type on its `event:` line, and its type.

    `item`, `response`: what is in it; empty if there is none. `item_id`, `place`: the item that it is about.
    """

    message: Json
    line: str
    kind: str
    item: Json = field(init=False)
    response: Json = field(init=False)
    item_id: str = field(init=False)
    place: int | None = field(init=False)

    def __post_init__(self) -> None:
        inner = (self.message.get("item"), self.message.get("response"))
        self.item, self.response = (one if isinstance(one, dict) else {} for one in inner)
        self.item_id, self.place = string_of(self.message.get("item_id")), self.number("output_index")

    def saying(self, parts: list[Part]) -> list[Part]:
        """These parts, which remember this event."""
        self.parts = parts
        for part in parts:
            part.source = self
        return parts

    def number(self, key: str) -> int | None:
        value = self.message.get(key)
        return value if type(value) is int and value >= 0 else None

    def how_ended(self) -> tuple[str, Finish]:
        """The status of the response, and what a terminal event says of the end.

        With `incomplete_details` or an error a response was cut off, whatever its status.
        """
        response, status = self.response, self.kind.removeprefix("response.")
        status = str(response.get("status") or status) if status in ("completed", "done") else status
        if response.get("incomplete_details") or response.get("error") or status in ("incomplete", *FAILED):
            return status, Finish.CUT
        # llama.cpp, whose responses have `timings`, says `completed` of answers that its limit cut off.
        complete = status == "completed" and not response.get("timings")
        return status, Finish.COMPLETE if complete else Finish.UNKNOWN


class Reader:
    def __init__(self, answer: AnswerOfItems, items: Items, read_by_model: ReadByModel) -> None:
        self._answer, self._items, self._read_by_model = answer, items, read_by_model
        self._announced: set[str | int | None] = set()
        """The ids and the places of the calls that began with an event of their own."""

    def read(self, source: Incoming) -> list[Part]:
        """The parts of an event that does not end the response."""
        stem, _, verb = source.kind.rpartition(".")
        if stem in TEXTS:
            return self._read_text(source, stem, verb)
        if source.kind in (ADDED, ENDED):
            return self._read_item(source, source.item, begins=source.kind == ADDED)
        item_id, place = source.item_id, source.place
        item = self._items.known(item_id, place)
        if stem == ARGUMENTS and verb == "delta":
            return [Fragment(place, arguments=payload.text_of(source.message.get("delta")), item=item_id)]
        if stem == ARGUMENTS:
            given = payload.text_of(source.message.get("arguments"))
            return [Fragment(place, name=string_of(source.message.get("name")), given=given, item=item_id)]
        if stem != INPUT or (item is not None and item.kind == FREEFORM):
            return [Other(item, quiet=True)]
        if self._announced.isdisjoint((item_id, place)):
            return [_dropped()]  # Whose call it is, and the whole input, says the end of the item.
        # The pieces are held, but what counts is said behind them.
        given = wrapped(string_of(source.message.get("input"))) if verb == "done" else ""
        return [Fragment(place, arguments=given, given=given, item=item_id)]

    # Items

    def _read_item(self, source: Incoming, body: Json, *, begins: bool) -> list[Part]:
        kind, wire_id, place = kind_of(body), str(body.get("id") or ""), source.place
        self._read_by_model.add_results(body)
        if not kind:
            return [Other(quiet=True, waits=True)]
        if self._is_call(body):
            fragment = self._fragment(body, place, begins=begins, ends=not begins)
            # Whether the input of a freeform call is whole cannot be seen: the calls before it do not wait for that.
            first = begins and kind == FREEFORM and self._answer.holds_call
            self._announced |= {wire_id, place} if begins else set()
            return [Other(body={DROPPED: True}, begins=True), fragment] if first else [fragment]
        known = self._items.known(wire_id)
        again = known is not None and known.kind == kind
        if not begins:
            item = self._items.find(kind, wire_id, place)
            if item is None and again:
                return [_dropped()]  # Its end, sent again.
            item = item or self._items.open(kind, wire_id, place, body)
            return [*self._whole(item, body), Other(item, ends=True)]
        if known is not None and again and not known.over:
            return [_dropped()]
        item = self._items.open(kind, wire_id, place, body)
        self._answer.end.other_tools = self._answer.end.other_tools or kind == FREEFORM
        content = body.get("content") if kind == MESSAGE else None
        empty = all(_text_in(entry) == "" for entry in (content if isinstance(content, list) else [content]))
        return [*_seen(item, "" if empty else None), _beginning(item)]

    def _is_call(self, body: Json) -> bool:
        """Whether an item is a call of one of the client's tools. A freeform call that nobody declared passes."""
        if kind_of(body) != FREEFORM:
            return kind_of(body) == CALL
        return self._answer.is_freeform(string_of(body.get("name")), string_of(body.get("namespace")))

    def _fragment(self, body: Json, place: int | None, **more: Any) -> Fragment:
        """What an item says about a call."""
        self._items.changed = True
        freeform = kind_of(body) == FREEFORM
        text = payload.text_of(body.get("input" if freeform else "arguments"))
        given = None if more.get("begins") and not text else wrapped(text) if freeform else text
        call_id, name, item_id = (string_of(body.get(key)) for key in ("call_id", "name", "id"))
        cut, namespace = body.get("status") == "incomplete", string_of(body.get("namespace"))
        return Fragment(
            place, call_id, name, item=item_id, given=given, cut=cut, namespace=namespace, body=body, **more
        )

    def _whole(self, item: Item, body: Json) -> list[Part]:
        """What an item says that is repeated as a whole."""
        item.over, item.body = True, body
        parts: list[Part] = []
        if item.kind == MESSAGE:
            parts = self._content(item, body.get("content"))
        elif item.kind == REASONING and (text := _reasoning_in(body)):
            parts = [Thought(text, item)]
        if body.get("status") == "incomplete" and (parts or item.kind == MESSAGE):
            parts.append(Other(item))  # Its text was cut off, so it ends with no call.
        return parts

    def _content(self, item: Item, content: Any) -> list[Part]:
        """The texts of a finished message that the client does not have yet; what it shows otherwise."""
        if not isinstance(content, list):
            return [Other(item, shown=None)] if content else []
        parts: list[Part] = []
        for number, entry in enumerate(content[:MOST_CALLS]):
            text, known = _text_in(entry), item.texts.get(number)
            if known is not None and known.came:
                parts += _seen(item, self._restate(known, text))
            elif text and isinstance(entry, dict) and entry.get("type") == TEXT:
                known = item.text(number)
                known.came.append(text)
                parts.append(Text(text, item, {"text": known}))
                parts += [Other(item)] if entry.get("annotations") else []
            else:
                refused = isinstance(entry, dict) and bool(entry.get("refusal"))
                parts += [Other(item, shown=None, refusal=refused)] if text != "" else []
        return parts

    # Texts

    def _read_text(self, source: Incoming, stem: str, verb: str) -> list[Part]:
        entry, delta = source.message.get("part"), source.message.get("delta")
        kind = string_of(entry.get("type")) if isinstance(entry, dict) else ""
        reasons = TEXTS[stem] == REASONING or kind == "reasoning_text"
        owner, wire_id, place = REASONING if reasons else MESSAGE, source.item_id, source.place
        known = self._items.known(wire_id)
        late = known if known is not None and known.kind == owner else None
        item = self._items.find(owner, wire_id, place) or late or self._items.open(owner, wire_id, place, {})
        if reasons:
            return [Thought("", item)] if verb == "delta" else [Other(item, quiet=True)]
        begins = stem == PART and verb == "added"
        if stem == REFUSED or kind == REFUSAL:
            said = delta if verb == "delta" else source.message.get("refusal") or _text_in(entry) != ""
            return [Other(item, refusal=bool(said), shown=None if said else "", quiet=begins, begins=begins)]
        text = item.text(source.number("content_index") or 0)
        body: Json = {"text": text}
        if source.kind == DELTA:
            return [self._read_delta(item, text, delta, body)]
        if stem not in (PART, OUTPUT_TEXT):
            return [Other(item, body, quiet=True, waits=True)]
        shown = self._restate(text, _text_in(entry or source.message))
        if begins:
            return [Other(item, body, begins=True, quiet=shown == "", shown=shown)]
        text.over = True
        return [*_seen(item, shown), Other(item, body, ends=True)]

    def _read_delta(self, item: Item, text: MessageText, delta: Any, body: Json) -> Part:
        if not isinstance(delta, str) or not delta:
            return Other(item, body, shown=None if delta else "", quiet=not delta)
        if text.over or item.over:
            text.show(delta)
            return Other(item, body, shown=None)
        text.came.append(delta)
        return Text(delta, item, body)

    def _restate(self, text: MessageText, stated: str | None) -> str | None:
        """What an event shows that says a text as a whole: nothing, if it repeats what came."""
        if text.came:
            searched = self._answer.text.examines
            known = not searched or (stated is not None and _repeats(stated, "".join(text.came)))
            return "" if known else None
        if stated:
            text.show(stated)
        return stated

    # The end

    def read_end(self, source: Incoming, *, document: bool = False) -> list[Part]:
        """The terminal event, which repeats all items, or a document, which is nothing else."""
        status, finish = source.how_ended()
        failed, output, parts = status in FAILED, source.response.get("output"), list[Part]()
        entries = [entry for entry in output if isinstance(entry, dict)] if isinstance(output, list) else []
        if len(entries) > MOST_CALLS:
            raise LimitReached
        others = [entry for entry in entries if not self._is_call(entry)]
        items = dict(zip(map(id, others), self._items.match(others), strict=True))
        for place, entry in enumerate(entries):
            if id(entry) in items:
                self._read_by_model.add_results(entry)
                if failed and not document:
                    self._items.keep(entry, items[id(entry)])
                else:
                    parts += self._read_listed(entry, items[id(entry)])
                continue
            fragment = self._fragment(entry, place, again=True)
            if document:
                fragment.arguments, fragment.given = fragment.given, None
                fragment.followed = not fragment.arguments.strip() and place + 1 < len(entries)
            parts.append(fragment)
        tokens = tokens_in(source.response.get("usage"), "output_tokens")
        return [*parts, Stop(source.kind, finish, tokens=tokens, failed=failed)]

    def _read_listed(self, entry: Json, item: Item | None) -> list[Part]:
        """What an item in the list says that no event said. `item`: the one that it repeats."""
        told = item is not None and item.over
        listed = self._items.keep(entry, item)
        if not told:
            return [*([] if item is not None else [_beginning(listed)]), *self._whole(listed, entry)]
        return self._content(listed, entry.get("content")) if listed.kind == MESSAGE else []


def _dropped() -> Other:
    """An event that the client does not get."""
    return Other(body={DROPPED: True}, quiet=True)


def _beginning(item: Item) -> Other:
    return Other(item, begins=True, quiet=item.kind in (MESSAGE, REASONING))


def _seen(item: Item, shown: str | None) -> list[Part]:
    """What the client sees outside of deltas."""
    return [Other(item, shown=shown)] if shown != "" else []


# Texts


def _text_in(entry: Any) -> str | None:
    """The text of a part; None if it refuses, is spoken, or is in a form that is not known."""
    if not isinstance(entry, dict):
        return shown_text(entry)
    return None if entry.get("refusal") or entry.get("transcript") else shown_text(entry.get("text"))


def _repeats(text: str, seen: str) -> bool:
    """Whether a text repeats what was seen, or its beginning or end."""
    if text == seen:
        return True
    text, seen = _as_read(text), _as_read(seen)
    return seen.startswith(text) or seen.endswith(text)


def _as_read(text: str) -> str:
    """The text as people read it: halves of a character that two deltas brought joined, without white space, and
    without the tokens of a template at its end, which do not keep a call before them from being one."""
    text = without_tokens(text)
    if not text.isascii():
        text = normalize("NFC", text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    return "".join(text.split())


def _reasoning_in(body: Json) -> str:
    """The words of the model in a finished item, or else their summary."""
    for key in ("content", "summary"):
        entries = body.get(key) if isinstance(body.get(key), list) else []
        said = [entry.get("text") for entry in entries or () if isinstance(entry, dict)]
        if whole := "\n\n".join(text for text in said if isinstance(text, str) and text):
            return whole
    return ""
