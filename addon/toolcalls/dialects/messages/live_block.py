"""The call that is sent while it arrives (`toolfix_aggregate=false`), and the events that wait for its end."""

from __future__ import annotations

from typing import Final

from ...mend.finish import Finish
from ...turn.block_answer import BlockAnswer
from ...turn.block_call import BlockCall
from ...turn.parts import Index, ReadEvent
from ..reply_builder import ReplyBuilder
from .wire import TOOL_USE, tool_use
from .writer import BlockWriter

_LATER: Final = "later"
"""The key under which the events are held that wait for the end of the live call."""


class LiveBlock:
    """The live call. Only the open block of a Messages stream may continue, so events of other blocks wait."""

    __slots__ = ("_answer", "_later", "_writer", "call", "later_blocks")

    def __init__(self, answer: BlockAnswer, writer: BlockWriter) -> None:
        self._answer = answer
        self._writer = writer
        self.call: BlockCall | None = None
        """The call whose block is open."""
        self._later: list[ReadEvent] = []
        self.later_blocks: set[Index] = set()
        """The blocks whose events wait."""

    @property
    def has_all(self) -> bool:
        """Whether there is a live call and the client has all of it."""
        live = self.call.live if self.call is not None else None
        return live is not None and live.complete

    def begin(self, call: BlockCall, read: ReadEvent, reply: ReplyBuilder) -> None:
        """Start sending a call that has just begun, unless the answer makes it wait."""
        live = self._answer.go_live(call)
        if live is None:
            return
        if self._writer.open_block is not None:
            reply.out.append(self._writer.close_block())
        reply.release(call.held_under)
        if call.extra == tool_use(call.extra, live.id, call.name, {}):
            reply.out.append(self._writer.start(TOOL_USE, call.index, read))
        else:
            reply.out.append(self._writer.call_start(call.extra, live.id, call.name, call.index))
        self._answer.assembler.calls.clear()
        self.call = call

    def take_fragment(self, read: ReadEvent, text: str, reply: ReplyBuilder) -> None:
        """Send as much of a fragment as keeps the arguments a strict JSON prefix, and hold the rest."""
        assert self.call is not None
        part = self._answer.next_live_part(self.call)
        size = len(part.arguments) if part is not None else 0
        if size == len(text):
            reply.out.append(self._writer.renumbered(read))
        elif size:
            reply.out.append(self._writer.call_delta(text[:size]))
            reply.hold(self.call.held_under, self._writer.rest_of_delta(read, text[size:]))
        else:
            reply.hold(self.call.held_under, read.raw)

    def postpone(self, read: ReadEvent, block: Index, reply: ReplyBuilder) -> None:
        """Hold this event until the live call is over."""
        self._later.append(read)
        if self.call is not None and block != self.call.index:
            self.later_blocks.add(block)
        reply.hold(_LATER, read.raw)

    def end(self, reply: ReplyBuilder, finish: Finish, stop: bytes, *, drop_refused: bool) -> bool:
        """Send the rest of the live call, if the mended text continues what was sent. False if it is refused."""
        call, self.call = self.call, None
        assert call is not None
        completed = self._answer.end_live(call, finish, drop_refused=drop_refused)
        reply.release(call.held_under)
        rest = completed.live.rest(completed.outcome) if completed.live is not None else ""
        reply.out += [self._writer.call_delta(rest)] if rest else []
        refused = completed.outcome.status == "refused"
        if not (refused and drop_refused and not self._answer.assembler.calls and not self._later):
            # Before an error, the block of an unfinished call stays open, because some clients run a closed block.
            reply.out.append(stop or self._writer.close_block())
        self._writer.open_block = None
        return not refused

    def pop_later(self, reply: ReplyBuilder) -> list[ReadEvent]:
        """The events that waited."""
        later, self._later = self._later, []
        self.later_blocks.clear()
        if later:
            reply.release(_LATER)
        return later
