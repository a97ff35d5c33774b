"""One JSON text a message, as a WebSocket brings them: each is one event, and its type is the one that it says."""

from __future__ import annotations

import json
import re

from ..work import TooMuchWork, Work
from .events import Event

_TYPE_FIRST = re.compile(r'\s*+\{\s*+"type"\s*+:\s*+"([^"\\]*+)"')


def type_of(text: str) -> str | None:
    """The type of a message; None where it is no JSON object, has none, or is too much to be read for that.

    Servers say it first.
    """
    first = _TYPE_FIRST.match(text)
    if first is not None:
        return first[1]
    try:
        Work().read_json(text, last=True)
        message = json.loads(text)
    except (ValueError, RecursionError, TooMuchWork):
        return None
    kind = message.get("type") if isinstance(message, dict) else None
    return kind if isinstance(kind, str) else None


def end_of_last_event(block: bytes | bytearray, start: int = 0) -> int:
    return len(block)


def split(block: bytes) -> list[bytes]:
    return [block]


def read_event(raw: bytes) -> Event:
    text = raw.decode("utf-8", "replace")
    return Event(raw, text, type_of(text) or "")


def ended(raw: bytes) -> bytes:
    return raw


def write(data: str, kind: str = "") -> bytes:
    """A message of ours, of JSON that says its type itself. A lone surrogate is written as its escape."""
    return data.encode("utf-8", "backslashreplace")
