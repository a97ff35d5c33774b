"""The parts of a Messages stream in, a legal sequence of blocks out.

Text, thinking and the server's own tools pass at once, under the next free index. A tool_use is held until the answer
lets it go (`turn/block_answer.py`), and goes out as a whole block. With aggregation off the first call in line goes
out while it comes, and what belongs to another block waits until it is over.
"""

from __future__ import annotations

from typing import Final

from ...mend.finish import Finish
from ...mend.mender import Mender
from ...policy import Policy
from ...request.request import Request
from ...textcalls.scanner import FoundCall
from ...turn.answer import CompletedCall
from ...turn.block_answer import BlockAnswer
from ...turn.block_call import BlockCall
from ...turn.parts import BlockEnd, BlockStart, CallStart, Fragment, OtherDelta, Place, ReadEvent, TextDelta
from ...turn.reasoning_search import ReasoningSearch
from ...turn.text_search import SearchResult, TextPiece
from ...unread.fast_path import PASSING_TEXT, CallFragments, Lesson
from ...wire.events import Hold
from ..reply_builder import ReplyBuilder
from .live_block import LiveBlock
from .wire import BLOCK_DELTA, TEXT, THINKING, Json, text_event, write
from .writer import BlockWriter

_TEXT, _STOP = "text", "stop"
"""Under these keys events are held."""
_TEXTS: Final = (TEXT, THINKING, "redacted_thinking")
"""Blocks that call nobody and show nothing."""
_SPOILER: Final = ",\x1a"
"""No JSON at any place of an open object. The Python SDK reads what is there of an object as the object (and nothing
at all as `{}`), so that a prefix left open would be run; on this it raises."""


