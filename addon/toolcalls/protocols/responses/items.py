"""The items of a response, which its events are about: as the upstream tells them, and as the client has them.

Servers disagree about ids and indices (a new id in every event, an index that is always 0 or absent), so neither is
trusted alone. The client gets one id and one index for each item, and never two items at one index.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from ...parts import Json
from ...sizes import MOST_CALLS, LimitReached

CALL, FREEFORM, MESSAGE, REASONING = "function_call", "custom_tool_call", "message", "reasoning"
TEXT, REFUSAL, SUMMARY, REASONING_TEXT = "output_text", "refusal", "summary_text", "reasoning_text"

_PREFIXES: Final = {CALL: "fc", MESSAGE: "msg", REASONING: "rs", FREEFORM: "ctc"}
_NEEDED: Final[dict[str, Json]] = {MESSAGE: {"role": "assistant", "content": []}, REASONING: {"summary": []}}
"""Fields that clients need: Codex drops an item that lacks one of them, and the deltas after it."""
_CARRIED: Final = ("id", "type", "call_id", "name", "namespace", "arguments", "input")
"""What an item says in the list at the end as it did when it ended, beside its text."""
_MOST_PARTS: Final = 1_000
"""The most parts of one item: the upstream numbers them, and a list of that length is made."""


@dataclass(slots=True, eq=False)
class ItemPart:
    """One text in an item: of a message, of reasoning or of its summary."""

    kind: str
    number: int
    """Its position among the texts of the item."""
    came: list[str] = field(default_factory=list)
    """The texts that arrived; the deltas, as a rule."""
    over: bool = False
    """The upstream has ended it."""
    opened: bool = False
    sent: list[str] = field(default_factory=list)
    """The texts that the client got."""
    stated: str | None = None
    """The whole text, once the client got it in the event that ends it."""
    closed: bool = False
    """The client got the event that ends the part."""

    def show(self, text: str) -> None:
        """The client gets this text in any case."""
        self.came.append(text)
        self.sent.append(text)

    @property
    def changed(self) -> bool:
        """Whether the client got another text than the one that arrived: a call was in it."""
        return sum(map(len, self.sent)) != sum(map(len, self.came))


@dataclass(slots=True, eq=False)
class Item:
    """One item. `wire_id`, `wire_index`: what the upstream calls it first; `id`, `index`: what the client knows."""

    kind: str
    wire_id: str
    wire_index: int | None
    body: Json
    """The item as the upstream last sent it."""
    parts: dict[tuple[str, int], ItemPart] = field(default_factory=dict)
    over: bool = False
    """The upstream has ended it."""
    waits: bool = False
    """It began behind text that may be a call, and waits with it."""
    id: str = ""
    index: int = -1
    told: bool = False
    """The client knows it."""
    done: Json | None = None
    """The finished item, as the client got it."""

    def part(self, kind: str, number: int) -> ItemPart:
        """One of its parts; a new one, if it is the first event about it."""
        part = self.parts.get((kind, number))
        if part is None:
            if number >= _MOST_PARTS:
                raise LimitReached
            part = self.parts[kind, number] = ItemPart(kind, number)
        return part

    @property
    def complete(self) -> bool:
        """Whether its content is, even if its end never came."""
        return self.done is not None or (bool(self.parts) and all(part.over for part in self.parts.values()))


class Items:
    """All items of a response, but for calls that are still put together."""

    def __init__(self, unique: Callable[[str], str]) -> None:
        """`unique`: makes a new id for a call."""
        self._unique = unique
        self.all: list[Item] = []
        self._by_id: dict[str, Item] = {}
        self._at: dict[int | None, Item] = {}
        self._ids: set[str] = set()
        self._indices: set[int] = set()

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

    def tell(self, item: Item) -> None:
        """The client gets to know an item: choose its id and its index."""
        wanted = item.wire_index
        if wanted is None or wanted in self._indices:
            wanted = max(self._indices, default=-1) + 1
        base = item.wire_id or self.fresh(item.kind)
        chosen, count = base, 1
        while chosen in self._ids:
            count += 1
            chosen = f"{base}_{count}"
        item.id, item.index, item.told = chosen, wanted, True
        self._ids.add(chosen)
        self._indices.add(wanted)

    def fresh(self, kind: str) -> str:
        return f"{_PREFIXES.get(kind, 'item')}_{self._unique('').removeprefix('call_')}"

    # The list of all items in the terminal event and in a document

    def listed(self, entry: Any) -> Item | None:
        """The item that an entry repeats, if it has the same id."""
        wanted = entry.get("id") if isinstance(entry, dict) else None
        fits = (item for item in self.all if wanted and wanted in (item.id, item.wire_id, item.body.get("id")))
        return next((item for item in fits if item.kind == kind_of(entry)), None)

    def output(self, listed: Any, *, failed: bool = False) -> Any:
        """The list of all items, as the client got them. A failed response lists no call that it did not get."""
        entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
        known = {id(item): entry for entry in entries if (item := self.listed(entry)) is not None}
        told = sorted((item for item in self.all if item.told), key=lambda item: item.index)
        bodies = [(known.get(id(item)), _as_listed(item, known.get(id(item)))) for item in told]
        if not failed:
            final = [body for _, body in bodies if body is not None]
            same = {id(body) for body in final} == {id(entry) for entry in entries} and isinstance(listed, list)
            return listed if same else final
        sent = {id(entry): body for entry, body in bodies}
        calls = {id(entry) for entry in entries if kind_of(entry) == CALL}
        kept = [sent.get(id(entry)) if id(entry) in calls else entry for entry in listed or ()]
        return [entry for entry in kept if entry is not None] if isinstance(listed, list) else listed


def _as_listed(item: Item, entry: Json | None) -> Json | None:
    """The item in the list at the end: as it is listed, if that agrees with what the client got."""
    if entry is None or item.done is None:
        return item.done if entry is None else entry
    same = with_needed(entry, item) is entry and _texts_in(entry) == _texts_in(item.done)
    return entry if same and all(entry.get(key) == item.done.get(key) for key in _CARRIED) else item.done


def kind_of(body: Json) -> str:
    """The type of an item; if the server left it out, the type that its fields show, or ""."""
    kind = body.get("type")
    if isinstance(kind, str) and kind:
        return kind
    if "arguments" in body:
        return CALL
    return MESSAGE if "content" in body else ""


def with_needed(body: Json, item: Item) -> Json:
    """The item with the fields that clients need; the same object if nothing is missing."""
    missing = {key: value for key, value in _NEEDED.get(item.kind, {}).items() if body.get(key) is None}
    if item.kind in _NEEDED and body.get("id") != item.id:
        missing["id"] = item.id
    return {**body, **missing} if missing else body


def _texts_in(item: Json) -> list[str]:
    """The texts of a message."""
    content = item.get("content") if item.get("type") == MESSAGE else None
    entries = content if isinstance(content, list) else []
    return [str(entry.get("text") or entry.get("refusal") or "") for entry in entries if isinstance(entry, dict)]
