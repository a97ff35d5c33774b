"""A text is told whole three times when it ends: by itself, in its part and in its item. A long one is read once.

The string is cut out of the event, a short one stands in for it while the rest is read as JSON, and what was read
gets the text back. The second and the third time the string is recognised by its bytes.
"""

from __future__ import annotations

from json import decoder
from typing import Any

Json = dict[str, Any]

TELLING = frozenset({"response.output_text.done", "response.content_part.done", "response.output_item.done"})
LONG = 1024
_STAND_IN, _STOOD_IN = '"\\u0000a long text\\u0000"', "\0a long text\0"
_KEY = '"text":'
_scan = decoder.scanstring  # type: ignore[attr-defined]  # what `json.loads` itself reads a string with


class LongText:
    """The last long text."""

    __slots__ = ("_literal", "_value")

    def __init__(self) -> None:
        self._literal = ""
        """As it stands in the events, quotes included."""
        self._value = ""

    def without(self, data: str) -> str | None:
        """The event with the stand-in for its first text; None where that is not long or does not end."""
        start = data.find(_KEY) + len(_KEY)
        if start < len(_KEY) or len(data) - start < LONG:
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
        short = f"{data[:start]}{_STAND_IN}{data[start + len(self._literal) :]}"
        return short if short.count(_STAND_IN) == 1 else None

    def put_back(self, message: Json) -> bool:
        """Put the text where its stand-in was read. False when that is no place for a text."""
        item = message.get("item")
        content = item.get("content") if isinstance(item, dict) else None
        for there in (message, message.get("part"), *(content if isinstance(content, list) else ())):
            if isinstance(there, dict) and there.get("text") == _STOOD_IN:
                there["text"] = self._value
                return True
        return False

    def written(self, text: str) -> str:
        """A piece of the event as it came."""
        return text.replace(_STAND_IN, self._literal)
