"""Turns the parts of a Messages stream into a legal sequence of blocks.

Text, thinking and the server's own tools pass at once, under the next free index. A tool_use is held until the answer
releases it (`turn/block_answer.py`), and is sent as a whole block. With aggregation off, the first waiting call is
sent while it arrives, and events of other blocks wait until it is over.
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
from ...turn.parts import BlockEnd, BlockStart, CallStart, Fragment, Index, OtherDelta, ReadEvent, TextDelta
from ...turn.reasoning_search import ReasoningSearch
from ...turn.text_search import SearchResult, TextPiece
from ...unread.fast_path import PASSING_TEXT, CallFragments, Lesson
from ...wire.events import Hold
from ..reply_builder import ReplyBuilder
from .live_block import LiveBlock
from .wire import BLOCK_DELTA, TEXT, THINKING, Json, text_event, write
from .writer import BlockWriter

_TEXT, _STOP = "text", "stop"
"""Keys under which events are held."""
_TEXTS: Final = (TEXT, THINKING, "redacted_thinking")
"""Blocks that contain only text or reasoning: no calls and no other content."""
_INVALID_TAIL: Final = ",\x1a"
"""Invalid JSON wherever it follows an incomplete object. Anthropic's Python SDK parses an incomplete object as if it
were complete (and empty input as `{}`), so a refused call that was partly sent would run; on this text it raises."""


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
        self.answer = BlockAnswer(request, policy, mender, invalid_tail=_INVALID_TAIL)
        self.writer = BlockWriter()
        self._live_mode = not policy.aggregate
        self._live = LiveBlock(self.answer, self.writer)
        self._text_stop: ReadEvent | None = None
        """The stop event of a text block, held while the end of the text may still be a call."""
        self.ends_in_text = False
        """The stream so far ends in an open block that is not a call."""
        self._other_calls: set[Index] = set()
        """The indices at which the most recent block is a call of one of the server's own tools."""
        self.lesson: Lesson | None = None
        """How to handle deltas like the last one without parsing them, if it was forwarded or held unchanged."""

    def take(self, read: ReadEvent, reply: ReplyBuilder) -> None:
        """Handle an event of a block. An event without parts is dropped."""
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

    # Blocks that are not calls

    def _begin_block(self, read: ReadEvent, part: BlockStart, reply: ReplyBuilder) -> None:
        """Open a block that is no call, after everything before it is closed."""
        self._other_calls.discard(part.block)
        if self._postpone_if_live(read, part.block, reply):
            return
        self._release_text(reply)
        self.answer.assembler.end(part.block)
        self._close_open_block(reply)
        self.ends_in_text = True
        if part.kind not in _TEXTS:
            self.answer.take_other()
        if part.kind == THINKING:
            self._search_reasoning(read.payload["content_block"].get(THINKING))
        if part.calls:
            self.answer.other_tools = True
            self._other_calls.add(part.block)
        reply.out.append(self.writer.start(part.kind, part.block, read))
        self._show(part.shown, part.block, reply)

    def _show(self, shown: str | None, block: Index, reply: ReplyBuilder) -> None:
        """Let the search know text that is forwarded as it arrived, after the text that is held."""
        if shown != "":
            self._release_text(reply)
            self.answer.take_other(shown, block)

    def _take_other(self, read: ReadEvent, part: OtherDelta, reply: ReplyBuilder) -> None:
        """Forward a delta that is not searched, in its open block or in a new one of the kind that it needs."""
        if part.kind == TEXT and not part.key and self._live.call is None:
            self._release_text(reply)  # a citation shows that the text is not a call
        open_block = self.writer.open_at(part.block)
        if open_block is not None and part.kind in ("", open_block.kind):
            self._show(part.shown, part.block, reply)
            self._forward(read, reply)
            reasoning = self._search_reasoning(part.text) if part.key == THINKING else None
            if part.key and part.text:
                self.lesson = Lesson(part.key, part.text, reasoning or PASSING_TEXT)
            return
        if not part.kind or self._postpone_if_live(read, part.block, reply) or (part.key and not part.text):
            return
        self._release_text(reply)
        self._open(part.kind, part.block, reply)
        if part.key == THINKING:
            self._search_reasoning(part.text)
        self._show(part.shown, part.block, reply)
        read.raw = write(read.payload)
        reply.out.append(self.writer.renumbered(read))

    def _search_reasoning(self, text: object) -> ReasoningSearch | None:
        """Search reasoning, which may end with a call. The reasoning itself is forwarded unchanged."""
        reasoning = self.answer.reasoning
        if reasoning is not None and isinstance(text, str):
            reasoning.take(text)
        return reasoning

    def _end_block(self, read: ReadEvent, part: BlockEnd, reply: ReplyBuilder) -> None:
        """End a call or the open block."""
        call = self.answer.assembler.end(part.block)
        if call is None and not self._let_text_stop(read, part.block, reply):
            return
        if call is not None:
            reply.hold(call.held_under, read.raw)
            if call is self._live.call:
                if self._live.has_all:
                    self._end_live(reply, Finish.COMPLETE, self.writer.renumbered(read))
                return
        elif self._live.call is not None:
            if part.block in self._live.later_blocks:
                self._postpone_if_live(read, part.block, reply)
            return
        if self.writer.open_at(part.block) is not None:
            reply.out.append(self.writer.close_block() if call is not None else self.writer.close_block_with(read))
            self.ends_in_text = False
        self._send_ready(reply)

    def _forward(self, read: ReadEvent, reply: ReplyBuilder) -> None:
        """Forward a delta of the open block."""
        self.ends_in_text = True
        reply.out.append(self.writer.renumbered(read))

    def _open(self, kind: str, block: Index, reply: ReplyBuilder) -> None:
        """Open a block of ours, after everything that is complete."""
        self._close_open_block(reply)
        self.ends_in_text = True
        reply.out.append(self.writer.begin(kind, block))

    def _close_open_block(self, reply: ReplyBuilder) -> None:
        """Close the open block and send the complete calls, because another block begins."""
        if self.writer.open_block is not None:
            reply.out.append(self.writer.close_block())
        self._send_ready(reply)
        self.answer.assembler.note_that_more_follows()

    # Text

    def _take_text(self, read: ReadEvent, part: TextDelta, reply: ReplyBuilder) -> None:
        """Search a text delta, and send what may be sent of it."""
        answer = self.answer
        if self._postpone_if_live(read, part.block, reply):
            return
        if answer.search is not None and (answer.text_block != part.block or self._text_stop is not None):
            self._release_text(reply)
        found = answer.take_text(part.text, read, part.block)
        if found is not None:
            if found.parts:
                reply.release(_TEXT)
                self._write_text(found, part.block, read.payload, reply)
            if answer.held_text:
                reply.hold(_TEXT, text_event(read.payload, answer.held_text) if found.parts else read.raw)
            return
        if self.writer.has_open_text(part.block):
            self._forward(read, reply)
            if answer.search is not None or not answer.examines_text:
                self.lesson = Lesson(TEXT, part.text, answer.search or PASSING_TEXT)
        else:
            self._write_piece(part.text, part.block, read.payload, reply)

    def _write_text(self, found: SearchResult, block: Index, like: Json, reply: ReplyBuilder) -> None:
        """Write text that was searched."""
        for part in found.without_idle_space().parts:
            if isinstance(part, FoundCall):
                self.ends_in_text = False
            else:
                self._write_piece(part.text, block, like, reply, part)

    def _write_piece(
        self, text: str, block: Index, like: Json, reply: ReplyBuilder, piece: TextPiece | None = None
    ) -> None:
        """Write a text: in the open block, with its original event if possible, or in a new block."""
        source: ReadEvent | None = piece.source if piece is not None else None
        if not self.writer.has_open_text(block):
            if not text.strip():
                # SGLang sends a newline between two calls. The API refuses a block of white space alone in the
                # next request, so the white space waits for text to join.
                self.writer.keep_space(block, text, like, reply)
                return
            text = self.writer.pop_space(block, reply) + text
            self._open(TEXT, block, reply)
            source = None
        self.ends_in_text = True
        reply.out.append(self.writer.text(like, text) if source is None else self.writer.renumbered(source))

    def _release_text(self, reply: ReplyBuilder) -> None:
        """Release the held text as text, because something else follows the block that is searched."""
        if self.answer.search is not None:
            held = bool(self.answer.held_text)
            self._end_text(self.answer.release_text(), held, reply)

    def _end_text(self, found: SearchResult, held: bool, reply: ReplyBuilder) -> None:
        """Write the end of a searched text block: the text that was held, then the stop event if it arrived."""
        block = self.answer.text_block
        if held:
            reply.release(_TEXT)
        self._write_text(found, block, {"type": BLOCK_DELTA}, reply)
        stop, self._text_stop = self._text_stop, None
        if stop is None:
            return
        reply.release(_STOP)
        if self.writer.has_open_text(block):
            reply.out.append(self.writer.close_block_with(stop))
            self.ends_in_text = False

    def _let_text_stop(self, read: ReadEvent, block: Index, reply: ReplyBuilder) -> bool:
        """Whether the stop event of a block may be sent. It is held if the end of the text may still be a call."""
        answer = self.answer
        if answer.search is None or answer.text_block != block:
            return True
        if not answer.text_undecided:
            self._release_text(reply)
            return True
        if self._text_stop is None:
            self._text_stop = read
            reply.hold(_STOP, read.raw)
        return False

    # Calls

    def _begin_call(self, read: ReadEvent, part: CallStart, reply: ReplyBuilder) -> None:
        """Begin a call: hold its start event, or send it at once with aggregation off."""
        answer, live = self.answer, self._live
        self._other_calls.discard(part.index)
        alone = live.call is None
        if live.has_all:
            self._end_live(reply, Finish.COMPLETE)
        # If the text before this call may be a call too, this call waits until that is decided.
        behind_text = answer.text_undecided and answer.text_block != part.index
        if live.call is None and not behind_text:
            self._release_text(reply)
        if alone and self.writer.open_block is not None and self.writer.open_block.upstream_index == part.index:
            # A new block uses the index of the open one, so the stop event of the open block is missing.
            reply.out.append(self.writer.close_block())
            self._send_ready(reply)
        call = answer.assembler.begin(part)
        self.ends_in_text = False
        reply.hold(call.held_under, read.raw)
        if self._live_mode and live.call is None and len(answer.assembler.calls) == 1 and not behind_text:
            live.begin(call, read, reply)

    def _take_fragment(self, read: ReadEvent, part: Fragment, reply: ReplyBuilder) -> None:
        """Add a fragment of arguments to its call, or forward it in the open block of a server's own tool."""
        open_block = self.writer.open_at(part.index)
        if open_block is not None and open_block.kind not in (TEXT, THINKING):
            reply.out.append(self.writer.renumbered(read))
            return
        if part.index in self._live.later_blocks and self._postpone_if_live(read, part.index, reply):
            return
        # The block of a server's own tool had to be closed already, so the rest of that call is dropped.
        call = None if part.index in self._other_calls else self.answer.assembler.add(part)
        if call is None:
            return
        self.ends_in_text = False
        if call is self._live.call:
            self._live.take_fragment(read, part.arguments, reply)
            return
        reply.hold(call.held_under, read.raw)
        if not call.all_or_none and not self.answer.assembler.others_incomplete(call):
            # The next fragments go to this call without passing the assembler (`unread/`), unless they cannot be
            # attributed with certainty.
            self.lesson = Lesson("partial_json", part.arguments, CallFragments(call.add, Hold(call.held_under)))

    def _send_ready(self, reply: ReplyBuilder) -> None:
        """Send the first waiting calls, as long as they are complete without a stop reason."""
        if self.writer.open_block is None:
            for call in self.answer.pop_ready():
                self._write_calls([call], self.answer.complete_calls([call], Finish.COMPLETE), reply)

    def _write_calls(self, calls: list[BlockCall], completed: list[CompletedCall], reply: ReplyBuilder) -> None:
        for call in calls:
            reply.release(call.held_under)
        for done in completed:
            reply.out += [] if done.outcome.dropped else self.writer.call(done)

    # The end

    def take_stop_reason(self, reply: ReplyBuilder, finish: Finish) -> None:
        """At a stop reason: send the calls that have ended, unless something before them is still open."""
        if self._live.call is None and self.writer.open_block is None and not self.answer.holds_text:
            calls = self.answer.pop_ended(finish)
            self._write_calls(calls, self.answer.complete_calls(calls, finish), reply)

    def finish(self, reply: ReplyBuilder, finish: Finish, *, drop_refused: bool = False) -> bool:
        """End the answer: close everything that is open and send every call. False if a call was refused."""
        answer, whole = self.answer, True
        if self._live.call is not None:
            answer.assembler.judge(self._live.call, complete=finish is Finish.COMPLETE)
            whole = self._end_live(reply, finish, drop_refused=drop_refused)
        if answer.search is not None:
            held = bool(answer.held_text)
            self._end_text(answer.end_text(finish), held, reply)
        answer.end_reasoning(finish)
        calls = list(answer.assembler.calls)
        if self.writer.open_block is not None and (answer.has_pending_calls or not drop_refused):
            reply.out.append(self.writer.close_block())
        self._write_calls(calls, answer.complete(finish, drop_refused=drop_refused), reply)
        self.writer.pop_space(None, reply)  # drop white space that waited for text
        return whole and not answer.incomplete

    # Calls that are sent while they arrive

    def _postpone_if_live(self, read: ReadEvent, block: Index, reply: ReplyBuilder) -> bool:
        """Whether the event has to wait for the end of the live call; if so, it is put aside."""
        live = self._live
        if live.call is None:
            return False
        if live.call.ended or live.has_all:
            self._end_live(reply, Finish.COMPLETE if live.has_all else Finish.UNKNOWN)
            return False
        live.postpone(read, block, reply)
        return True

    def _end_live(
        self, reply: ReplyBuilder, finish: Finish, stop: bytes = b"", *, drop_refused: bool = False
    ) -> bool:
        """End the live call, then handle the events that waited for that. False if the call was refused."""
        whole = self._live.end(reply, finish, stop, drop_refused=drop_refused)
        later = self._live.pop_later(reply)
        for read in later:
            self.take(read, reply)
        if later:
            # A lesson from one of these events no longer holds, because another block is opened next.
            self.lesson = None
        self._send_ready(reply)
        return whole
