"""The items of a response, which its events are about: as the upstream tells them, and as the client has them.

Servers disagree about ids and indices (a new id in every event, an index that is always 0 or absent), so neither is
trusted alone. The client gets one id and one index for each item, and never two items at one index.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from ...parts import Json
from ...payload import string_of
from ...sizes import MOST_CALLS, LimitReached

CALL, FREEFORM, MESSAGE, REASONING = "function_call", "custom_tool_call", "message", "reasoning"
TEXT, REFUSAL = "output_text", "refusal"

_PREFIXES: Final = {CALL: "fc", MESSAGE: "msg", REASONING: "rs", FREEFORM: "ctc"}
_NEEDED: Final[dict[str, Json]] = {MESSAGE: {"role": "assistant", "content": []}, REASONING: {"summary": []}}
"""Fields that clients need: Codex drops an item that lacks one of them, and the deltas after it."""
_MOST_TEXTS: Final = 1_000
"""The most texts of one message: the upstream numbers them, and a list of that length is made."""


@dataclass(slots=True, eq=False)
class MessageText:
    """One text of a message."""

    number: int
    came: list[str] = field(default_factory=list)
    """The texts that arrived; the deltas, as a rule."""
    sent: list[str] = field(default_factory=list)
    """Those that the client got."""
    opened: bool = False
    """The client knows that it begins."""
    over: bool = False
    """The upstream has ended it."""

    def show(self, text: str) -> None:
        """The client gets this text in any case."""
        self.came.append(text)
        self.sent.append(text)

    def in_part(self, entry: Any) -> Json:
        """A part of the content, with the text that the client got: a call may have been in the one that arrived."""
        text = "".join(self.sent)
        if not isinstance(entry, dict):
            return {"type": TEXT, "text": text, "annotations": []}
        changed = len(text) != sum(map(len, self.came)) or entry.get("text") in (None, "")
        return {**entry, "text": text} if changed else entry


@dataclass(slots=True, eq=False)
class Item:
    """One item. `wire_id`, `wire_index`: what the upstream calls it first; `id`, `index`: what the client knows."""

    kind: str
    wire_id: str
    wire_index: int | None
    body: Json
    """The item as the upstream last sent it."""
    texts: dict[int, MessageText] = field(default_factory=dict)
    """Those of a message, by their numbers."""
    over: bool = False
    """The upstream has ended it."""
    only_listed: bool = False
    """No event told it: only the list has it."""
    id: str = ""
    index: int = -1
    """-1: the client does not know it yet."""
    done: Json | None = None
    """The finished item, as the client got it."""

    def text(self, number: int) -> MessageText:
        """One of its texts; a new one, if it is the first event about it."""
        if number not in self.texts:
            if number >= _MOST_TEXTS:
                raise LimitReached
            self.texts[number] = MessageText(number)
        return self.texts[number]

    def with_needed(self, body: Json) -> Json:
        """The item with the fields that clients need; the same object if nothing is missing."""
        needed = _NEEDED.get(self.kind, {})
        missing = {key: value for key, value in needed.items() if body.get(key) is None}
        if needed and body.get("id") != self.id:
            missing["id"] = self.id
        return {**body, **missing} if missing else body

    def as_sent(self, body: Json) -> Json:
        """The finished item with the texts that the client got; the same object if nothing changes."""
        body = self.with_needed(body)
        content = body["content"] if self.texts else None
        if not isinstance(content, list):
            return body
        told = [*content, *[{"type": TEXT, "text": "", "annotations": []}] * (max(self.texts) + 1 - len(content))]
        for number, text in self.texts.items():
            if isinstance(told[number], dict) and told[number].get("type") != REFUSAL:
                told[number] = text.in_part(told[number])
        return body if told == content else {**body, "content": told}


class Items:
    """All items of a response, but for calls that are still put together."""

    def __init__(self, unique: Callable[[str], str]) -> None:
        """`unique`: makes a new id for a call."""
        self._unique = unique
        self.all: list[Item] = []
        self.changed = False
        """A call was held, or the client got an item otherwise than it came: the list at the end is written anew."""
        self._by_id: dict[str, Item] = {}
        self._at: dict[int | None, Item] = {}
        self._ids: set[str] = set()
        self._indices: set[int] = set()
        self._listed: dict[int, Item] = {}
        """The items that the entries of the list repeat, by the identity of the entry."""

    def open(self, kind: str, wire_id: str, wire_index: int | None, body: Json) -> Item:
        if len(self.all) >= MOST_CALLS:
            raise LimitReached
        item = Item(kind, wire_id, wire_index, body)
        self.all.append(item)
        if wire_id:
            self._by_id[wire_id] = item
        if wire_index is not None:
            self._at[wire_index] = item
        return item

    def alias(self, item: Item, wire_id: str) -> None:
        """Note another id by which the upstream calls an item."""
        if wire_id:
            self._by_id[wire_id] = item

    def known(self, wire_id: str, wire_index: int | None = None) -> Item | None:
        return self._by_id.get(wire_id) or self._at.get(wire_index)

    def find(self, kind: str, wire_id: str, wire_index: int | None) -> Item | None:
        """The unfinished item that an event is about; without an index the last one, as ids may change."""
        for item in (self._by_id.get(wire_id), self._at.get(wire_index)):
            if item is not None and item.kind == kind and not item.over:
                return item
        if wire_index is not None:
            return None
        return next((item for item in reversed(self.all) if item.kind == kind and not item.over), None)

    def announce(self, item: Item) -> None:
        """The client gets to know an item: choose its id and its index."""
        wanted = item.wire_index
        if wanted is None or wanted in self._indices:
            wanted = max(self._indices, default=-1) + 1
        base = item.wire_id or self.fresh(item.kind)
        chosen, count = base, 1
        while chosen in self._ids:
            count += 1
            chosen = f"{base}_{count}"
        item.id, item.index = chosen, wanted
        self._ids.add(chosen)
        self._indices.add(wanted)

    def fresh(self, kind: str) -> str:
        return f"{_PREFIXES.get(kind, 'item')}_{self._unique('').removeprefix('call_')}"

    # The list of all items in the terminal event and in a document

    def match(self, entries: list[Json]) -> None:
        """Find the items that the entries of the list repeat, if they have the same id."""
        by_id: dict[tuple[str, str], Item] = {}
        for item in reversed(self.all):
            by_id |= {(item.kind, one): item for one in (item.body.get("id"), item.wire_id, item.id) if one}
        for entry in entries:
            fits = (by_id.get((kind, string_of(entry.get("id")))) for kind in _kinds_of(entry))
            found = next(filter(None, fits), None)
            if found is not None and id(entry) not in self._listed:
                self._listed[id(entry)] = found

    def listed(self, entry: Json, *, renamed: bool) -> Item | None:
        """The item that an entry of the list repeats. `renamed`: it may be one that is known under another id."""
        if id(entry) not in self._listed and renamed:
            taken, kinds = set(map(id, self._listed.values())), _kinds_of(entry)
            left = (item for item in self.all if item.kind in kinds and id(item) not in taken)
            item = next(left, None)
            if item is not None:
                self._listed[id(entry)] = item
        return self._listed.get(id(entry))

    def keep(self, entry: Json, item: Item | None) -> None:
        """The list has this entry at its end too, and nothing else of it is told."""
        if item is None:
            item = self._listed[id(entry)] = self.open(kind_of(entry), string_of(entry.get("id")), None, entry)
            item.only_listed = True
        if not item.over:
            item.over, item.body = True, entry

    def output(self, listed: Any) -> Any:
        """The list of all items as the client got them; the list that came, if it is that or nothing was changed."""
        entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
        if entries and not self.changed:
            return listed
        known = sorted((item for item in self.all if item.index >= 0), key=lambda item: item.index)
        self.match(entries)
        place = 0
        for entry in entries if any(item.only_listed for item in self.all) else ():
            item = self.listed(entry, renamed=True)
            if item is not None and item.only_listed and item.index < 0:
                self.announce(item)
                known.insert(place, item)
            if item in known:
                place = known.index(item) + 1
        made = [item.done or item.as_sent(item.body) for item in known if item.done or item.over]
        return listed if made == listed else made


def _kinds_of(entry: Json) -> tuple[str, ...]:
    """The types of an item that an entry may repeat."""
    kind = kind_of(entry)
    return (kind, CALL) if kind == FREEFORM else (kind,)


def kind_of(body: Json) -> str:
    """The type of an item; if the server left it out, the type that its fields show, or ""."""
    kind = body.get("type")
    if isinstance(kind, str) and kind:
        return kind
    if "arguments" in body:
        return CALL
    return MESSAGE if "content" in body else ""
