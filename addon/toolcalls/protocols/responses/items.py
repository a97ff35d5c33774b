"""The items of a response, which its events are about: as the upstream tells them, and as the client has them.

Servers disagree about ids and indices (a new id in every event, an index that is always 0 or absent), so neither is
trusted alone. The client gets one id and one index for each item, and never two items at one index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final
from unicodedata import normalize

from ...parts import Json
from ...payload import shown_text
from ...textcalls.tokens import without_tokens
from ...wire.events import MOST_CALLS, LimitReached

CALL, FREEFORM, MESSAGE, REASONING = "function_call", "custom_tool_call", "message", "reasoning"
TEXT, REFUSAL, SUMMARY, REASONING_TEXT = "output_text", "refusal", "summary_text", "reasoning_text"

_PREFIXES: Final = {CALL: "fc", MESSAGE: "msg", REASONING: "rs", FREEFORM: "ctc"}
_NEEDED: Final[dict[str, Json]] = {MESSAGE: {"role": "assistant", "content": []}, REASONING: {"summary": []}}
"""Fields that clients need: Codex drops an item that lacks one of them, and the deltas after it."""
PART_EVENTS: Final = {
    TEXT: "response.content_part",
    REFUSAL: "response.content_part",
    SUMMARY: "response.reasoning_summary_part",
}
TEXT_EVENTS: Final = {
    TEXT: "response.output_text",
    REFUSAL: "response.refusal",
    SUMMARY: "response.reasoning_summary_text",
}
MOST_PARTS: Final = 1_000
"""The most parts of one item: the upstream numbers them, and a list of that length is made."""


@dataclass(slots=True, eq=False)
class ItemPart:
    """One text in an item: of a message, of reasoning or of its summary."""

    kind: str
    number: int
    """Its position among the texts of the item."""
    came: list[str] = field(default_factory=list)
    """The texts that arrived to be sent; the deltas, as a rule."""
    said: str = ""
    """The text, if no delta said it."""
    over: bool = False
    """The upstream has ended it."""
    opened: bool = False
    sent: list[str] = field(default_factory=list)
    """The texts that the client got."""
    stated: str | None = None
    """The whole text, once the client got it in the event that ends it."""
    closed: bool = False
    """The client got the event that ends the part."""
    _joined: tuple[int, str] = (0, "")

    @property
    def text(self) -> str:
        """All of it that arrived."""
        if self._joined[0] != len(self.came):
            self._joined = (len(self.came), "".join(self.came))
        return self._joined[1] or self.said

    @property
    def changed(self) -> bool:
        """Whether the client got another text than the one that arrived: a call was in it."""
        return self.sent is not self.came and sum(map(len, self.sent)) != sum(map(len, self.came))


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
    entry: Json | None = None
    """The item in the list at the end."""
    call: bool = False
    """It calls a tool of the client, so it may be changed."""
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
            part = self.parts[kind, number] = ItemPart(kind, number)
        return part

    @property
    def complete(self) -> bool:
        """Whether its content is, even if its end never came."""
        parts = self.parts.values()
        return self.done is not None or (
            bool(parts) and all(part.stated is not None or part.closed for part in parts)
        )


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
        self.alias(item, wire_id)
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

    @property
    def in_order(self) -> list[Item]:
        """The items that the client knows, as it knows them."""
        return sorted((item for item in self.all if item.told), key=lambda item: item.index)


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


def text_in(entry: Any) -> str | None:
    """The text of a part; None if it refuses, is spoken, or is in a form that is not known."""
    if not isinstance(entry, dict):
        return shown_text(entry)
    return None if entry.get("refusal") or entry.get("transcript") else shown_text(entry.get("text"))


def is_text(entry: Any) -> bool:
    return isinstance(entry, dict) and entry.get("type") == TEXT


def repeats(text: str, seen: str) -> bool:
    """Whether a text repeats what was seen, or its beginning or end."""
    if text == seen:
        return True
    text, seen = as_read(text), as_read(seen)
    return seen.startswith(text) or seen.endswith(text)


def as_read(text: str) -> str:
    """The text as people read it: halves of a character that two deltas brought joined, without white space, and
    without the tokens of a template at its end, which do not keep a call before them from being one."""
    text = without_tokens(text)
    if not text.isascii():
        text = normalize("NFC", text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    return "".join(text.split())


def reasoning_text(item: Item, body: Json) -> str:
    """The words of the model, or else their summary."""
    for kind, key in ((REASONING_TEXT, "content"), (SUMMARY, "summary")):
        entries = body.get(key) if isinstance(body.get(key), list) else []
        texts: Iterable[Any] = [entry.get("text") for entry in entries or () if isinstance(entry, dict)]
        if not any(texts):
            texts = [part.text for (of, _), part in sorted(item.parts.items()) if of == kind]
        if whole := "\n\n".join(text for text in texts if isinstance(text, str) and text):
            return whole
    return ""


def ids_of(item: Item) -> set[Any]:
    bodies = (item.body, item.done or {})
    ids = {body.get(key) for body in bodies for key in ("id", "call_id") if isinstance(body.get(key), str)}
    return (ids | {item.wire_id, item.id}) - {""}


def position_of(item: Item, part: ItemPart) -> Json:
    """The fields by which an event names a part."""
    key = "summary_index" if part.kind == SUMMARY else "content_index"
    return {"item_id": item.id, "output_index": item.index, key: part.number}


def whole_part(entry: Any, kind: str) -> Json:
    """The part with a text field, which is empty if it was missing."""
    if not isinstance(entry, dict):
        return {"type": kind, text_key(kind): "", **({"annotations": []} if kind == TEXT else {})}
    return entry if isinstance(entry.get(text_key(kind)), str) else {**entry, text_key(kind): ""}


def text_key(kind: str) -> str:
    """The key of the text in parts of this kind."""
    return "refusal" if kind == REFUSAL else "text"
