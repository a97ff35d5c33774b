"""Whether the search for calls has seen the text that an event shows to the client.

A text arrives in deltas, and other events repeat it: the end of the text, of its part and of its item, and the list
of all items. If one of them says more than the deltas did, or says it in a form that is not known, the search has not
seen what is around a call.
"""

from __future__ import annotations

from typing import Any
from unicodedata import normalize

from ...textcalls.tokens import without_tokens
from ...turn.items import Item, Items, TextPart
from ...turn.parts import shown_text
from .events import IncomingEvent
from .part_families import FAMILIES, REFUSAL, TEXT, PartFamily, family_of
from .sent_text import SentDeltas


class SeenTexts:
    __slots__ = ("_items", "_sent")

    def __init__(self, items: Items, sent: SentDeltas) -> None:
        self._items = items
        self._sent = sent

    def misses(self, incoming: IncomingEvent) -> bool:
        """Whether an event about a text shows something of it that the search has not seen and cannot be told."""
        stem, _, verb = incoming.type.rpartition(".")
        if stem not in FAMILIES:
            return False
        family = family_of(stem, incoming)
        if family.part == REFUSAL:
            return bool(incoming.message.get("delta")) or text_of_event(incoming) != ""
        if family.part != TEXT:
            return False
        if verb == "delta":
            text = incoming.message.get("delta")
            part = self._find(family, incoming)
            return bool(text) and (not isinstance(text, str) or (part is not None and part.searched))
        text = text_of_event(incoming)
        part = self._find(family, incoming)
        if text is None or verb != "done" or part is None:
            return text is None
        return self.misses_text(part, text)

    def misses_content(self, item: Item | None, content: Any) -> bool:
        """Whether the content of a message shows text that the search has not seen, and that is not searched now."""
        for number, entry in enumerate(content if isinstance(content, list) else [content]):
            text = text_in(entry)
            part = item.parts.get((TEXT, number)) if item is not None else None
            if text is None or (text and part is None and not is_text_part(entry)):
                return True
            if part is not None and self.misses_text(part, text):
                return True
        return False

    def misses_listed(self, response: Any, waiting: list[IncomingEvent]) -> bool:
        """Whether the list of all items shows text that no earlier event did. `waiting`: ends that are held."""
        output = response.get("output") if isinstance(response, dict) else None
        entries = output if isinstance(output, list) else []
        listed = [text for entry in entries if _is_message(entry) for text in _texts_in(entry.get("content"))]
        undecided = [text for end in waiting for text in _texts_in(end.item.get("content")) if text]
        undecided += [text for item in self._items.all for text in self._texts_of(item, undecided=True)]
        seen = {_as_read(text) for item in self._items.all for text in self._texts_of(item)}
        seen.update(map(_as_read, undecided))
        last = undecided[-1] if undecided else ""
        return any(text is None or not (_as_read(text) in seen or _repeats(text, last)) for text in listed)

    def misses_text(self, part: TextPart, text: str) -> bool:
        """Whether this text, which repeats that of a part, says more than the search has seen."""
        if part.search is None or part.changed:
            return False
        seen = self._seen(part)
        if seen is None:
            # There was too much to remember.
            return not without_tokens(text).endswith(without_tokens(part.search.held).lstrip())
        return not _repeats(text, seen)

    def _texts_of(self, item: Item, *, undecided: bool = False) -> list[str]:
        """The texts of an item that the search has seen. `undecided`: only those that may end with a call."""
        parts = [part for part in item.parts.values() if part.kind == TEXT]
        texts = [self._seen(part) for part in parts if part.undecided or not undecided]
        return [text for text in texts if text is not None]

    def _seen(self, part: TextPart) -> str | None:
        """The text of a part as the search has seen it; None if that was too much to remember."""
        if part.seen is not None:
            return part.seen
        sent = self._sent.text(part)
        if sent is None or part.search is None:
            return sent
        seen = sent + part.search.held
        if part.searched:
            part.seen = seen
        return seen

    def _find(self, family: PartFamily, incoming: IncomingEvent) -> TextPart | None:
        item = family.find(self._items, incoming) or self._items.known(incoming.text("item_id"))
        return item.parts.get((family.part, family.number_in(incoming))) if item is not None else None


def text_of_event(incoming: IncomingEvent) -> str | None:
    """The text in an event that begins or ends a text or its part; None if it is in a form that is not known."""
    part = incoming.message.get("part")
    return text_in(part) if part else text_in(incoming.message)


def text_in(entry: Any) -> str | None:
    """The text of a part; None if it refuses, is spoken, or is in a form that is not known."""
    if not isinstance(entry, dict):
        return shown_text(entry)
    return None if entry.get("refusal") or entry.get("transcript") else shown_text(entry.get("text"))


def is_text_part(entry: Any) -> bool:
    return isinstance(entry, dict) and entry.get("type") == TEXT


def _texts_in(content: Any) -> list[str | None]:
    """The texts of a message's content."""
    return [text_in(part) for part in (content if isinstance(content, list) else [content])]


def _is_message(entry: Any) -> bool:
    return isinstance(entry, dict) and entry.get("type") == "message"


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
