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
        if needed and self.id and body.get("id") != self.id:
            missing["id"] = self.id
        return {**body, **missing} if missing else body

    def as_sent(self, body: Json) -> Json:
        """The finished item with the texts that the client got; the same object if nothing changes."""
        body = self.with_needed(body)
        content = body["content"] if self.texts else None
        if not isinstance(content, list):
            return body
        made = [*content, *[{"type": TEXT, "text": "", "annotations": []}] * (max(self.texts) + 1 - len(content))]
        for number, text in self.texts.items():
            if isinstance(made[number], dict) and made[number].get("type") != REFUSAL:
                made[number] = text.in_part(made[number])
        return body if made == content else {**body, "content": made}


class Items:
    """All items of a response, but for calls that are still put together."""

    def __init__(self, unique: Callable[[str], str]) -> None:
        """`unique`: makes a new id for a call."""
        self._unique = unique
        self.all: list[Item] = []
        self.changed = False
        """A call was held, or the client got an item otherwise than it came: the list at the end is written anew."""
        self._known: dict[str | int | None, Item] = {}
        """The last item at each index of the upstream, and under each of its ids."""
        self._taken: set[str | int] = set()
        """The ids and the indices of the items that the client knows."""
        self._listed: dict[int, Item] = {}
        """The items that the entries of the list repeat, by the identity of the entry."""

    def open(self, kind: str, wire_id: str, wire_index: int | None, body: Json) -> Item:
        if len(self.all) >= MOST_CALLS:
            raise LimitReached
        item = Item(kind, wire_id, wire_index, body)
        self.all.append(item)
        self._known |= {key: item for key in (wire_id, wire_index) if key not in ("", None)}
        return item

    def known(self, wire_id: str, wire_index: int | None = None) -> Item | None:
        return self._known.get(wire_id) or self._known.get(wire_index)

    def find(self, kind: str, wire_id: str, wire_index: int | None) -> Item | None:
        """The unfinished item that an event is about; without an index the last one, as ids may change."""
        found = [self._known.get(wire_id), self._known.get(wire_index)]
        found += reversed(self.all) if wire_index is None else ()
        item = next((one for one in found if one is not None and one.kind == kind and not one.over), None)
        if item is not None and wire_id:
            self._known[wire_id] = item
        return item

    def announce(self, item: Item) -> None:
        """The client gets to know an item: choose its id and its index."""
        base = item.id = item.wire_id or self.fresh(item.kind)
        count, item.index = 1, -1 if item.wire_index is None else item.wire_index
        while item.id in self._taken:
            count += 1
            item.id = f"{base}_{count}"
        if item.index < 0 or item.index in self._taken:
            item.index = max((one for one in self._taken if isinstance(one, int)), default=-1) + 1
        self._taken |= {item.id, item.index}

    def fresh(self, kind: str) -> str:
        return f"{_PREFIXES.get(kind, 'item')}_{self._unique('').removeprefix('call_')}"

    # The list of all items in the terminal event and in a document

    def match(self, entries: list[Json], kind: str = "") -> list[Item | None]:
        """The items that these entries of the list repeat: by their ids, or else the next of their type.

        `kind`: the type of all of them, if it is not the one that they name.
        """
        by_id: dict[tuple[str, str], Item] = {}
        for one in reversed(self.all):
            by_id |= {(one.kind, name): one for name in (one.body.get("id"), one.wire_id, one.id) if name}
        for entry in entries:
            item = by_id.get((kind or kind_of(entry), string_of(entry.get("id"))))
            if item is not None:
                self._listed[id(entry)] = item
        taken = set(map(id, self._listed.values()))
        for entry in entries:
            left = (one for one in self.all if one.kind == (kind or kind_of(entry)) and id(one) not in taken)
            item = self._listed.get(id(entry)) or next(left, None)
            if item is not None:
                self._listed[id(entry)] = item
                taken.add(id(item))
        return [self._listed.get(id(entry)) for entry in entries]

    def keep(self, entry: Json, item: Item | None) -> Item:
        """The list has this entry: what no event told of it, it tells."""
        if item is None:
            item = self._listed[id(entry)] = self.open(kind_of(entry), string_of(entry.get("id")), None, entry)
        if not item.over:
            item.over, item.body = True, entry
        return item

    def output(self, listed: Any) -> Any:
        """The list of all items as the client got them; the list that came, if it is that or nothing was changed.

        An item that only the list has stays behind the one before it. A call that the client did not get is left out.
        """
        entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
        if entries and not self.changed:
            return listed
        self.match([entry for entry in entries if id(entry) not in self._listed], CALL)
        place, places = -1, dict[int, tuple[int, Item]]()
        for item in [self._listed[id(entry)] for entry in entries if id(entry) in self._listed]:
            place = item.index if item.index >= 0 else place
            places[id(item)] = place, item
        places |= {id(item): (item.index, item) for item in self.all if item.index >= 0}
        known = [item for _, item in sorted(places.values(), key=lambda one: one[0])]
        made = [item.done or item.as_sent(item.body) for item in known if item.done or item.over]
        return listed if made == listed else made


def kind_of(body: Json) -> str:
    """The type of an item; if the server left it out, the type that its fields show, or ""."""
    kind = body.get("type")
    if isinstance(kind, str) and kind:
        return kind
    if "arguments" in body:
        return CALL
    return MESSAGE if "content" in body else ""
