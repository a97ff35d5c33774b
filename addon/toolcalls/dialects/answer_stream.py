"""One answer of a stream on its way to the client: what is held of it, what goes out and when, and how it ends.

The reader has turned an event into parts (`turn/parts.py`), the answer (`turn/answer.py`) says what may go out, the
writer makes events of that. An event all of whose parts may go on passes as the bytes it came in; one that is nothing
but fragments of calls is held; of all others the writer makes new ones. The event with the finish reason waits, for a
call may follow it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..mend.finish import Finish
from ..mend.mender import Mender
from ..policy import Policy
from ..request.request import Request
from ..turn.answer import CompletedCall
from ..turn.assembled_call import AssembledCall
from ..turn.fragment_answer import FragmentAnswer
from ..turn.parts import Fragment, OtherDelta, ReadEvent, ReasoningDelta, Stop, TextDelta
from ..turn.text_search import SearchResult, TextPiece
from ..unread.fast_path import PASSING_TEXT, CallFragments, Lesson
from ..wire.events import PASS, Event, Hold, Verdict
from .answer_io import AnswerForm, StreamWriter
from .reply_builder import ReplyBuilder


@dataclass(slots=True)
class _CallEvent:
    """An event that is nothing but calls, which can go out as it came."""

    raw: bytes
    calls: list[AssembledCall] = field(default_factory=list)
    ends: bool = False
    """It has the finish reason too."""


class AnswerStream:
    """`name` tells the answers of one stream apart, where there are several."""

    __slots__ = (
        "_calls_key",
        "_cut",
        "_end_key",
        "_end_untouched",
        "_ended_with",
        "_form",
        "_hold",
        "_policy",
        "_sources",
        "_text_key",
        "_waiting_end",
        "_writer",
        "answer",
        "lesson",
        "live",
    )

    def __init__(
        self,
        request: Request,
        policy: Policy,
        mender: Mender,
        form: AnswerForm,
        writer: StreamWriter,
        name: str = "",
        answer: FragmentAnswer | None = None,
    ) -> None:
        self.answer = answer or FragmentAnswer(
            request, policy, mender, whole_calls=form.whole_calls, says_complete=form.says_complete
        )
        self._policy = policy
        self._form = form
        self._writer = writer
        self._calls_key, self._text_key, self._end_key = f"calls {name}", f"text {name}", f"end {name}"
        self._hold = Hold(self._calls_key)
        self.live = not policy.aggregate and not form.whole_calls
        """Calls go out while they come."""
        self._sources: dict[int, _CallEvent] = {}
        """By `id()` of a call: the event that it came in, if that says nothing else."""
        self._waiting_end: ReadEvent | None = None
        """The event with the finish reason: it waits, for a call may follow it."""
        self._end_untouched = False
        """That event says nothing else that the client should get: with its own reason it goes out as it came."""
        self._ended_with: ReadEvent | None = None
        """The event with the finish reason that went out as it came, because of its text."""
        self._cut = False
        """A call was cut off with the stream, or the upstream failed: nothing is made up for such an answer."""
        self.lesson: Lesson | None = None

    @property
    def holds_calls(self) -> bool:
        """Is a call held, or the finish reason behind one?"""
        return bool(self.answer.assembler.calls) or self._waiting_end is not None

    @property
    def end_waits(self) -> bool:
        return self._waiting_end is not None

    # An event

    def take(self, event: Event, read: ReadEvent) -> Verdict:
        """Take the text, the calls and the finish reason of an event."""
        self.lesson = None
        fragments = read.fragments
        if (
            fragments
            and len(fragments) == len(read.parts)
            and not (read.has_other_content or self.live or self._form.whole_calls)
        ):
            # Nothing but fragments, which wait for the rest of their calls.
            self._writer.remember(read, held=True)
            self._gather(read, fragments)
            return self._hold
        reply = ReplyBuilder(event)
        stop = read.stop
        follows = self._form.whole_calls and self._follows_calls(read)
        if follows:
            reply.out += self._written(read, self.answer.pass_text_on(), reply)
            self.answer.note_that_more_follows()
            self._send(Finish.COMPLETE, reply)
        pieces = self._search(read, reply)
        unchanged = pieces is None and not fragments and not follows and not (read.text and self._silent)
        beside: list[bytes] = []
        held = False
        if not unchanged:
            self._writer.remember(read)
            flowing = self._gather(read, fragments)
            beside = self._beside_calls(read, pieces, reply, flows=bool(flowing))
            reply.out += beside + flowing
            if fragments and not flowing:
                held = pieces is None and not beside and (stop is None or self._form.whole_calls)
                reply.hold(self._calls_key, read.raw if held else self._writer.calls(read))
        if stop is not None:
            if unchanged and self._passes(stop):
                return PASS
            if unchanged:
                self._writer.remember(read)
                beside = self._beside_calls(read, None, reply, flows=False)
                reply.out += beside
            # Where calls come whole, what waited of the text before it changes nothing of the event.
            untouched = (self._form.whole_calls and not read.text) or (pieces is None and not beside)
            self._stop(read, stop, reply, untouched=untouched and not fragments, held=held)
            return reply.verdict()
        if unchanged:
            self.lesson = self._text_lesson(read)
            return PASS
        return reply.verdict()

    def _follows_calls(self, read: ReadEvent) -> bool:
        """Does something follow the calls so far, so that they are complete? A finish reason says how they ended."""
        calls = self.answer.assembler.calls
        if not calls or calls[-1].unfinished or self._waiting_end is not None:
            return False
        return not all(isinstance(part, Stop) or (isinstance(part, OtherDelta) and part.aside) for part in read.parts)

    # Text

    def _search(self, read: ReadEvent, reply: ReplyBuilder) -> list[TextPiece] | None:
        """Search the text of an event: what of it may go out, with what was held before; None if it is just that."""
        answer = self.answer
        source = self._source(read)
        pieces: list[TextPiece] | None = None
        for part in read.parts:
            if isinstance(part, TextDelta):
                found = answer.say(part.text, source)
                if found is None and pieces is not None:
                    pieces.append(TextPiece(part.text, source))
            elif isinstance(part, ReasoningDelta):
                found = answer.think(part.text)
            elif isinstance(part, OtherDelta):
                answer.refused = answer.refused or part.refusal
                found = answer.say_otherwise()
            else:
                continue
            if found is not None:
                pieces = [*(pieces or []), *found.pieces]
                self._hold_text(read, part, found, reply)
        return pieces

    def _source(self, read: ReadEvent) -> bytes | None:
        """The event, where it can go out for its text: it says nothing else, or nothing but the finish reason."""
        if read.has_other_content or read.moved:
            return None
        alone = len(read.parts) == 1 or (len(read.parts) == 2 and read.stop is not None and not self._form.splits_end)
        return read.raw if alone and isinstance(read.parts[0], TextDelta) else None

    def _hold_text(
        self, read: ReadEvent, part: TextDelta | ReasoningDelta | OtherDelta, found: SearchResult, reply: ReplyBuilder
    ) -> None:
        """What would still have to go out if we failed: the text of calls that were found, and text that waits."""
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
    def _silent(self) -> bool:
        """Is there a call, beside which the user wants no text?"""
        return self._policy.null_content and (self.answer.outgoing.sent > 0 or self.answer.has_pending_calls)

    def _beside_calls(
        self, read: ReadEvent, pieces: list[TextPiece] | None, reply: ReplyBuilder, *, flows: bool
    ) -> list[bytes]:
        """What an event says besides its calls and its finish reason."""
        source = self._source(read)
        if pieces is None and source is not None and read.stop is not None:
            pieces = [TextPiece(read.text, source)]
        if (read.text or pieces) and self._silent:
            pieces = []
        texts = [self._spoken(read, piece, reply) for piece in pieces] if pieces is not None else None
        if read.stop is None and not read.fragments and not (texts is not None and read.text):
            # Nothing of the event itself changes: what was held before it goes out before it.
            return [*(texts or []), read.raw]
        return self._writer.beside_calls(read, texts, flows=flows)

    def _written(self, read: ReadEvent | None, found: SearchResult, reply: ReplyBuilder) -> list[bytes]:
        """Text that was searched: the events that it came in, where they say nothing else."""
        if found.parts:
            reply.release(self._text_key)
        if self._silent:
            return []
        return [self._spoken(read, piece, reply) for piece in found.pieces]

    def _spoken(self, read: ReadEvent | None, piece: TextPiece, reply: ReplyBuilder) -> bytes:
        """The event that a text came in. One that ends the answer too does so here, if nothing else is to come."""
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
        """Take the fragments; what of them goes out at once."""
        calls: list[AssembledCall] = []
        out: list[bytes] = []
        for fragment in fragments:
            call = self.answer.gather(fragment)
            if call is None:
                continue
            calls.append(call)
            part = self.answer.go_on_live(call) if self.live else None
            if part is None:
                call.escaped.grew(call.fragments, len(fragment.arguments))
            else:
                out.append(self._writer.live(part))
        if self._form.whole_calls and calls and not (read.has_other_content or read.text) and _are_whole(fragments):
            source = _CallEvent(read.raw, calls, ends=read.stop is not None)
            self._sources.update((id(call), source) for call in calls)
        if len(fragments) == 1 and not fragments[0].name and not self.live and calls and self._form.arguments_key:
            # A name may begin another call. Without one the index and the id decide, which are part of the template.
            receiver = CallFragments(calls[0].add, self._hold)
            self.lesson = Lesson(self._form.arguments_key, fragments[0].arguments, receiver)
        return out

    def _send(self, finish: Finish, reply: ReplyBuilder, *, before_error: bool = False) -> bool:
        """Every call that was gathered goes out. True where one is refused, and the client has nothing of it."""
        calls = self.answer.complete(finish, before_error=before_error, ids=self._writer.ids)
        reply.release(self._calls_key)
        as_they_came = self._as_they_came(calls) if self._sources else set()
        written: set[int] = set()
        for call in calls:
            source = self._sources.pop(id(call.assembled), None)
            if call.live is not None:
                rest = call.live.rest(call.outcome)
                reply.out += [self._writer.rest_of_call(call.live.number, rest)] if rest else []
            elif source is not None and id(source) in as_they_came:
                reply.out += [source.raw] if id(source) not in written else []
                written.add(id(source))
                if source.ends:
                    reply.release(self._end_key)
                    self._waiting_end = None
            elif not call.outcome.dropped:
                reply.out.append(self._writer.call(call))
        reply.out += [self._writer.note(note) for note in self.answer.outgoing.pop_notes()]
        return any(call.outcome.status == "refused" for call in calls if call.live is None)

    def _as_they_came(self, calls: list[CompletedCall]) -> set[int]:
        """The events, by `id()`, all of whose calls go out as they came."""
        kept = {id(call.assembled) for call in calls if call.unchanged}
        events = {id(source): source for source in self._sources.values()}
        return {
            key
            for key, source in events.items()
            if all(id(assembled) in kept for assembled in source.calls)
            and (not source.ends or self._ends(source, calls))
        }

    def _ends(self, source: _CallEvent, calls: list[CompletedCall]) -> bool:
        """Is this event the end of the answer as it came, with its calls as the last ones?"""
        end = self._waiting_end
        last = calls[-1].assembled if calls else None
        if end is None or end.raw is not source.raw or not any(assembled is last for assembled in source.calls):
            return False
        return end.stop is not None and end.stop.reason == self._reason

    # The end

    def _passes(self, stop: Stop) -> bool:
        """Does a finish reason go on as it came: no call was seen, and none is promised?"""
        if self.answer.engaged or self.answer.undecided or self._writer.words.needs_calls(stop.reason):
            return False
        self.answer.passed_stop(stop.finish)
        return True

    def _stop(self, read: ReadEvent, stop: Stop, reply: ReplyBuilder, *, untouched: bool, held: bool) -> None:
        """A finish reason: whole calls come out; broken ones wait with it, for some servers go on behind a reason.

        `held`: its event is held as it came.
        """
        answer = self.answer
        finish = Finish.CUT if answer.refused else stop.finish
        # Text may follow a finish reason too, and then the call that was written before it is text.
        waits = answer.undecided and finish is not Finish.CUT
        if not waits:
            reply.out += self._written(read, answer.end_text(finish), reply)
        whole = (
            not waits
            and not self._form.whole_calls
            and all(assembled.whole() for assembled in answer.assembler.calls)
        )
        if (whole or stop.failed) and self._ended_with is not read:
            self._send(finish, reply, before_error=stop.failed)
        answer.stop(stop.reason, finish)
        self._cut = self._cut or stop.failed
        if self._ended_with is read:
            return
        if self._waiting_end is None or self._writer.ends_again(read):
            self._waiting_end = read
            self._end_untouched = untouched and not read.moved
        reply.release(self._end_key)
        if not held:
            reply.hold(self._end_key, self._written_end())

    def write_waiting_end(self, reply: ReplyBuilder) -> None:
        """Something follows that belongs to no answer (usage): a finish reason that waits goes out before it."""
        if self._waiting_end is not None:
            self.send_held(self.answer.believed(Finish.UNKNOWN), reply)
            self._write_end(reply)

    def fail(self, reply: ReplyBuilder) -> None:
        """An error follows: held text and complete calls come out, unfinished calls are dropped."""
        self.send_held(Finish.CUT, reply, before_error=True)
        self._write_end(reply)

    def break_off(self, reply: ReplyBuilder) -> None:
        """The stream ends with half an event: what a finish reason did not end before it was cut off."""
        if not self.answer.reasons:
            self.answer.passed_stop(Finish.CUT)
            self._cut = True
        self.end(Finish.CUT, reply)

    def end(self, finish: Finish, reply: ReplyBuilder) -> bool:
        """The stream is over: as the finish reasons say, else as `finish`. True if the answer is complete."""
        answer = self.answer
        refused = self.send_held(answer.believed(finish), reply)
        self._cut = self._cut or (finish is Finish.CUT and refused)
        if self._waiting_end is not None:
            self._write_end(reply)
        elif not answer.reasons and not self._cut and (answer.outgoing.sent or refused):
            reply.out.append(self._writer.end(None, self._reason))
            answer.reasons.append(self._reason)
        return not self._cut and bool(answer.outgoing.sent or answer.reasons)

    def send_held(self, finish: Finish, reply: ReplyBuilder, *, before_error: bool = False) -> bool:
        """What is held of the text and the calls. True where a call was refused."""
        reply.out += self._written(None, self.answer.end_text(finish), reply)
        return self._send(finish, reply, before_error=before_error)

    def _write_end(self, reply: ReplyBuilder) -> None:
        """The finish reason that waits."""
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
        """The finish reason that is true, given those that the server sent."""
        return str(self.answer.true_reason(self._writer.words) or self._writer.words.stop)

    def _text_lesson(self, read: ReadEvent) -> Lesson | None:
        part = read.parts[0] if len(read.parts) == 1 else None
        if isinstance(part, TextDelta) and part.text and self._form.text_key:
            return Lesson(self._form.text_key, part.text, self.answer.search or PASSING_TEXT)
        if isinstance(part, ReasoningDelta) and part.key:
            return Lesson(part.key, part.text, self.answer.reasoning or PASSING_TEXT)
        if isinstance(part, OtherDelta) and part.key:
            return Lesson(part.key, part.text, PASSING_TEXT)
        return None


def _are_whole(fragments: list[Fragment]) -> bool:
    """Is each of them a call that can go out as it came?"""
    return all(fragment.name and not (fragment.unfinished or fragment.steps) for fragment in fragments)
