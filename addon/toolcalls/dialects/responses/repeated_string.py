"""Parses a long text only once, although the protocol sends it three times: alone, in its part and in its item.

The string is cut out of the event, a placeholder replaces it while the rest is parsed as JSON, and the text is put
back into the result. The second and the third time the string is recognised by its bytes. The same is done for the
arguments of a call, which appear alone and in their item. If the server escapes them as we do, they are recognised
even the first time.
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
_scan = decoder.scanstring  # type: ignore[attr-defined]  # the function that `json.loads` uses for strings


class RepeatedString:
    """The last long text."""

    __slots__ = ("_key", "_literal", "_value")

    def __init__(self) -> None:
        self._key = "text"
        """The key of the last occurrence: the item contains the text under the same key."""
        self._literal = ""
        """The text as a JSON literal in the events, with its quotes."""
        self._value = ""

    def expect(self, literal: str, value: str) -> None:
        """Set the string that the next event is likely to contain."""
        self._literal, self._value = literal, value

    def without(self, data: str, kind: str) -> str | None:
        """The event with a placeholder for its first text; None if that is not long or is not a complete string."""
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
        """Put the text back where its placeholder is. False if the placeholder is not where texts are."""
        item = message.get("item")
        content = item.get("content") if isinstance(item, dict) else None
        for holder in (message, item, message.get("part"), *(content if isinstance(content, list) else ())):
            if isinstance(holder, dict) and holder.get(self._key) == _READ_PLACEHOLDER:
                holder[self._key] = self._value
                return True
        return False

    def written(self, text: str) -> str:
        """A piece of the event with the original text instead of the placeholder."""
        return text.replace(_PLACEHOLDER, self._literal)
