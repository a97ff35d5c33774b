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
NEEDED: Final[dict[str, Json]] = {MESSAGE: {"role": "assistant", "content": []}, REASONING: {"summary": []}}
"""Fields that clients need: Codex drops an item that lacks one of them, and the deltas after it."""

_PREFIXES: Final = {CALL: "fc", MESSAGE: "msg", REASONING: "rs", FREEFORM: "ctc"}


@dataclass(slots=True, eq=False)
class ItemText:
    """One text of a message."""

    number: int
    came: list[str] = field(default_factory=list)
    """The texts that arrived; the deltas, as a rule."""
    sent: list[str] = field(default_factory=list)
    """Those that the client got."""
    opened: bool = False
    """The client knows that it begins."""

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
    """One item. `wire_id`: what the upstream calls it first; `id`: what the client knows it by, "" if it does not.

    `index`: where the client has it; until then, where the upstream has it, -1 if that does not say.
    """

    kind: str
    wire_id: str
    index: int
    body: Json
    """The item as the upstream last sent it."""
    id: str = ""
    texts: dict[int, ItemText] = field(default_factory=dict)
    """Those of a message, by their numbers."""
    said: Json = field(default_factory=dict)
    """What the item of a call says whenever it is told."""
    sent: list[str] = field(default_factory=list)
    """The pieces of the arguments of a call."""
    over: bool = False
    """The upstream has ended it."""
    done: Json | None = None
    """The finished item, as the client got it."""

    def text(self, number: int) -> ItemText:
        """One of its texts; a new one, if it is the first event about it."""
        return self.texts.setdefault(number, ItemText(number))

    def as_sent(self, body: Json) -> Json:
        """The item with the fields that clients need, and with the texts that the client got; the same object if
        nothing changes."""
        needed = NEEDED.get(self.kind, {})
        missing = {key: value for key, value in needed.items() if body.get(key) is None}
        if needed and self.id and body.get("id") != self.id:
            missing["id"] = self.id
        body = {**body, **missing} if missing else body
        content = body.get("content")
        if not isinstance(content, list):
            return body
        made = list(content)
        for number, text in sorted(self.texts.items()):
            if number >= len(content):
                made.append(text.in_part(None))
            elif isinstance(content[number], dict) and content[number].get("type") != REFUSAL:
                made[number] = text.in_part(content[number])
        return body if made == content else {**body, "content": made}


class Items:
    """All items of a response; a call is one of them as soon as the client gets it."""

    def __init__(self, unique: Callable[[str], str]) -> None:
        """`unique`: makes a new id for a call."""
        self._unique = unique
        self.all: list[Item] = []
        self.called = False
        """The upstream made a call of a tool of the client's."""
        self._known: dict[str | int, Item] = {}
        """The last item at each index of the upstream, and under each of its ids."""
        self._taken: set[str | int] = set()
        """The ids and the indices of the items that the client knows."""

    def open(self, kind: str, wire_id: str, place: int | None, body: Json) -> Item:
        if len(self.all) >= MOST_CALLS:
            raise LimitReached
        item = Item(kind, wire_id, -1 if place is None else place, body)
        self.all.append(item)
        self._known |= {key: item for key in (wire_id, place) if key not in ("", None)}
        return item

    def known(self, wire_id: str, place: int | None = None) -> Item | None:
        return self._known.get(wire_id) or self._known.get(-1 if place is None else place)

    def find(self, kind: str, wire_id: str, place: int | None) -> Item | None:
        """The unfinished item that an event is about, or else a finished one with its id. Without an index it is the
        last unfinished one, as ids may change."""
        named = self.known(wire_id)
        found = [named, self.known("", place), *(reversed(self.all) if place is None else ())]
        of_kind = [one for one in found if one is not None and one.kind == kind]
        item = next((one for one in of_kind if not one.over), None)
        if item is not None and wire_id:
            self._known[wire_id] = item
        return item if item is not None or named not in of_kind else named

    def announce(self, item: Item) -> None:
        """The client gets to know an item: choose its id and its index."""
        item.id = item.wire_id
        if item.id in ("", *self._taken):
            item.id = self.fresh(item.kind)
        if item.index < 0 or item.index in self._taken:
            item.index = max((one.index for one in self.all if one is not item), default=-1) + 1
        self._taken |= {item.id, item.index}

    def fresh(self, kind: str) -> str:
        return f"{_PREFIXES.get(kind, 'item')}_{self._unique('').removeprefix('call_')}"

    # The list of all items in the terminal event and in a document

    def match(self, entries: list[Json]) -> list[Item | None]:
        """The items that the entries of the list repeat: by their ids, or else the next of their type."""
        by_id: dict[tuple[str, str], Item] = {}
        for one in reversed(self.all):
            by_id |= {(one.kind, name): one for name in (one.body.get("id"), one.wire_id, one.id) if name}
        found = [by_id.get((kind_of(entry), string_of(entry.get("id")))) for entry in entries]
        left = [one for one in self.all if one not in found]
        for at, entry in enumerate(entries):
            if found[at] is None:
                found[at] = next((one for one in left if one.kind == kind_of(entry)), None)
                left = [one for one in left if one is not found[at]]
        return found

    def output(self, listed: Any) -> Any:
        """The list of all items as the client got them; the list that came, if it is that or nothing was changed.

        A call that the client did not get is left out. An item that only the list has stays in its place.
        """
        changed = self.called or any(one.done is not None and one.done is not one.body for one in self.all)
        if listed and not changed:
            return listed
        known = sorted(self.all, key=lambda one: (one.index, one.id != ""))
        made = [one.done or one.as_sent(one.body) for one in known if one.done or one.over]
        return listed if made == listed else made


def kind_of(body: Json) -> str:
    """The type of an item; if the server left it out, the type that its fields show, or ""."""
    kind = body.get("type")
    if isinstance(kind, str) and kind:
        return kind
    if "arguments" in body:
        return CALL
    return MESSAGE if "content" in body else ""
