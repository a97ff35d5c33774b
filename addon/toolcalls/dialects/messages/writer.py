"""Writes what an answer releases as events of Messages: one open block at a time, indices without gaps.

Whatever indices the upstream uses, the client gets start, deltas, stop, one block after the other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ...turn.answer import CompletedCall
from ...turn.parts import Index, ReadEvent, index_of
from ...wire.escaper import PLACEHOLDER, fill_placeholder
from ..reply_builder import ReplyBuilder
from .wire import (
    BLOCK_DELTA,
    BLOCK_START,
    BLOCK_STOP,
    TEXT,
    THINKING,
    TOOL_USE,
    Json,
    text_event,
    tool_use,
    write,
)

_SPACE: Final = "white space"
"""The key under which white space is held."""
_INDEX = re.compile(rb'"index"(\s*:\s*)\d+')
_EMPTY_BLOCKS: Final[dict[str, Json]] = {
    TEXT: {"type": TEXT, "text": ""},
    THINKING: {"type": THINKING, "thinking": "", "signature": ""},
}


@dataclass(slots=True, frozen=True)
class OpenBlock:
    """The block that is open in the client's stream."""

    kind: str
    upstream_index: Index
    index: int


class BlockWriter:
    __slots__ = ("_space", "count", "open_block")

    def __init__(self) -> None:
        self.open_block: OpenBlock | None = None
        self.count = 0
        self._space: tuple[Index, list[str]] | None = None
        """White space that has no block yet, with the upstream index it belongs to."""

    def open_at(self, upstream_index: Index) -> OpenBlock | None:
        """The open block, if it has this upstream index and is not a call."""
        block = self.open_block
        return (
            block if block is not None and block.upstream_index == upstream_index and block.kind != TOOL_USE else None
        )

    def has_open_text(self, upstream_index: Index) -> bool:
        """Whether the open block is a text with this upstream index."""
        block = self.open_at(upstream_index)
        return block is not None and block.kind == TEXT

    def start(self, kind: str, upstream_index: Index, read: ReadEvent) -> bytes:
        """Open a block with its original start event."""
        self.open_block = OpenBlock(kind, upstream_index, self.count)
        self.count += 1
        return self.renumbered(read)

    def begin(self, kind: str, upstream_index: Index, block: Json | None = None) -> bytes:
        """Open a block of ours, empty unless `block` says what it begins with."""
        index = self.count
        self.open_block = OpenBlock(kind, upstream_index, index)
        self.count += 1
        content = _EMPTY_BLOCKS[kind] if block is None else block
        return write({"type": BLOCK_START, "index": index, "content_block": content})

    def close_block(self) -> bytes:
        """Close the open block, because its own stop event is missing or arrives too late."""
        assert self.open_block is not None
        index, self.open_block = self.open_block.index, None
        return write({"type": BLOCK_STOP, "index": index})

    def close_block_with(self, read: ReadEvent) -> bytes:
        """Close the open block with its original stop event."""
        raw = self.renumbered(read)
        self.open_block = None
        return raw

    def renumbered(self, read: ReadEvent) -> bytes:
        """An event of the open block, unchanged except for its index."""
        assert self.open_block is not None
        index = self.open_block.index
        if index_of(read.payload.get("index")) == index:
            return read.raw
        if "index" in read.payload:
            # Inside a JSON string the quotes would be escaped, so a single match is the key itself.
            raw, count = _INDEX.subn(rb'"index"\g<1>%d' % index, read.raw)
            if count == 1:
                return raw
        return write({**read.payload, "index": index})

    def text(self, event: Json, text: str) -> bytes:
        """A text delta in the open block, modelled on this event."""
        assert self.open_block is not None
        return text_event({**event, "index": self.open_block.index}, text)

    def text_block(self, text: str) -> list[bytes]:
        """A whole text block of ours."""
        return [self.begin(TEXT, None), self.text({"type": BLOCK_DELTA}, text), self.close_block()]

    def keep_space(self, block: Index, text: str, like: Json, reply: ReplyBuilder) -> None:
        """Hold white space outside of blocks until text follows it."""
        if self._space is None or self._space[0] != block:
            self.pop_space(block, reply)
            self._space = (block, [])
        self._space[1].append(text)
        reply.hold(_SPACE, text_event(like, text))

    def pop_space(self, block: Index, reply: ReplyBuilder) -> str:
        """The white space that waited for this block to open; that of another block is dropped."""
        if self._space is None:
            return ""
        reply.release(_SPACE)
        (of_block, texts), self._space = self._space, None
        return "".join(texts) if of_block == block else ""

    def call(self, call: CompletedCall) -> list[bytes]:
        """A whole call: a start with empty input, one delta, a stop."""
        outcome = call.outcome
        start = self.call_start(call.extra, outcome.id, outcome.name, None)
        delta = self.call_delta(PLACEHOLDER if call.pieces else outcome.arguments)
        return [start, fill_placeholder(delta, call.pieces), self.close_block()]

    def call_start(self, block: Json, identity: str, name: str, upstream_index: Index) -> bytes:
        return self.begin(TOOL_USE, upstream_index, tool_use(block, identity, name, {}))

    def call_delta(self, text: str) -> bytes:
        assert self.open_block is not None
        delta = {"type": "input_json_delta", "partial_json": text}
        return write({"type": BLOCK_DELTA, "index": self.open_block.index, "delta": delta})

    def rest_of_delta(self, read: ReadEvent, text: str) -> bytes:
        """The rest of a fragment of arguments, which is not sent yet."""
        return write({**read.payload, "delta": {"type": "input_json_delta", "partial_json": text}})
