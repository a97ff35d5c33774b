"""A text is told whole three times when it ends: by itself, in its part and in its item. A long one is read once.

The string is cut out of the event, a placeholder stands for it while the rest is read as JSON, and what was read
gets the text back. The second and the third time the string is recognised by its bytes. So are the arguments of a
call, which are told by themselves and in their item; and where a server writes them as we do, even the first time.
"""

from __future__ import annotations

from json import decoder
from typing import Any

Json = dict[str, Any]

ARGUMENTS_DONE = "response.function_call_arguments.done"
_KEYS = {"response.output_text.done": "text", "response.content_part.done": "text", ARGUMENTS_DONE: "arguments"}
REPEATING = frozenset({*_KEYS, "response.output_item.done"})
LONG = 1024
_PLACEHOLDER, _READ_PLACEHOLDER = '"\\u0000a long text\\u0000"', "\0a long text\0"
_scan = decoder.scanstring  # type: ignore[attr-defined]  # what `json.loads` itself reads a string with


class RepeatedString:
    """The last long text."""

    __slots__ = ("_key", "_literal", "_value")

    def __init__(self) -> None:
        self._key = "text"
        """Under which it was told last: its item tells it under the same."""
        self._literal = ""
        """As it stands in the events, quotes included."""
        self._value = ""

    def expect(self, literal: str, value: str) -> None:
        """It is likely that this is told next."""
        self._literal, self._value = literal, value

    def without(self, data: str, kind: str) -> str | None:
        """The event with the placeholder for its first text; None where that is not long or does not end."""
        self._key = _KEYS.get(kind, self._key)
        key = f'"{self._key}":'
        start = data.find(key) + len(key)
        if start < len(key) or len(data) - start < LONG:
            return None
        start += data.startswith(" ", start)
        if not self._literal or not data.startswith(self._literal, start):
            if not data.startswith('"', start):
                return None
            try:
                self._value, end = _scan(data, start + 1)
            except ValueError:
                return None
            self._literal = data[start:end]
        if len(self._literal) < LONG:
            return None
        short = f"{data[:start]}{_PLACEHOLDER}{data[start + len(self._literal) :]}"
        return short if short.count(_PLACEHOLDER) == 1 else None

    def put_back(self, message: Json) -> bool:
        """Put the text where its placeholder was read. False when that is no place for a text."""
        item = message.get("item")
        content = item.get("content") if isinstance(item, dict) else None
        for holder in (message, item, message.get("part"), *(content if isinstance(content, list) else ())):
            if isinstance(holder, dict) and holder.get(self._key) == _READ_PLACEHOLDER:
                holder[self._key] = self._value
                return True
        return False

    def written(self, text: str) -> str:
        """A piece of the event as it came."""
        return text.replace(_PLACEHOLDER, self._literal)
