"""From the events of a response to parts: text, thoughts, what is said about calls, and how the response ended."""

from __future__ import annotations

from collections import Counter
from typing import Any
from unicodedata import normalize

from ... import payload
from ...answer import Answer
from ...ids import Ids
from ...mend.finish import Finish
from ...parts import Fragment, Json, Other, Part, Stop, Text, Thought
from ...payload import shown_text, string_of
from ...request.limit import tokens_in
from ...request.read_by_model import ReadByModel
from ...sizes import MOST_CALLS, LimitReached
from ...textcalls.tokens import without_tokens
from .events import ADDED, ARGUMENTS, CITED, ENDED, FAILED, FAMILIES, Incoming
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
    kind_of,
)


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
        item_id, place = source.text("item_id"), source.number("output_index")
        if stem == ARGUMENTS and verb == "delta":
            return [Fragment(place, arguments=payload.text_of(source.message.get("delta")), item=item_id)]
        if stem == ARGUMENTS:
            given = payload.text_of(source.message.get("arguments"))
            return [Fragment(place, name=source.text("name"), given=given, item=item_id)]
        if kind in (ADDED, ENDED):
            return self._read_item(source, begins=kind == ADDED)
        if item_id in self._sent_again:
            return self._hold(item_id, source)
        item = self._items.known(item_id, place)
        return [Other(item, quiet=True, waits=item is not None and item.waits)]

    # Items

    def _read_item(self, source: Incoming, *, begins: bool) -> list[Part]:
        body, place = source.item, source.number("output_index")
        kind, wire_id = kind_of(body), str(body.get("id") or "")
        self._read_by_model.add_results(body)
        if not kind:
            return [Other(quiet=True, waits=True)]
        if kind == CALL:
            return [_fragment(body, place, begins=begins, ends=not begins)]
        if kind == FREEFORM and str(body.get("call_id") or "") in self._freeform:
            return self._read_sent_again(source, body, begins)
        known = self._items.known(wire_id)
        known = known if known is not None and known.kind == kind else None
        if begins:
            announced = known is not None and not known.over
            return [] if announced else self._begin(self._items.open(kind, wire_id, place, body))
        item = self._items.find(kind, wire_id, place)
        if item is None and known is not None:
            return []  # Its end, sent again.
        return self.end(item or self._items.open(kind, wire_id, place, body), body)

    def _begin(self, item: Item) -> list[Part]:
        if item.kind == FREEFORM:
            item.waits = self._answer.text_undecided
            return [Other(item, begins=not item.waits, waits=item.waits)]
        parts: list[Part] = [Other(item, begins=True, quiet=item.kind in (MESSAGE, REASONING))]
        content = item.body.get("content") if item.kind == MESSAGE else None
        if content and not isinstance(content, list):
            parts.append(Other(item, shown=None))
        for number, entry in enumerate(content if isinstance(content, list) else ()):
            text = _text_in(entry)
            shown = self._restate(item.part(TEXT, number), text if not text or _is_text(entry) else None)
            parts += _seen(item, shown)
        return parts

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
        elif item.kind == REASONING and (text := _reasoning_text(item, body)):
            parts.append(Thought(text, item))
        if body.get("status") == "incomplete" and (parts or item.kind == MESSAGE):
            parts.append(Other(item))  # Its text was cut off, so it ends with no call.
        return [*parts, Other(item, {"item": body}, ends=not item.waits, quiet=item.waits, waits=item.waits)]

    def _content(self, item: Item, content: Any) -> list[Part]:
        """The texts of a finished message that the client does not have yet; what it shows otherwise."""
        if not isinstance(content, list):
            return [Other(item, shown=None)] if content else []
        parts: list[Part] = []
        for number, entry in enumerate(content[:MOST_CALLS]):
            text, part = _text_in(entry), item.parts.get((TEXT, number))
            if part is not None and part.came:
                parts += _seen(item, self._restate(part, text))
            elif text and _is_text(entry):
                part = item.part(TEXT, number)
                part.came.append(text)
                parts.append(Text(text, item, {"part": part}))
                parts += [Other(item)] if entry.get("annotations") else []
            else:
                parts += _seen(item, None if text else text)
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

    def _hold(self, item_id: str, source: Incoming) -> list[Part]:
        part = Other(source=source)
        source.parts = [part]
        self._sent_again[item_id].append(part)
        self._answer.tail.keep(part)
        return []

    # Texts

    def _read_text(self, source: Incoming, stem: str, verb: str) -> list[Part]:
        item_kind, kind = FAMILIES[stem]
        told, delta = source.message.get("part"), source.message.get("delta")
        if stem == "response.content_part" and isinstance(told, dict):
            item_kind, kind = _KINDS.get(string_of(told.get("type")), (item_kind, kind))
        item = self._item_of(source, item_kind)
        part = item.part(kind, source.number("summary_index" if kind == SUMMARY else "content_index") or 0)
        body: Json = {"part": part}
        begins = verb == "added" and stem != CITED
        if verb == "delta" and kind == TEXT:
            return [self._read_delta(item, part, delta, body)]
        if verb == "delta" and isinstance(delta, str):
            part.show(delta)
        part.over = part.over or verb == "done"
        if item_kind == REASONING:
            return [Thought("", item, body)] if verb == "delta" else [Other(item, body, quiet=True)]
        if kind == REFUSAL:
            text = delta if verb == "delta" else source.message.get("refusal") or _text_in(told) != ""
            return [Other(item, body, refusal=bool(text), shown=None if text else "", quiet=begins, begins=begins)]
        if stem == CITED:
            # It shows that the text before it is no call; what may still become one goes before it.
            answer = self._answer
            waits = answer.engaged and not (answer.waits or answer.text_undecided)
            return [Other(item, body, quiet=waits, waits=waits)]
        shown = self._restate(part, _text_in(told) if told else _text_in(source.message))
        if begins:
            return [Other(item, body, begins=True, quiet=shown == "", shown=shown)]
        return [*_seen(item, shown), Other(item, body, ends=True)]

    def _item_of(self, source: Incoming, kind: str) -> Item:
        """The item whose text an event is about; a new one, if it is the first."""
        wire_id, place = source.text("item_id"), source.number("output_index")
        item = self._items.find(kind, wire_id, place)
        if item is None:
            known = self._items.known(wire_id)
            late = known is not None and known.kind == kind
            item = known if known is not None and late else self._items.open(kind, wire_id, place, {})
        self._items.alias(item, wire_id)
        return item

    def _read_delta(self, item: Item, part: ItemPart, delta: Any, body: Json) -> Part:
        if not isinstance(delta, str) or not delta:
            return Other(item, body, shown=None if delta else "", quiet=not delta)
        if part.over or item.over:
            return Other(item, body, shown=None)
        part.came.append(delta)
        return Text(delta, item, body)

    def _restate(self, part: ItemPart, text: str | None) -> str | None:
        """What an event shows that says a text as a whole: nothing, if it repeats what came."""
        if part.came:
            known = not self._answer.searches_text or (text is not None and _repeats(text, "".join(part.came)))
            return "" if known else None
        if text:
            part.show(text)
        return text

    # The end

    def read_end(self, source: Incoming, finish: Finish, *, streamed: bool) -> list[Part]:
        """The terminal event, which repeats all items, or a document, which is nothing else."""
        output = source.response.get("output")
        entries = [entry for entry in output if isinstance(entry, dict)] if isinstance(output, list) else []
        if len(entries) > MOST_CALLS:
            raise LimitReached
        parts, failed = list[Part](), source.status in FAILED
        new = Counter(kind_of(entry) for entry in entries)
        new.subtract(item.kind for item in self._items.all)
        for place, entry in enumerate(entries):
            self._read_by_model.add_results(entry)
            if kind_of(entry) == CALL:
                fragment = _fragment(entry, place, again=True)
                if not streamed:
                    fragment.arguments, fragment.given = fragment.given, None
                    fragment.followed = not fragment.arguments.strip() and place + 1 < len(entries)
                parts.append(fragment)
            elif not (failed and streamed):
                copy = new[kind_of(entry)] <= 0 or any(_is_copy(entry, one) for one in entries[:place])
                parts += self._read_listed(entry, place, copy)
        if not failed:
            status = "incomplete" if source.status == "incomplete" else "completed"
            for item in self._items.all:
                if not item.over and item.kind in (MESSAGE, REASONING):
                    parts += self.end(item, {"type": item.kind, **item.body, "status": status})
        tokens = tokens_in(source.response.get("usage"), "output_tokens")
        return [*parts, Stop(source.kind, finish, tokens=tokens, failed=failed)]

    def _read_listed(self, entry: Json, place: int, copy: bool) -> list[Part]:
        """An item in the list. `copy`: if it has a new id, it is one that is known under another."""
        item = self._items.listed(entry)
        if item is not None and not item.over:
            return self.end(item, entry)
        if item is None and not copy:
            item = self._items.open(kind_of(entry) or MESSAGE, string_of(entry.get("id")), place, entry)
            return [Other(item, begins=True, quiet=item.kind in (MESSAGE, REASONING)), *self.end(item, entry)]
        if kind_of(entry) != MESSAGE or not self._answer.searches_text:
            return []
        content = entry.get("content")
        texts = [_text_in(part) for part in (content if isinstance(content, list) else [content])]
        return _seen(item, "" if all(self._is_known(text) for text in texts) else None)

    def _is_known(self, text: str | None) -> bool:
        """Whether the search has seen a text, in any item."""
        if not text:
            return text is not None
        parts = (part for item in self._items.all for part in item.parts.values() if part.kind == TEXT)
        seen = ["".join(part.came) for part in parts]
        return (
            text in seen
            or any(_as_read(text) == _as_read(one) for one in seen)
            or any(_repeats(text, one) for one in seen[-1:])
        )


