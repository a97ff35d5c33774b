"""How a stream is cut into events, and how an event of ours is written: the functions of each framing.

SSE is in `sse.py`. In NDJSON each line is one JSON text and one event; an empty line is an event without data. Of a
WebSocket each message is one JSON text and one event, and its `type` member is its type.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Final, NamedTuple

from ..sizes import MOST_MARKS, marks_in
from . import sse
from .sse import Event, in_one_line

_TYPE_FIRST = re.compile(r'\s*+\{\s*+"type"\s*+:\s*+"([^"\\]*+)"')


class Framing(NamedTuple):
    """The functions of one framing."""

    cut: Callable[[bytes | bytearray, int], tuple[list[bytes], int]]
    """The complete events that a block begins with, and the offset after them; -1 if none ends behind an offset."""
    read_event: Callable[[bytes], Event]
    ended: Callable[[bytes], bytes]
    """Completes an event whose end the stream did not send."""
    write: Callable[[str, str], bytes]
    """Writes an event of ours from its data and, if the framing has a field for it, its type."""
    event_per_chunk: bool = False
    """Whether every chunk is one event: then no ends are searched for, and every body is a stream."""


def _cut_lines(block: bytes | bytearray, start: int) -> tuple[list[bytes], int]:
    """The lines, each with its line end: an LF, because a CR alone ends no line of JSON."""
    end = block.rfind(b"\n", start) + 1
    return [line + b"\n" for line in bytes(block[:end]).split(b"\n")[:-1]], end or -1


def type_of(message: str) -> str | None:
    """The type of a message; None if it is no JSON object, has no type, or is too large to parse just for that.

    Servers send the type as the first member.
    """
    first = _TYPE_FIRST.match(message)
    if first is not None:
        return first[1]
    try:
        value = json.loads(message) if marks_in(message) <= MOST_MARKS else None
    except (ValueError, RecursionError):
        return None
    kind = value.get("type") if isinstance(value, dict) else None
    return kind if isinstance(kind, str) else None


def _read_message(raw: bytes) -> Event:
    text = raw.decode("utf-8", "replace")
    return Event(raw, text, type_of(text) or "")


def write_message(data: str, kind: str = "") -> bytes:
    """A message of ours; the JSON contains its type. A lone surrogate is written as its escape."""
    return data.encode("utf-8", "backslashreplace")


SSE: Final = Framing(sse.cut, sse.read_event, sse.ended, sse.write)
NDJSON: Final = Framing(
    _cut_lines,
    lambda raw: Event(raw, raw.decode("utf-8", "replace").strip() or None),
    lambda raw: raw if raw.endswith(b"\n") else raw + b"\n",
    lambda data, _: f"{in_one_line(data)}\n".encode("utf-8", "backslashreplace"),
)
MESSAGES: Final = Framing(
    lambda block, _: ([bytes(block)], len(block)), _read_message, bytes, write_message, event_per_chunk=True
)
