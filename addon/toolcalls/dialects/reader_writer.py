"""A protocol as a reader and a writer: everything else that a dialect does, written once.

The reader turns an event into parts (`turn/parts.py`), the answer (`turn/answer.py`) says what may go out, the writer
makes events of that. An event all of whose parts may go on passes as the bytes it came in; one that is nothing but
fragments of calls is held; of all others the writer makes new ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..mend.call import Mender
from ..mend.finish import Finish
from ..policy import Policy
from ..request.request import Request
from ..turn.answer import Answer, CompletedCall
from ..turn.assembled_call import Fragment, Slot
from ..turn.parts import Failure, OtherDelta, ReadEvent, ReasoningDelta, Stop, TextDelta
from ..turn.text_search import SearchResult, TextPiece
from ..unread.fast_path import PASSING_TEXT, CallFragments, Lesson
from ..wire.events import PASS, Event, Hold, Replace, Verdict, joined
from .answer_io import AnswerReader as AnswerReader
from .answer_io import AnswerWriter as AnswerWriter
from .interface import Dialect
from .reply_builder import ReplyBuilder
from .whole_document import WholeDocument

_CALLS, _TEXT, _END = "calls", "text", "end"
_HOLD = Hold(_CALLS)
LINE_ENDS = (b"\n", b"\r")
_DONE = "[DONE]"


@dataclass(slots=True)
class _CallEvent:
    """An event that is nothing but calls, which can go out as it came."""

    raw: bytes
    slots: list[Slot] = field(default_factory=list)
    ends: bool = False
    """It has the finish reason too."""


class ReaderWriterDialect(Dialect):
    """The dialect that a reader and a writer make."""

    __slots__ = (
        "_answer",
        "_ended",
        "_ended_with",
        "_failed",
        "_live",
        "_mender",
        "_policy",
        "_reader",
        "_request",
        "_sources",
        "_waiting_end",
        "_writer",
        "lesson",
    )
    lesson: Lesson | None

    def __init__(
        self, request: Request, policy: Policy, mender: Mender, reader: AnswerReader, writer: AnswerWriter
    ) -> None:
        self._answer = Answer(request, policy, mender, whole_calls=reader.whole_calls)
        self._request = request
        self._policy = policy
        self._mender = mender
        self._reader = reader
        self._writer = writer
        self._live = not policy.aggregate and not reader.whole_calls
        """Calls go out while they come."""
        self._sources: dict[int, _CallEvent] = {}
        """By `id()` of a call: the event that it came in, if that says nothing else."""
        self._waiting_end: ReadEvent | None = None
        """The event with the finish reason: it waits, for a call may follow it."""
        self._ended_with: ReadEvent | None = None
        """The event with the finish reason that went out as it came, because of its text."""
        self._failed = False
        self._ended = False
        self.lesson = None

    # The stream

    def read(self, event: Event) -> Verdict:
        self.lesson = None
        told = self._reader.read_apart(event) if event.data is not None else []
        if len(told) < 2:
            return self._read(event, told[0] if told else None)
        apart = [(event._replace(raw=read.raw), read) for read in told]
        verdict = joined((one, self._read(one, read)) for one, read in apart)
        self.lesson = None
        return verdict

    def _read(self, event: Event, read: ReadEvent | None) -> Verdict:
        if read is None and self.holds_calls and not event.raw.endswith(LINE_ENDS):
            # Half an event at the end of a cut stream is no event, and behind it comes a call.
            return Replace()
        if read is None and event.data is not None and event.data.strip() == _DONE:
            return self._done(event)
        if read is None or not read.parts:
            return self._pass(event)
        if any(isinstance(part, Failure) for part in read.parts):
            return self._fail(event)
        draft = ReplyBuilder(event)
        unchanged = self._take(read, draft)
        if read.stop is not None:
            unchanged = self._stop(read, draft, unchanged)
        if unchanged:
            self.lesson = self._text_lesson(read)
            return PASS
        return draft.answer()

    def close(self) -> Replace | None:
        if self._ended or self._failed or not self._answer.engaged:
            return None
        draft = ReplyBuilder()
        self._end(Finish.CUT, draft)
        self._ended = True
        return draft.reply()

    def _done(self, event: Event) -> Verdict:
        """`[DONE]`, which gateways put behind any stream: everything that is held comes before it."""
        if self._failed or not self._answer.engaged:
            return PASS
        draft = ReplyBuilder(event)
        self._end(Finish.UNKNOWN, draft)
        draft.out.append(event.raw)
        return draft.reply()

    def _end(self, finish: Finish, draft: ReplyBuilder) -> None:
        """The answer is over: as its reasons say, else as `finish`."""
        answer = self._answer
        finish = answer.believed(finish)
        self._end_text(None, finish, draft)
        cut = self._send(finish, draft)
        self._write_end(draft, missing=bool(answer.turn.sent) and not cut)

    def keep_alive(self) -> bytes:
        return self._writer.keep_alive()

    def _pass(self, event: Event) -> Verdict:
        """An event that says nothing about text or calls; a finish reason that waits goes out before it."""
        if self._waiting_end is None:
            return PASS
        draft = ReplyBuilder(event)
        finish = self._answer.believed(Finish.UNKNOWN)
        self._end_text(None, finish, draft)
        self._send(finish, draft)
        self._write_end(draft, missing=False)
        draft.out.append(event.raw)
        return draft.reply()

    def _fail(self, event: Event) -> Verdict:
        """An error: complete calls come out, unfinished ones are dropped, the error goes on."""
        self._failed = True
        if not self._answer.engaged:
            return PASS
        draft = ReplyBuilder(event)
        self._end_text(None, Finish.CUT, draft)
        self._send(Finish.CUT, draft, before_error=True)
        self._write_end(draft, missing=False)
        draft.out.append(event.raw)
        return draft.reply()

    @property
    def holds_calls(self) -> bool:
        """Is a call held, or the finish reason behind one?"""
        return bool(self._answer.assembler.slots) or self._waiting_end is not None

    # What an event says

    def _take(self, read: ReadEvent, draft: ReplyBuilder) -> bool:
        """Take the text and the calls of an event. True where nothing of it has to be written anew."""
        answer = self._answer
        fragments = read.fragments
        complete = self._reader.whole_calls and self._goes_on(read)
        if complete:
            draft.out += self._said(read, answer.pass_text_on(), draft)
            self._send(Finish.COMPLETE, draft)
        unchanged = not (fragments or complete)
        alone = len(read.parts) == 1 and not read.says_more
        source = read.raw if alone or _says_and_ends(read) else None
        spoken: list[bytes | TextPiece] = []
        for part in read.parts:
            said: SearchResult | None = None
            if isinstance(part, TextDelta):
                said = answer.say(part.text, source)
                if said is None and part.text:
                    spoken.append(TextPiece(part.text, source))
            elif isinstance(part, ReasoningDelta):
                said = answer.think(part.text)
            elif isinstance(part, OtherDelta):
                answer.refused = answer.refused or part.refusal
                said = answer.say_otherwise()
            if said is not None:
                unchanged = False
                spoken += self._said(read, said, draft)
                if isinstance(part, TextDelta):
                    self._hold_text(read, part.text, said, draft)
        if not unchanged:
            flowing = self._gather(read, fragments)
            draft.out += [said if isinstance(said, bytes) else self._spoken(read, said, draft) for said in spoken]
            draft.out += self._rest(read)
            draft.out += flowing
            self._hold_calls(read, fragments, draft, flowing=bool(flowing))
        return unchanged

    def _goes_on(self, read: ReadEvent) -> bool:
        """Does something follow the calls so far, so that they are complete? A finish reason says how they ended."""
        slots = self._answer.assembler.slots
        if not slots or slots[-1].unfinished or self._waiting_end is not None:
            return False
        return any(not isinstance(part, Stop) for part in read.parts)

    def _rest(self, read: ReadEvent) -> list[bytes]:
        """What an event says besides its text and its calls; with a finish reason it goes on with that."""
        if not read.says_more or read.stop is not None:
            return []
        return [self._writer.rest(read) if read.text or read.fragments else read.raw]

    def _said(self, read: ReadEvent | None, said: SearchResult, draft: ReplyBuilder) -> list[bytes]:
        """Text that was searched: the events that it came in, where they say nothing else."""
        if said.parts:
            draft.release(_TEXT)
        if self._policy.null_content and self._answer.turn.sent:
            return []
        return [self._spoken(read, piece, draft) for piece in said.pieces]

    def _spoken(self, read: ReadEvent | None, piece: TextPiece, draft: ReplyBuilder) -> bytes:
        """The event that a text came in. One that ends the answer too does so here, if nothing else is to come."""
        end = next((end for end in (self._waiting_end, read) if end is not None and end.raw is piece.source), None)
        if piece.source is None or end is None or end.stop is None:
            return piece.source or self._writer.text(read, piece.text)
        if self._answer.has_pending_calls or self._answer.would_be(end.stop, self._writer.words) != end.stop.reason:
            return self._writer.text(end, piece.text)
        draft.release(_END)
        self._waiting_end = None
        self._ended_with = end
        return end.raw

    def _hold_text(self, read: ReadEvent, text: str, said: SearchResult, draft: ReplyBuilder) -> None:
        held = self._answer.held_text if said.parts else text
        if not held:
            return
        alone = held == text and len(read.parts) == 1 and not read.says_more
        draft.hold(_TEXT, read.raw if alone else self._writer.text(read, held))

    def _gather(self, read: ReadEvent, fragments: list[Fragment]) -> list[bytes]:
        """Take the fragments; what of them goes out at once."""
        slots: list[Slot] = []
        out: list[bytes] = []
        for fragment in fragments:
            slot = self._answer.gather(fragment)
            if slot is None:
                continue
            slots.append(slot)
            part = self._answer.go_on_live(slot) if self._live else None
            if part is None:
                slot.quoted.grew(slot.fragments, len(fragment.arguments))
            else:
                out.append(self._writer.live(part))
        if self._reader.whole_calls and slots and not (read.says_more or read.text) and _are_whole(fragments):
            source = _CallEvent(read.raw, slots, ends=read.stop is not None)
            self._sources.update((id(slot), source) for slot in slots)
        if len(fragments) == 1 and not fragments[0].name and not self._live and slots:
            self._learn_fragments(read, fragments[0], slots[0])
        return out

    def _hold_calls(self, read: ReadEvent, fragments: list[Fragment], draft: ReplyBuilder, *, flowing: bool) -> None:
        if fragments and not flowing:
            alone = len(fragments) == len(read.parts) and not read.says_more
            draft.hold(_CALLS, read.raw if alone else self._writer.calls(read))

    # Calls going out

    def _send(self, finish: Finish, draft: ReplyBuilder, *, before_error: bool = False) -> bool:
        """Every call that was gathered goes out. True where one of them was refused."""
        calls = self._answer.complete(finish, before_error=before_error, ids=self._writer.ids)
        draft.release(_CALLS)
        as_they_came = self._as_they_came(calls)
        written: set[int] = set()
        for call in calls:
            source = self._sources.pop(id(call.slot), None)
            if call.live is not None:
                rest = call.live.rest(call.outcome)
                draft.out += [self._writer.rest_of_call(call.live.number, rest)] if rest else []
            elif source is not None and id(source) in as_they_came:
                draft.out += [source.raw] if id(source) not in written else []
                written.add(id(source))
                if source.ends:
                    draft.release(_END)
                    self._waiting_end = None
            elif not call.outcome.dropped:
                draft.out.append(self._writer.call(call))
        draft.out += [self._writer.text(None, note) for note in self._answer.turn.take_notes()]
        return any(call.outcome.status == "refused" for call in calls)

    def _as_they_came(self, calls: list[CompletedCall]) -> set[int]:
        """The events, by `id()`, all of whose calls go out as they came."""
        kept = {id(call.slot) for call in calls if call.unchanged}
        events = {id(source): source for source in self._sources.values()}
        return {
            key
            for key, source in events.items()
            if all(id(slot) in kept for slot in source.slots) and (not source.ends or self._ends(source, calls))
        }

    def _ends(self, source: _CallEvent, calls: list[CompletedCall]) -> bool:
        """Is this event the end of the answer as it came, with its calls as the last ones?"""
        end = self._waiting_end
        last = calls[-1].slot if calls else None
        if end is None or end.raw is not source.raw or not any(slot is last for slot in source.slots):
            return False
        return end.stop is not None and end.stop.reason == self._reason

    # The end

    def _stop(self, read: ReadEvent, draft: ReplyBuilder, unchanged: bool) -> bool:
        """An event with a finish reason: whole calls come out, the event itself waits where a call may follow it."""
        answer, stop = self._answer, read.stop
        assert stop is not None
        if unchanged and not (answer.engaged or answer.undecided) and not self._writer.words.needs_calls(stop.reason):
            answer.passed_stop(stop.finish)
            return True
        if unchanged and read.text:
            source = read.raw if _says_and_ends(read) else None
            draft.out.append(self._spoken(read, TextPiece(read.text, source), draft))
        answer.stop(stop.reason, stop.finish)
        waits = answer.undecided and stop.finish is not Finish.CUT
        if not waits:
            self._end_text(read, stop.finish, draft)
        if self._ended_with is read:
            return False
        if not waits and not self._reader.whole_calls and all(slot.whole() for slot in answer.assembler.slots):
            self._send(stop.finish, draft)
        self._waiting_end = read
        draft.release(_END)
        draft.hold(_END, self._written_end())
        return False

    def _end_text(self, read: ReadEvent | None, finish: Finish, draft: ReplyBuilder) -> None:
        draft.out += self._said(read, self._answer.end_text(finish), draft)

    def _write_end(self, draft: ReplyBuilder, *, missing: bool) -> None:
        """The finish reason that waits, or the one that is `missing`."""
        if self._waiting_end is not None:
            draft.release(_END)
            draft.out.append(self._written_end())
            self._waiting_end = None
        elif missing and not self._answer.reasons:
            reason = self._reason
            draft.out.append(self._writer.end(None, reason))
            self._answer.reasons.append(reason)

    def _written_end(self) -> bytes:
        read = self._waiting_end
        if read is not None and read.stop is not None and len(read.parts) == 1 and read.stop.reason == self._reason:
            return read.raw
        return self._writer.end(read, self._reason)

    @property
    def _reason(self) -> str:
        return str(self._answer.true_reason(self._writer.words) or self._writer.words.stop)

    # The fast path

    def _text_lesson(self, read: ReadEvent) -> Lesson | None:
        """What an event says of those like it, if all that it says is one text or one thought."""
        reader, answer = self._reader, self._answer
        part = read.parts[0]
        if len(read.parts) != 1 or not isinstance(part, TextDelta | ReasoningDelta) or not part.text:
            return None
        if isinstance(part, TextDelta):
            return Lesson(reader.text_key, part.text, answer.search or PASSING_TEXT) if reader.text_key else None
        return (
            Lesson(reader.reasoning_key, part.text, answer.thoughts or PASSING_TEXT) if reader.reasoning_key else None
        )

    def _learn_fragments(self, read: ReadEvent, fragment: Fragment, slot: Slot) -> None:
        if self._reader.arguments_key and len(read.parts) == 1 and not read.says_more:
            self.lesson = Lesson(self._reader.arguments_key, fragment.arguments, CallFragments(slot.add, _HOLD))

    def body(self, body: bytes) -> bytes:
        document = WholeDocument(self._request, self._policy, self._mender, self._reader, self._writer)
        return document.mended(body)


def _are_whole(fragments: list[Fragment]) -> bool:
    """Is each of them a call that can go out as it came?"""
    return all(fragment.name and not (fragment.unfinished or fragment.steps) for fragment in fragments)


def _says_and_ends(read: ReadEvent) -> bool:
    """Is it a text and a finish reason, and nothing else?"""
    return (
        len(read.parts) == 2 and isinstance(read.parts[0], TextDelta) and read.stop is not None and not read.says_more
    )