_KINDS = {REFUSAL: (MESSAGE, REFUSAL), REASONING_TEXT: (REASONING, REASONING_TEXT)}
"""Parts in `response.content_part` that are no text of a message."""


def _seen(item: Item | None, shown: str | None) -> list[Part]:
    """What the client sees outside of deltas."""
    return [Other(item, shown=shown)] if shown != "" else []


def _fragment(body: Json, place: int | None, **more: Any) -> Fragment:
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


def _is_copy(entry: Json, one: Json) -> bool:
    """Whether the list has an item twice. A freeform call with another input is another call."""
    same = any(entry.get(key) and entry.get(key) == one.get(key) for key in ("call_id", "id"))
    return same and all(entry.get(key) == one.get(key) for key in ("type", "name", "input"))


# Texts


def _text_in(entry: Any) -> str | None:
    """The text of a part; None if it refuses, is spoken, or is in a form that is not known."""
    if not isinstance(entry, dict):
        return shown_text(entry)
    return None if entry.get("refusal") or entry.get("transcript") else shown_text(entry.get("text"))


def _is_text(entry: Any) -> bool:
    return isinstance(entry, dict) and entry.get("type") == TEXT


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


def _reasoning_text(item: Item, body: Json) -> str:
    """The words of the model, or else their summary."""
    for kind, key in ((REASONING_TEXT, "content"), (SUMMARY, "summary")):
        entries = body.get(key)
        texts = (
            [entry.get("text") for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
        )
        if not any(texts):
            texts = ["".join(part.came) for (of, _), part in sorted(item.parts.items()) if of == kind]
        if whole := "\n\n".join(text for text in texts if isinstance(text, str) and text):
            return whole
    return ""