class BlockSequence:
    __slots__ = (
        "_live",
        "_live_mode",
        "_other_calls",
        "_text_stop",
        "answer",
        "ends_in_text",
        "lesson",
        "writer",
    )

    def __init__(self, request: Request, policy: Policy, mender: Mender) -> None:
        self.answer = BlockAnswer(request, policy, mender, spoiler=_SPOILER)
        self.writer = BlockWriter()
        self._live_mode = not policy.aggregate
        self._live = LiveBlock(self.answer, self.writer)
        self._text_stop: ReadEvent | None = None
        """The stop of a text block, while it is not known whether its last words are a call."""
        self.ends_in_text = False
        """The last thing said was not part of a call, and its block is still open."""
        self._other_calls: set[Place] = set()
        """Where the server's own tools were called last."""
        self.lesson: Lesson | None = None
        """What the last delta says about those like it, if it went on or was held as it came."""

    def take(self, read: ReadEvent, reply: ReplyBuilder) -> None:
        """An event of a block. One without parts says nothing."""
        for part in read.parts:
            if isinstance(part, Fragment):
                self._take_fragment(read, part, reply)
            elif isinstance(part, TextDelta):
                self._take_text(read, part, reply)
            elif isinstance(part, OtherDelta):
                self._take_other(read, part, reply)
            elif isinstance(part, CallStart):
                self._begin_call(read, part, reply)
            elif isinstance(part, BlockStart):
                self._begin_block(read, part, reply)
            elif isinstance(part, BlockEnd):
                self._end_block(read, part, reply)

    # Blocks that are no calls

    def _begin_block(self, read: ReadEvent, part: BlockStart, reply: ReplyBuilder) -> None:
        self._other_calls.discard(part.block)
        if self._postponed(read, part.block, reply):
            return
        self._pass_text_on(reply)
        self.answer.assembler.end(part.block)
        self._close_open_block(reply)
        self.ends_in_text = True
        if part.kind not in _TEXTS:
            self.answer.say_otherwise()
        if part.kind == THINKING:
            self._think(read.payload["content_block"].get(THINKING))
        if part.calls:
            self.answer.other_tools = True
            self._other_calls.add(part.block)
        reply.out.append(self.writer.start(part.kind, part.block, read))

    def _take_other(self, read: ReadEvent, part: OtherDelta, reply: ReplyBuilder) -> None:
        """A delta that is not searched: it goes on in its block, or opens the one that it needs."""
        if part.kind == TEXT and not part.key and self._live.call is None:
            self._pass_text_on(reply)  # what is cited is no call
        open_block = self.writer.open_at(part.block)
        if open_block is not None and part.kind in ("", open_block.kind):
            self._go_on(read, reply)
            reasoning = self._think(part.text) if part.key == THINKING else None
            if part.key and part.text:
                self.lesson = Lesson(part.key, part.text, reasoning or PASSING_TEXT)
            return
        if not part.kind or self._postponed(read, part.block, reply) or (part.key and not part.text):
            return
        self._pass_text_on(reply)
        self._open(part.kind, part.block, reply)
        if part.key == THINKING:
            self._think(part.text)
        read.raw = write(read.payload)
        reply.out.append(self.writer.renumbered(read))

    def _think(self, text: object) -> ReasoningSearch | None:
        """Reasoning goes on as it comes, and may end with a call."""
        reasoning = self.answer.reasoning
        if reasoning is not None and isinstance(text, str):
            reasoning.take(text)
        return reasoning

    def _end_block(self, read: ReadEvent, part: BlockEnd, reply: ReplyBuilder) -> None:
        call = self.answer.assembler.end(part.block)
        if call is None and not self._text_may_stop(read, part.block, reply):
            return
        if call is not None:
            reply.hold(call.held_under, read.raw)
            if call is self._live.call:
                if self._live.has_all:
                    self._end_live(reply, Finish.COMPLETE, self.writer.renumbered(read))
                return
        elif self._live.call is not None:
            if part.block in self._live.later_blocks:
                self._postponed(read, part.block, reply)
            return
        if self.writer.open_at(part.block) is not None:
            reply.out.append(
                self.writer.close_block() if call is not None else self.writer.close_block_as_it_came(read)
            )
            self.ends_in_text = False
        self._send_ready(reply)

    def _go_on(self, read: ReadEvent, reply: ReplyBuilder) -> None:
        """A delta of the open block, as it came."""
        self.ends_in_text = True
        reply.out.append(self.writer.renumbered(read))

    def _open(self, kind: str, block: Place, reply: ReplyBuilder) -> None:
        """A block of ours, behind everything that is complete."""
        self._close_open_block(reply)
        self.ends_in_text = True
        reply.out.append(self.writer.begin(kind, block))

    def _close_open_block(self, reply: ReplyBuilder) -> None:
        """Another block begins: the open one is closed, and what is complete goes out before it."""
        if self.writer.open is not None:
            reply.out.append(self.writer.close_block())
        self._send_ready(reply)
        self.answer.assembler.follow()

    # Text

    def _take_text(self, read: ReadEvent, part: TextDelta, reply: ReplyBuilder) -> None:
        answer = self.answer
        if self._postponed(read, part.block, reply):
            return
        if answer.search is not None and (answer.text_block != part.block or self._text_stop is not None):
            self._pass_text_on(reply)
        found = answer.say(part.text, read, part.block)
        if found is not None:
            if found.parts:
                reply.release(_TEXT)
                self._write_text(found, part.block, read.payload, reply)
            if answer.held_text:
                reply.hold(_TEXT, text_event(read.payload, answer.held_text) if found.parts else read.raw)
            return
        open_block = self.writer.open_at(part.block)
        if open_block is not None and open_block.kind == TEXT:
            self._go_on(read, reply)
            if answer.search is not None or not answer.searches:
                self.lesson = Lesson(TEXT, part.text, answer.search or PASSING_TEXT)
        else:
            self._say(part.text, part.block, read.payload, reply)

    def _write_text(self, found: SearchResult, block: Place, like: Json, reply: ReplyBuilder) -> None:
        """Text that was searched."""
        for part in found.without_idle_space().parts:
            if isinstance(part, FoundCall):
                self.ends_in_text = False
            else:
                self._say(part.text, block, like, reply, part)

    def _say(self, text: str, block: Place, like: Json, reply: ReplyBuilder, piece: TextPiece | None = None) -> None:
        """Say a text: in the open block, there by the event that it came in, or in one of its own."""
        open_block = self.writer.open_at(block)
        source: ReadEvent | None = piece.source if piece is not None else None
        if open_block is None or open_block.kind != TEXT:
            if not text.strip():
                # SGLang puts a newline between two calls. A block of white space alone is refused by the
                # API in the next request, so it waits for text that makes it one.
                self.writer.keep_space(block, text, like, reply)
                return
            text = self.writer.pop_space(block, reply) + text
            self._open(TEXT, block, reply)
            source = None
        self.ends_in_text = True
        reply.out.append(self.writer.text(like, text) if source is None else self.writer.renumbered(source))

    def _pass_text_on(self, reply: ReplyBuilder) -> None:
        """Something else follows the block that is searched: what is held of it is text."""
        if self.answer.search is not None:
            held = bool(self.answer.held_text)
            self._end_text(self.answer.pass_text_on(), held, reply)

    def _end_text(self, found: SearchResult, held: bool, reply: ReplyBuilder) -> None:
        """A text block that was searched is over; so its stop, if it came, goes out behind what was held."""
        block = self.answer.text_block
        if held:
            reply.release(_TEXT)
        self._write_text(found, block, {"type": BLOCK_DELTA}, reply)
        stop, self._text_stop = self._text_stop, None
        if stop is None:
            return
        reply.release(_STOP)
        open_block = self.writer.open_at(block)
        if open_block is not None and open_block.kind == TEXT:
            reply.out.append(self.writer.close_block_as_it_came(stop))
            self.ends_in_text = False

    def _text_may_stop(self, read: ReadEvent, block: Place, reply: ReplyBuilder) -> bool:
        """The stop of a block whose last words may be a call waits for what follows."""
        answer = self.answer
        if answer.search is None or answer.text_block != block:
            return True
        if not answer.text_undecided:
            self._pass_text_on(reply)
            return True
        if self._text_stop is None:
            self._text_stop = read
            reply.hold(_STOP, read.raw)
        return False

    # Calls

    def _begin_call(self, read: ReadEvent, part: CallStart, reply: ReplyBuilder) -> None:
        answer, live = self.answer, self._live
        self._other_calls.discard(part.place)
        alone = live.call is None
        if live.has_all:
            self._end_live(reply, Finish.COMPLETE)
        # Where the text before it may be a call, this one waits for what becomes of that.
        behind_text = answer.text_undecided and answer.text_block != part.place
        if live.call is None and not behind_text:
            self._pass_text_on(reply)
        if alone and self.writer.open is not None and self.writer.open.upstream_index == part.place:
            # The index is given away: the stop of the block that had it is missing.
            reply.out.append(self.writer.close_block())
            self._send_ready(reply)
        call = answer.assembler.begin(part)
        self.ends_in_text = False
        reply.hold(call.held_under, read.raw)
        if self._live_mode and live.call is None and len(answer.assembler.calls) == 1 and not behind_text:
            live.begin(call, read, reply)

    def _take_fragment(self, read: ReadEvent, part: Fragment, reply: ReplyBuilder) -> None:
        open_block = self.writer.open_at(part.place)
        if open_block is not None and open_block.kind not in (TEXT, THINKING):
            reply.out.append(self.writer.renumbered(read))
            return
        if part.place in self._live.later_blocks and self._postponed(read, part.place, reply):
            return
        # The rest of a server's own tool whose block had to be closed has nowhere to go.
        call = None if part.place in self._other_calls else self.answer.assembler.add(part)
        if call is None:
            return
        self.ends_in_text = False
        if call is self._live.call:
            self._live.go_on(read, part.arguments, reply)
            return
        call.escaped.grew(call.fragments, len(part.arguments))
        reply.hold(call.held_under, read.raw)
        if not call.unsure:
            # The next fragments go to this call without passing the assembler (`unread/`), unless it is unsure whose
            # they are.
            self.lesson = Lesson("partial_json", part.arguments, CallFragments(call.add, Hold(call.held_under)))

    def _send_ready(self, reply: ReplyBuilder) -> None:
        """The calls at the head of the line that need no stop reason."""
        if self.writer.open is None:
            for call in self.answer.pop_ready():
                self._write_calls([call], self.answer.leave([call], Finish.COMPLETE), reply)

    def _write_calls(self, calls: list[BlockCall], completed: list[CompletedCall], reply: ReplyBuilder) -> None:
        for call in calls:
            reply.release(call.held_under)
        for leaving in completed:
            reply.out += [] if leaving.outcome.dropped else self.writer.call(leaving)

    # The end

    def take_stop_reason(self, reply: ReplyBuilder, finish: Finish) -> None:
        """A stop reason came: the calls that have ended go out, unless something before them is still open."""
        if self._live.call is None and self.writer.open is None and not self.answer.holds_text:
            calls = self.answer.pop_ended(finish)
            self._write_calls(calls, self.answer.leave(calls, finish), reply)

    def finish(self, reply: ReplyBuilder, finish: Finish, *, before_error: bool = False) -> bool:
        """The answer is over: everything open is closed, every call goes out. False where one was refused."""
        answer, whole = self.answer, True
        if self._live.call is not None:
            answer.assembler.judge(self._live.call, complete=finish is Finish.COMPLETE)
            whole = self._end_live(reply, finish, before_error=before_error)
        if answer.search is not None:
            held = bool(answer.held_text)
            self._end_text(answer.end_text(finish), held, reply)
        answer.end_reasoning(finish)
        calls = list(answer.assembler.calls)
        if self.writer.open is not None and (answer.has_pending_calls or not before_error):
            reply.out.append(self.writer.close_block())
        self._write_calls(calls, answer.complete(finish, before_error=before_error), reply)
        self.writer.pop_space(None, reply)  # white space that waited has no use
        return whole and not answer.incomplete

    # Calls that go out while they come

    def _postponed(self, read: ReadEvent, block: Place, reply: ReplyBuilder) -> bool:
        """Does this wait for the end of the live call, which only its own events may tell?"""
        live = self._live
        if live.call is None:
            return False
        if live.call.ended or live.has_all:
            self._end_live(reply, Finish.COMPLETE if live.has_all else Finish.UNKNOWN)
            return False
        live.postpone(read, block, reply)
        return True

    def _end_live(
        self, reply: ReplyBuilder, finish: Finish, stop: bytes = b"", *, before_error: bool = False
    ) -> bool:
        """The live call is over: what waited for that follows. False where it is refused."""
        whole = self._live.end(reply, finish, stop, before_error=before_error)
        later = self._live.pop_later(reply)
        for read in later:
            self.take(read, reply)
        if later:
            # Learnt on the way; whoever asked for room opens another block now.
            self.lesson = None
        self._send_ready(reply)
        return whole
