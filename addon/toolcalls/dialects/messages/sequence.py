"""The parts of a Messages stream in, a legal sequence of blocks out.

Text, thinking and the server's own tools pass at once, under the next free index. A tool_use is held until the answer
lets it go (`turn/block_answer.py`), and goes out as a whole block. With aggregation off the first call in line goes
out while it comes, and what belongs to another block waits until it is over.
"""

from __future__ import annotations

from typing import Final

from ...mend.call import Mender
from ...mend.finish import Finish
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

    def take(self, read: ReadEvent, draft: ReplyBuilder) -> None:
        """An event of a block. One without parts says nothing."""
        for part in read.parts:
            if isinstance(part, Fragment):
                self._take_fragment(read, part, draft)
            elif isinstance(part, TextDelta):
                self._take_text(read, part, draft)
            elif isinstance(part, OtherDelta):
                self._take_other(read, part, draft)
            elif isinstance(part, CallStart):
                self._begin_call(read, part, draft)
            elif isinstance(part, BlockStart):
                self._begin_block(read, part, draft)
            elif isinstance(part, BlockEnd):
                self._end_block(read, part, draft)

    # Blocks that are no calls

    def _begin_block(self, read: ReadEvent, part: BlockStart, draft: ReplyBuilder) -> None:
        self._other_calls.discard(part.block)
        if self._postponed(read, part.block, draft):
            return
        self._pass_text_on(draft)
        self.answer.assembler.end(part.block)
        self._make_room(draft)
        self.ends_in_text = True
        if part.kind not in _TEXTS:
            self.answer.say_otherwise()
        if part.kind == THINKING:
            self._think(read.payload["content_block"].get(THINKING))
        if part.calls:
            self.answer.other_tools = True
            self._other_calls.add(part.block)
        draft.out.append(self.writer.start(part.kind, part.block, read))

    def _take_other(self, read: ReadEvent, part: OtherDelta, draft: ReplyBuilder) -> None:
        """A delta that is not searched: it goes on in its block, or opens the one that it needs."""
        if part.kind == TEXT and not part.key and self._live.call is None:
            self._pass_text_on(draft)  # what is cited is no call
        open_block = self.writer.open_at(part.block)
        if open_block is not None and part.kind in ("", open_block.kind):
            self._go_on(read, draft)
            thoughts = self._think(part.text) if part.key == THINKING else None
            if part.key and part.text:
                self.lesson = Lesson(part.key, part.text, thoughts or PASSING_TEXT)
            return
        if not part.kind or self._postponed(read, part.block, draft) or (part.key and not part.text):
            return
        self._pass_text_on(draft)
        self._open(part.kind, part.block, draft)
        if part.key == THINKING:
            self._think(part.text)
        read.raw = write(read.payload)
        draft.out.append(self.writer.renumbered(read))

    def _think(self, text: object) -> ReasoningSearch | None:
        """Reasoning goes on as it comes, and may end with a call."""
        thoughts = self.answer.thoughts
        if thoughts is not None and isinstance(text, str):
            thoughts.take(text)
        return thoughts

    def _end_block(self, read: ReadEvent, part: BlockEnd, draft: ReplyBuilder) -> None:
        call = self.answer.assembler.end(part.block)
        if call is None and not self._text_may_stop(read, part.block, draft):
            return
        if call is not None:
            draft.hold(call.held_under, read.raw)
            if call is self._live.call:
                if self._live.has_all:
                    self._end_live(draft, Finish.COMPLETE, self.writer.renumbered(read))
                return
        elif self._live.call is not None:
            if part.block in self._live.later_blocks:
                self._postponed(read, part.block, draft)
            return
        if self.writer.open_at(part.block) is not None:
            draft.out.append(self.writer.stop() if call is not None else self.writer.stop_as_it_came(read))
            self.ends_in_text = False
        self._send_ready(draft)

    def _go_on(self, read: ReadEvent, draft: ReplyBuilder) -> None:
        """A delta of the open block, as it came."""
        self.ends_in_text = True
        draft.out.append(self.writer.renumbered(read))

    def _open(self, kind: str, block: Place, draft: ReplyBuilder) -> None:
        """A block of ours, behind everything that is complete."""
        self._make_room(draft)
        self.ends_in_text = True
        draft.out.append(self.writer.begin(kind, block))

    def _make_room(self, draft: ReplyBuilder) -> None:
        """Another block begins: the open one is closed, and what is complete goes out before it."""
        if self.writer.open is not None:
            draft.out.append(self.writer.stop())
        self._send_ready(draft)
        self.answer.assembler.follow()

    # Text

    def _take_text(self, read: ReadEvent, part: TextDelta, draft: ReplyBuilder) -> None:
        answer = self.answer
        if self._postponed(read, part.block, draft):
            return
        if answer.search is not None and (answer.text_block != part.block or self._text_stop is not None):
            self._pass_text_on(draft)
        found = answer.say(part.text, read, part.block)
        if found is not None:
            if found.parts:
                draft.release(_TEXT)
                self._write_text(found, part.block, read.payload, draft)
            if answer.held_text:
                draft.hold(_TEXT, text_event(read.payload, answer.held_text) if found.parts else read.raw)
            return
        open_block = self.writer.open_at(part.block)
        if open_block is not None and open_block.kind == TEXT:
            self._go_on(read, draft)
            if answer.search is not None or not answer.searches:
                self.lesson = Lesson(TEXT, part.text, answer.search or PASSING_TEXT)
        else:
            self._say(part.text, part.block, read.payload, draft)

    def _write_text(self, found: SearchResult, block: Place, like: Json, draft: ReplyBuilder) -> None:
        """Text that was searched."""
        for part in found.without_idle_space().parts:
            if isinstance(part, FoundCall):
                self.ends_in_text = False
            else:
                self._say(part.text, block, like, draft, part)

    def _say(self, text: str, block: Place, like: Json, draft: ReplyBuilder, piece: TextPiece | None = None) -> None:
        """Say a text: in the open block, there by the event that it came in, or in one of its own."""
        open_block = self.writer.open_at(block)
        source: ReadEvent | None = piece.source if piece is not None else None
        if open_block is None or open_block.kind != TEXT:
            if not text.strip():
                # SGLang puts a newline between two calls. A block of white space alone is refused by the
                # API in the next request, so it waits for text that makes it one.
                self.writer.keep_space(block, text, like, draft)
                return
            text = self.writer.take_space(block, draft) + text
            self._open(TEXT, block, draft)
            source = None
        self.ends_in_text = True
        draft.out.append(self.writer.text(like, text) if source is None else self.writer.renumbered(source))

    def _pass_text_on(self, draft: ReplyBuilder) -> None:
        """Something else follows the block that is searched: what is held of it is text."""
        if self.answer.search is not None:
            held = bool(self.answer.held_text)
            self._end_text(self.answer.pass_text_on(), held, draft)

    def _end_text(self, found: SearchResult, held: bool, draft: ReplyBuilder) -> None:
        """A text block that was searched is over; so its stop, if it came, goes out behind what was held."""
        block = self.answer.text_block
        if held:
            draft.release(_TEXT)
        self._write_text(found, block, {"type": BLOCK_DELTA}, draft)
        stop, self._text_stop = self._text_stop, None
        if stop is None:
            return
        draft.release(_STOP)
        open_block = self.writer.open_at(block)
        if open_block is not None and open_block.kind == TEXT:
            draft.out.append(self.writer.stop_as_it_came(stop))
            self.ends_in_text = False

    def _text_may_stop(self, read: ReadEvent, block: Place, draft: ReplyBuilder) -> bool:
        """The stop of a block whose last words may be a call waits for what follows."""
        answer = self.answer
        if answer.search is None or answer.text_block != block:
            return True
        if not answer.text_undecided:
            self._pass_text_on(draft)
            return True
        if self._text_stop is None:
            self._text_stop = read
            draft.hold(_STOP, read.raw)
        return False

    # Calls

    def _begin_call(self, read: ReadEvent, part: CallStart, draft: ReplyBuilder) -> None:
        answer, live = self.answer, self._live
        self._other_calls.discard(part.place)
        alone = live.call is None
        if live.has_all:
            self._end_live(draft, Finish.COMPLETE)
        # Where the text before it may be a call, this one waits for what becomes of that.
        behind_text = answer.text_undecided and answer.text_block != part.place
        if live.call is None and not behind_text:
            self._pass_text_on(draft)
        if alone and self.writer.open is not None and self.writer.open.upstream_index == part.place:
            # The index is given away: the stop of the block that had it is missing.
            draft.out.append(self.writer.stop())
            self._send_ready(draft)
        call = answer.assembler.begin(part)
        self.ends_in_text = False
        draft.hold(call.held_under, read.raw)
        if self._live_mode and live.call is None and len(answer.assembler.calls) == 1 and not behind_text:
            live.begin(call, read, draft)

    def _take_fragment(self, read: ReadEvent, part: Fragment, draft: ReplyBuilder) -> None:
        open_block = self.writer.open_at(part.place)
        if open_block is not None and open_block.kind not in (TEXT, THINKING):
            draft.out.append(self.writer.renumbered(read))
            return
        if part.place in self._live.later_blocks and self._postponed(read, part.place, draft):
            return
        # The rest of a server's own tool whose block had to be closed has nowhere to go.
        call = None if part.place in self._other_calls else self.answer.assembler.add(part)
        if call is None:
            return
        self.ends_in_text = False
        if call is self._live.call:
            self._live.go_on(read, part.arguments, draft)
            return
        call.quoted.grew(call.fragments, len(part.arguments))
        draft.hold(call.held_under, read.raw)
        if not call.unsure:
            # Where another call may be meant, the next fragment is asked about too.
            self.lesson = Lesson("partial_json", part.arguments, CallFragments(call.add, Hold(call.held_under)))

    def _send_ready(self, draft: ReplyBuilder) -> None:
        """The calls at the head of the line that need no stop reason."""
        if self.writer.open is None:
            for call in self.answer.take_ready():
                self._write_calls([call], self.answer.leave([call], Finish.COMPLETE), draft)

    def _write_calls(self, calls: list[BlockCall], completed: list[CompletedCall], draft: ReplyBuilder) -> None:
        for call in calls:
            draft.release(call.held_under)
        for leaving in completed:
            draft.out += [] if leaving.outcome.dropped else self.writer.call(leaving)

    # The end

    def stopped(self, draft: ReplyBuilder, finish: Finish) -> None:
        """A stop reason came: the calls that have ended go out, unless something before them is still open."""
        if self._live.call is None and self.writer.open is None and not self.answer.holds_text:
            calls = self.answer.take_ended(finish)
            self._write_calls(calls, self.answer.leave(calls, finish), draft)

    def finish(self, draft: ReplyBuilder, finish: Finish, *, before_error: bool = False) -> bool:
        """The answer is over: everything open is closed, every call goes out. False where one was refused."""
        answer, whole = self.answer, True
        if self._live.call is not None:
            answer.assembler.judge(self._live.call, complete=finish is Finish.COMPLETE)
            whole = self._end_live(draft, finish, before_error=before_error)
        if answer.search is not None:
            held = bool(answer.held_text)
            self._end_text(answer.end_text(finish), held, draft)
        answer.end_thoughts(finish)
        calls = list(answer.assembler.calls)
        if self.writer.open is not None and (answer.has_pending_calls or not before_error):
            draft.out.append(self.writer.stop())
        self._write_calls(calls, answer.complete(finish, before_error=before_error), draft)
        self.writer.take_space(None, draft)  # white space that waited has no use
        return whole and not answer.half

    # Calls that go out while they come

    def _postponed(self, read: ReadEvent, block: Place, draft: ReplyBuilder) -> bool:
        """Does this wait for the end of the live call, which only its own events may tell?"""
        live = self._live
        if live.call is None:
            return False
        if live.call.ended or live.has_all:
            self._end_live(draft, Finish.COMPLETE if live.has_all else Finish.UNKNOWN)
            return False
        live.postpone(read, block, draft)
        return True

    def _end_live(
        self, draft: ReplyBuilder, finish: Finish, stop: bytes = b"", *, before_error: bool = False
    ) -> bool:
        """The live call is over: what waited for that follows. False where it is refused."""
        whole = self._live.end(draft, finish, stop, before_error=before_error)
        later = self._live.take_later(draft)
        for read in later:
            self.take(read, draft)
        if later:
            # Learnt on the way; whoever asked for room opens another block now.
            self.lesson = None
        self._send_ready(draft)
        return whole
