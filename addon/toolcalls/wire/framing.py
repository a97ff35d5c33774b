"""How a stream is cut into events: what the ledger and the stream have to know of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from . import messages, ndjson, sse
from .events import Event, WholeEnds


class Framing(NamedTuple):
    """The functions of one framing. Events remember their own bytes."""

    end_of_last_event: Callable[[bytes | bytearray, int], int]
    """The offset behind the last complete event of a block, searched from an offset; -1 when there is none."""
    split: Callable[[bytes], list[bytes]]
    """Cut a block of complete events into their bytes."""
    read_event: Callable[[bytes], Event]
    ended: Callable[[bytes], bytes]
    """An event that the stream did not end, with what ends it."""
    write: Callable[[str, str], bytes]
    """An event of ours: its data and, where the framing has a place for it, its type."""
    whole_ends: Callable[[bytes], WholeEnds]
    """How chunks of whole events end, where a block of events ended like this one."""
    one_a_chunk: bool = False
    """Is every chunk one event? Then nothing is searched for ends, and there are no bodies but streams."""


SSE: Final = Framing(sse.end_of_last_event, sse.split, sse.read_event, sse.ended, sse.write, sse.whole_ends)
NDJSON: Final = Framing(
    ndjson.end_of_last_event, ndjson.split, ndjson.read_event, ndjson.ended, ndjson.write, ndjson.whole_ends
)
MESSAGES: Final = Framing(
    messages.end_of_last_event,
    messages.split,
    messages.read_event,
    messages.ended,
    messages.write,
    ndjson.whole_ends,
    one_a_chunk=True,
)
