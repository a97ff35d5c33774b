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

    end_of_last_event: Callable[[bytes | bytearray, int], int]
    """The offset after the last complete event of a block, searched from an offset; -1 if there is none."""
    split: Callable[[bytes], list[bytes]]
    """Cut a block of complete events into their bytes."""
    read_event: Callable[[bytes], Event]
    ended: Callable[[bytes], bytes]
    """Completes an event whose end the stream did not send."""
    write: Callable[[str, str], bytes]
    """Writes an event of ours from its data and, if the framing has a field for it, its type."""
    event_per_chunk: bool = False
    """Whether every chunk is one event: then no ends are searched for, and every body is a stream."""


def _lines_of(block: bytes) -> list[bytes]:
    """The lines of a block, each with its line end: an LF, because a CR alone ends no line of JSON."""
    *lines, last = block.split(b"\n")
    lines = [line + b"\n" for line in lines]
    return [*lines, last] if last else lines


def _read_line(raw: bytes) -> Event:
    text = raw.decode("utf-8", "replace").strip()
    return Event(raw, text or None)


def _write_line(data: str, kind: str = "") -> bytes:
    return f"{in_one_line(data)}\n".encode("utf-8", "backslashreplace")


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


SSE: Final = Framing(sse.end_of_last_event, sse.split, sse.read_event, sse.ended, sse.write)
NDJSON: Final = Framing(
    lambda block, start: block.rfind(b"\n", start) + 1 or -1,
    _lines_of,
    _read_line,
    lambda raw: raw if raw.endswith(b"\n") else raw + b"\n",
    _write_line,
)
MESSAGES: Final = Framing(
    lambda block, _: len(block), lambda block: [block], _read_message, bytes, write_message, event_per_chunk=True
)
