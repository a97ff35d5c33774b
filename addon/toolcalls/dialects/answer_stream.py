"""One answer of a stream on its way to the client: what is held, what is sent and when, and how the answer ends.

The reader has turned an event into parts (`turn/parts.py`), the answer (`turn/answer.py`) decides what may be sent,
and the writer turns that into events. An event whose parts may all be sent passes byte for byte. An event that
contains only fragments of calls is held. All other events are written anew. The event with the finish reason waits,
because a call may follow it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..mend.finish import Finish
from ..policy import Policy
from ..turn.answer import CompletedCall
from ..turn.assembled_call import AssembledCall
from ..turn.fragment_answer import FragmentAnswer
from ..turn.parts import Fragment, OtherDelta, ReadEvent, ReasoningDelta, Stop, TextDelta
from ..turn.text_search import SearchResult, TextPiece
from ..unread.fast_path import PASSING_TEXT, CallFragments, Lesson
from ..wire.events import PASS, Hold, Verdict
from .answer_io import ProtocolTraits, StreamWriter
from .reply_builder import ReplyBuilder


@dataclass(slots=True)
class _CallEvent:
    """An event that contains only calls and can be sent byte for byte."""

    raw: bytes
    calls: list[AssembledCall] = field(default_factory=list)
    ends: bool = False
    """The event also contains the finish reason."""


class AnswerStream:
    """Holds and releases the events of one answer. `name` distinguishes several answers of one stream."""

    __slots__ = (
        "_calls_key",
        "_cut",
        "_end_key",
        "_end_untouched",
        "_ended_with",
        "_hold",
        "_policy",
        "_sources",
        "_text_key",
        "_traits",
        "_waiting_end",
        "_writer",
        "answer",
        "lesson",
        "live",
    )

    def __init__(
        self,
        answer: FragmentAnswer,
        policy: Policy,
        traits: ProtocolTraits,
        writer: StreamWriter[Any],
        name: str = "",
    ) -> None:
        self.answer = answer
        self._policy = policy
        self._traits = traits
        self._writer = writer
        self._calls_key, self._text_key, self._end_key = f"calls {name}", f"text {name}", f"end {name}"
        self._hold = Hold(self._calls_key)
        self.live = not policy.aggregate and not traits.whole_calls
        """Calls are sent while they arrive."""
        self._sources: dict[int, _CallEvent] = {}
        """`id()` of a call → the event that it arrived in, if the event contains only calls."""
        self._waiting_end: ReadEvent | None = None
        """The event with the finish reason, which waits because a call may follow it."""
        self._end_untouched = False
        """The waiting event contains nothing else to send, so it is sent byte for byte if its reason is kept."""
        self._ended_with: ReadEvent | None = None
        """The event with the finish reason that was already sent, byte for byte, when its text was released."""
        self._cut = False
        """A call was cut off with the stream, or the upstream failed: no finish reason is made up for the answer."""
        self.lesson: Lesson | None = None

    @property
    def holds_calls(self) -> bool:
        """Whether a call, or a finish reason, is held."""
        return bool(self.answer.assembler.calls) or self._waiting_end is not None

    @property
    def has_calls(self) -> bool:
        """Whether the client has a call of this answer, or one is held."""
        return self.answer.outgoing.sent > 0 or self.answer.has_pending_calls

    # An event

    def take(self, read: ReadEvent) -> Verdict:
        """Take the text, the calls and the finish reason of an event."""
        self.lesson = None
        fragments = read.fragments
        self.answer.assembler.answer_id = read.answer_id or self.answer.assembler.answer_id
        if (
            fragments
            and len(fragments) == len(read.parts)
            and not (read.has_other_content or self.live or self._traits.whole_calls)
        ):
            # The event contains only fragments, which wait for the rest of their calls.
            self._writer.remember(read, held=True)
            self._gather(read, fragments)
            return self._hold
        reply = ReplyBuilder(read.raw)
        stop = read.stop
        follows = self._traits.whole_calls and self._follows_calls(read)
        if follows:
            reply.out += self._text_events(read, self.answer.release_text(), reply)
            self.answer.note_that_more_follows()
            self._send(Finish.COMPLETE, reply)
        pieces = self._search(read, reply)
        unchanged = pieces is None and not fragments and not follows and not (read.text and self._suppresses_text)
        if unchanged and stop is None:
            self.lesson = self._text_lesson(read)
            return PASS
        if unchanged and stop is not None and self._let_finish_pass(stop):
            return PASS
        self._writer.remember(read)
        live_events = self._gather(read, fragments)
        rest = self._without_calls(read, pieces, reply, calls_follow=bool(live_events))
        reply.out += rest + live_events
        held = False
        if fragments and not live_events:
            held = pieces is None and not rest and (stop is None or self._traits.whole_calls)
            reply.hold(self._calls_key, read.raw if held else self._writer.calls(read))
        if stop is not None:
            # If calls arrive whole, releasing earlier text that was held does not change this event.
            untouched = (self._traits.whole_calls and not read.text) or (pieces is None and not rest)
            self._take_finish_reason(read, stop, reply, untouched=untouched and not fragments, held=held)
        return reply.verdict()

    def _follows_calls(self, read: ReadEvent) -> bool:
        """Whether the event proves that the calls so far are complete.

        A finish reason alone is no proof: it says itself how the calls ended.
        """
        calls = self.answer.assembler.calls
        if not calls or calls[-1].unfinished or self._waiting_end is not None:
            return False
        return not all(
            isinstance(part, Stop) or (isinstance(part, OtherDelta) and part.of_other_answer) for part in read.parts
        )

    # Text

    def _search(self, read: ReadEvent, reply: ReplyBuilder) -> list[TextPiece] | None:
        """Search the text of an event for calls: the text to send, including what was held before.

        None: the event's text is sent unchanged.
        """
        answer = self.answer
        source = self._source(read)
        pieces: list[TextPiece] | None = None
        for part in read.parts:
            if isinstance(part, TextDelta):
                found = answer.take_text(part.text, source)
                if found is None and pieces is not None:
                    pieces.append(TextPiece(part.text, source))
            elif isinstance(part, ReasoningDelta):
                found = answer.take_reasoning(part.text)
            elif isinstance(part, OtherDelta):
                answer.model_refused = answer.model_refused or part.refusal
                found = answer.take_other(part.shown)
            else:
                continue
            if found is not None:
                pieces = [*(pieces or []), *found.pieces]
                self._hold_text(read, part, found, reply)
        return pieces

    def _source(self, read: ReadEvent) -> bytes | None:
        """The event's bytes if it contains only text, or only text and a finish reason."""
        if read.has_other_content or read.reassigned:
            return None
        alone = len(read.parts) == 1 or (
            len(read.parts) == 2 and read.stop is not None and not self._traits.end_always_waits
        )
        return read.raw if alone and isinstance(read.parts[0], TextDelta) else None

    def _hold_text(
        self, read: ReadEvent, part: TextDelta | ReasoningDelta | OtherDelta, found: SearchResult, reply: ReplyBuilder
    ) -> None:
        """Hold what must still be sent if we fail: the text of the calls that were found, and the text that waits."""
        if found.parts:
            reply.release(self._text_key)
        for call in found.calls:
            reply.hold(self._calls_key, self._writer.text(read, call.raw))
        text = part.text if isinstance(part, TextDelta) else ""
        held = self.answer.held_text if found.parts else text
        if held:
            alone = held == text and len(read.parts) == 1 and not read.has_other_content
            reply.hold(self._text_key, read.raw if alone else self._writer.text(read, held))

    @property
    def _suppresses_text(self) -> bool:
        """Whether text is suppressed because the answer has a call (`null_content`)."""
        return self._policy.null_content and self.has_calls

    def _without_calls(
        self, read: ReadEvent, pieces: list[TextPiece] | None, reply: ReplyBuilder, *, calls_follow: bool
    ) -> list[bytes]:
        """Everything that the event contributes except its calls and its finish reason."""
        source = self._source(read)
        if pieces is None and source is not None and read.stop is not None:
            pieces = [TextPiece(read.text, source)]
        if (read.text or pieces) and self._suppresses_text:
            pieces = []
        texts = [self._text_event(read, piece, reply) for piece in pieces] if pieces is not None else None
        if read.stop is None and not read.fragments and not (texts is not None and read.text):
            # The event itself is unchanged, and the text that was held is sent before it.
            return [*(texts or []), read.raw]
        return self._writer.without_calls(read, texts, calls_follow=calls_follow)

    def _text_events(self, read: ReadEvent | None, found: SearchResult, reply: ReplyBuilder) -> list[bytes]:
        """Searched text as events: the original ones if they contain nothing else."""
        if found.parts:
            reply.release(self._text_key)
        if self._suppresses_text:
            return []
        return [self._text_event(read, piece, reply) for piece in found.pieces]

    def _text_event(self, read: ReadEvent | None, piece: TextPiece, reply: ReplyBuilder) -> bytes:
        """A text as an event: the original one if possible.

        If that event also has the finish reason, it ends the answer here, provided that no call is pending and the
        reason is true.
        """
        end = next((end for end in (self._waiting_end, read) if end is not None and end.raw is piece.source), None)
        if piece.source is None or end is None or end.stop is None:
            return piece.source or self._writer.text(read, piece.text)
        truth = self.answer.true_reason(self._writer.words, [*self.answer.reasons, end.stop.reason])
        if self.answer.has_pending_calls or truth != end.stop.reason:
            return self._writer.text(end, piece.text)
        reply.release(self._end_key)
        self._waiting_end = None
        self._ended_with = end
        return end.raw

    # Calls

    def _gather(self, read: ReadEvent, fragments: list[Fragment]) -> list[bytes]:
        """Add the fragments to their calls; the events to send at once."""
        calls: list[AssembledCall] = []
        out: list[bytes] = []
        for fragment in fragments:
            call = self.answer.gather(fragment)
            if call is None:
                continue
            calls.append(call)
            part = self.answer.next_live_part(call) if self.live else None
            if part is not None:
                out.append(self._writer.live(part))
        if self._traits.whole_calls and calls and not (read.has_other_content or read.text) and _are_whole(fragments):
            source = _CallEvent(read.raw, calls, ends=read.stop is not None)
            self._sources.update((id(call), source) for call in calls)
        passes = len(fragments) == 1 and not fragments[0].name and not self.live and bool(self._traits.arguments_key)
        if passes and calls and not self.answer.assembler.others_incomplete(calls[0]):
            # A name may begin another call. Without a name, the index and the id decide, and the template fixes both.
            receiver = CallFragments(calls[0].add, self._hold)
            self.lesson = Lesson(self._traits.arguments_key, fragments[0].arguments, receiver)
        return out

    def _send(self, finish: Finish, reply: ReplyBuilder, *, drop_refused: bool = False) -> bool:
        """Send every gathered call. True if a call was refused and the client has no part of it."""
        calls = self.answer.complete(finish, drop_refused=drop_refused)
        reply.release(self._calls_key)
        unchanged = self._unchanged_events(calls) if self._sources else set()
        for call in calls:
            source = self._sources.pop(id(call.assembled), None)
            if call.live is not None:
                rest = call.live.rest(call.outcome)
                reply.out += [self._writer.rest_of_call(call.live.number, rest)] if rest else []
            elif source is not None and id(source) in unchanged:
                if source.calls[0] is call.assembled:
                    reply.out.append(source.raw)
                if source.ends:
                    reply.release(self._end_key)
                    self._waiting_end = None
            elif not call.outcome.dropped:
                reply.out.append(self._writer.call(call))
        reply.out += [self._writer.note(note) for note in self.answer.outgoing.pop_notes()]
        return any(call.outcome.status == "refused" for call in calls if call.live is None)

    def _unchanged_events(self, calls: list[CompletedCall]) -> set[int]:
        """The `id()` of every event that can be sent byte for byte, because none of its calls changed."""
        kept = {id(call.assembled) for call in calls if call.unchanged}
        events = {id(source): source for source in self._sources.values()}
        return {
            key
            for key, source in events.items()
            if all(id(assembled) in kept for assembled in source.calls)
            and (not source.ends or self._ends(source, calls))
        }

    def _ends(self, source: _CallEvent, calls: list[CompletedCall]) -> bool:
        """Whether this event, with its calls as the last ones, can end the answer byte for byte."""
        end = self._waiting_end
        last = calls[-1].assembled if calls else None
        if end is None or end.raw is not source.raw or not any(assembled is last for assembled in source.calls):
            return False
        return end.stop is not None and end.stop.reason == self._reason

    # The end

    def _let_finish_pass(self, stop: Stop) -> bool:
        """Whether a finish reason passes unchanged: no call was seen, and the reason does not promise one."""
        if self.answer.engaged or self.answer.undecided or self._writer.words.needs_calls(stop.reason):
            return False
        self.answer.note_passed_reason(stop.finish)
        return True

    def _take_finish_reason(
        self, read: ReadEvent, stop: Stop, reply: ReplyBuilder, *, untouched: bool, held: bool
    ) -> None:
        """Handle a finish reason: send complete calls; broken ones wait, because some servers continue after it.

        `untouched`: nothing else of the event has to be sent. `held`: the event is already held byte for byte.
        """
        answer = self.answer
        finish = answer.finish_unless_refused(stop.finish)
        # Text may follow a finish reason too; then a call written as text before the reason stays text.
        waits = answer.undecided and finish is not Finish.CUT
        if not waits:
            reply.out += self._text_events(read, answer.end_text(finish), reply)
        whole = (
            not waits
            and not self._traits.whole_calls
            and all(assembled.looks_complete() for assembled in answer.assembler.calls)
        )
        if (whole or stop.failed) and self._ended_with is not read:
            self._send(finish, reply, drop_refused=stop.failed)
        answer.note_reason(stop.reason, finish)
        self._cut = self._cut or stop.failed
        if self._ended_with is read:
            return
        if self._waiting_end is None or self._writer.ends_again(read):
            self._waiting_end = read
            self._end_untouched = untouched and not read.reassigned
        reply.release(self._end_key)
        if not held:
            reply.hold(self._end_key, self._written_end())

    def write_waiting_end(self, reply: ReplyBuilder) -> None:
        """Send the waiting finish reason before an event that belongs to no answer (usage)."""
        if self._waiting_end is not None:
            self.send_held(self.answer.trusted_finish(Finish.UNKNOWN), reply)
            self._write_end(reply)

    def fail(self, reply: ReplyBuilder) -> None:
        """Before an error: send held text and complete calls, drop unfinished calls."""
        self.send_held(Finish.CUT, reply, drop_refused=True)
        self._write_end(reply)

    def break_off(self, reply: ReplyBuilder) -> None:
        """The stream ended with half an event: without an earlier finish reason, the answer was cut off."""
        if not self.answer.reasons:
            self.answer.note_passed_reason(Finish.CUT)
            self._cut = True
        self.end(Finish.CUT, reply)

    def end(self, finish: Finish, reply: ReplyBuilder) -> bool:
        """End the answer as its finish reasons say, or else as `finish`. True if the answer is complete."""
        answer = self.answer
        refused = self.send_held(answer.trusted_finish(finish), reply)
        self._cut = self._cut or (finish is Finish.CUT and refused)
        if self._waiting_end is not None:
            self._write_end(reply)
        elif not answer.reasons and not self._cut and (answer.outgoing.sent or refused):
            reply.out.append(self._writer.end(None, self._reason))
            answer.reasons.append(self._reason)
        return not self._cut and bool(answer.outgoing.sent or answer.reasons)

    def send_held(self, finish: Finish, reply: ReplyBuilder, *, drop_refused: bool = False) -> bool:
        """Send the held text and the calls. True if a call was refused."""
        reply.out += self._text_events(None, self.answer.end_text(finish), reply)
        return self._send(finish, reply, drop_refused=drop_refused)

    def _write_end(self, reply: ReplyBuilder) -> None:
        """Send the waiting finish reason."""
        if self._waiting_end is not None:
            reply.release(self._end_key)
            reply.out.append(self._written_end())
            self._waiting_end = None

    def _written_end(self) -> bytes:
        read = self._waiting_end
        if read is not None and read.stop is not None and self._end_untouched and read.stop.reason == self._reason:
            return read.raw
        return self._writer.end(read, self._reason)

    @property
    def _reason(self) -> str:
        """The true finish reason, given the calls that were sent and the server's own reasons."""
        return str(self.answer.true_reason(self._writer.words) or self._writer.words.stop)

    def _text_lesson(self, read: ReadEvent) -> Lesson | None:
        """How to handle events like this one, which passed, without parsing them."""
        part = read.parts[0] if len(read.parts) == 1 else None
        if isinstance(part, TextDelta) and part.text and self._traits.text_key:
            return Lesson(self._traits.text_key, part.text, self.answer.search or PASSING_TEXT)
        if isinstance(part, ReasoningDelta) and part.key:
            return Lesson(part.key, part.text, self.answer.reasoning or PASSING_TEXT)
        return None


def _are_whole(fragments: list[Fragment]) -> bool:
    """Whether each fragment is a complete call that needs no change."""
    return all(fragment.name and not (fragment.unfinished or fragment.steps) for fragment in fragments)
