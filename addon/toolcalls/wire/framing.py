"""How a stream is cut into events, and how an event of ours is written: the functions of each framing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from . import messages, ndjson, sse
from .events import Event


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


SSE: Final = Framing(sse.end_of_last_event, sse.split, sse.read_event, sse.ended, sse.write)
NDJSON: Final = Framing(ndjson.end_of_last_event, ndjson.split, ndjson.read_event, ndjson.ended, ndjson.write)
MESSAGES: Final = Framing(
    messages.end_of_last_event,
    messages.split,
    messages.read_event,
    messages.ended,
    messages.write,
    event_per_chunk=True,
)
