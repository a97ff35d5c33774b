"""How a stream is cut into events: what the ledger and the stream have to know of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from . import ndjson, sse
from .events import Event


class Framing(NamedTuple):
    """The functions of one framing. Events remember their own bytes."""

    end_of_last_event: Callable[[bytes | bytearray, int], int]
    """The offset behind the last complete event of a block, searched from an offset; -1 when there is none."""
    split: Callable[[bytes], list[bytes]]
    """Cut a block of complete events into their bytes."""
    read_event: Callable[[bytes], Event]
    ended: Callable[[bytes], bytes]
    """An event that the stream did not end, with what ends it."""


SSE: Final = Framing(sse.end_of_last_event, sse.split, sse.read_event, sse.ended)
NDJSON: Final = Framing(ndjson.end_of_last_event, ndjson.split, ndjson.read_event, ndjson.ended)
