"""The client's side of a Messages stream: one open block at a time, dense indices, written events.

Whatever the upstream does with its indices, what goes out is start, deltas, stop, one block after the other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ...calls import Outcome
from ...turn import payload
from ...turn.assembled_call import index_of
from ...wire import sse
from ...wire.escaper import PLACEHOLDER, fill_placeholder
from ...wire.events import Event
from .calls import Json, named_block

Place = int | None
"""The index of a block as the upstream numbers it; None where it gives none."""

_INDEX = re.compile(rb'"index"(\s*:\s*)\d+')

DELTA_NEEDS = {
    "text_delta": "text",
    "citations_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "thinking",
}
"""Which block a delta belongs to. Deltas of other types are not ours to judge."""
SAYS = {"text_delta": "text", "thinking_delta": "thinking"}

_EMPTY_BLOCKS: dict[str, Json] = {
    "text": {"type": "text", "text": ""},
    "thinking": {"type": "thinking", "thinking": "", "signature": ""},
}


@dataclass(slots=True, frozen=True)
class OpenBlock:
    """The block that is open for the client."""

    kind: str
    place: Place
    index: int


class Blocks:
    __slots__ = ("count", "open")

    def __init__(self) -> None:
        self.open: OpenBlock | None = None
        self.count = 0

    def start(self, kind: str, place: Place, event: Event, said: Json) -> bytes:
        """Open a block with the start event that came."""
        self.open = OpenBlock(kind, place, self.count)
        self.count += 1
        return self.renumbered(event, said)

    def begin(self, kind: str, place: Place) -> bytes:
        """Open an empty block of ours."""
        said = {"type": "content_block_start", "index": self.count, "content_block": _EMPTY_BLOCKS[kind]}
        self.open = OpenBlock(kind, place, self.count)
        self.count += 1
        return write(said)

    def stop(self) -> bytes:
        """Close the open block, whose own stop never came or comes too late."""
        assert self.open is not None
        index, self.open = self.open.index, None
        return write({"type": "content_block_stop", "index": index})

    def renumbered(self, event: Event, said: Json) -> bytes:
        """An event of the open block, as it came but for its index."""
        assert self.open is not None
        index = self.open.index
        if place_of(said) == index:
            return event.raw
        if "index" in said:
            # Inside a JSON string the quotes would be escaped: one match is the key itself.
            raw, count = _INDEX.subn(rb'"index"\g<1>%d' % index, event.raw)
            if count == 1:
                return raw
        return write({**said, "index": index})

    def text(self, text: str) -> list[bytes]:
        """A whole text block of ours."""
        index = self.count
        delta = {"type": "text_delta", "text": text}
        return [
            self.begin("text", None),
            write({"type": "content_block_delta", "index": index, "delta": delta}),
            self.stop(),
        ]

    def call(self, block: Json, outcome: Outcome, pieces: list[str]) -> list[bytes]:
        """A whole call: its start with empty input, one delta, its stop. `pieces` are arguments that are long."""
        start = self.call_start(block, outcome.id, outcome.name, None)
        delta = self.call_delta(PLACEHOLDER if pieces else outcome.arguments)
        return [start, fill_placeholder(delta, pieces), self.stop()]

    def call_start(self, block: Json, identity: str, name: str, place: Place) -> bytes:
        content = named_block(block, identity, name, {})
        self.open = OpenBlock("tool_use", place, self.count)
        self.count += 1
        return write({"type": "content_block_start", "index": self.open.index, "content_block": content})

    def call_delta(self, text: str) -> bytes:
        assert self.open is not None
        delta = {"type": "input_json_delta", "partial_json": text}
        return write({"type": "content_block_delta", "index": self.open.index, "delta": delta})


def write(said: Json) -> bytes:
    return sse.write(payload.write(said), said["type"])


def text_event(said: Json, text: str) -> bytes:
    """The event of a text delta, saying another text."""
    delta = said.get("delta")
    told = {**delta, "text": text} if isinstance(delta, dict) else {"type": "text_delta", "text": text}
    return write({**said, "delta": told})


def place_of(said: Json) -> Place:
    return index_of(said.get("index"))


def delta_of(said: Json) -> tuple[Json, str]:
    """The delta of an event and its type, which follows from its keys where the server left it out."""
    delta: Any = said.get("delta")
    if not isinstance(delta, dict):
        return {}, ""
    kind = delta.get("type")
    if isinstance(kind, str) and kind:
        return delta, kind
    for key, known in _KIND_OF_KEY.items():
        if key in delta:
            return {"type": known, **delta}, known
    return delta, ""


_KIND_OF_KEY = {
    "partial_json": "input_json_delta",
    "text": "text_delta",
    "thinking": "thinking_delta",
    "signature": "signature_delta",
}
