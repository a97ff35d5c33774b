"""Framing of WebSocket messages: each message is one JSON text and one event, and its `type` member is its type."""

from __future__ import annotations

import json
import re

from ..sizes import MOST_MARKS, marks_in
from .events import Event

_TYPE_FIRST = re.compile(r'\s*+\{\s*+"type"\s*+:\s*+"([^"\\]*+)"')


def type_of(text: str) -> str | None:
    """The type of a message; None if it is no JSON object, has no type, or is too large to parse just for that.

    Servers send the type as the first member.
    """
    first = _TYPE_FIRST.match(text)
    if first is not None:
        return first[1]
    try:
        message = json.loads(text) if marks_in(text) <= MOST_MARKS else None
    except (ValueError, RecursionError):
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
    """A message of ours; the JSON contains its type. A lone surrogate is written as its escape."""
    return data.encode("utf-8", "backslashreplace")
