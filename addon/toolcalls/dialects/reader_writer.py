"""A dialect made of a reader and a writer, for protocols with one answer per stream.

The reader turns an event into parts (`turn/parts.py`), `answer_stream.py` decides which parts are sent and when, and
the writer turns those into events.
"""

from __future__ import annotations

from dataclasses import replace

from ..mend.finish import Finish
from ..mend.mender import Mender
from ..policy import Policy
from ..request.request import Request
from ..turn.fragment_answer import FragmentAnswer
from ..turn.parts import Failure, ReadEvent
from ..turn.whole_answer import mend_answer
from ..unread.fast_path import Lesson
from ..wire.events import PASS, Event, Replace, Verdict, joined
from .answer_io import AnswerReader, AnswerWriter
from .answer_stream import AnswerStream
from .interface import Dialect
from .reply_builder import ReplyBuilder

_DONE = "[DONE]"


class ReaderWriterDialect(Dialect):
    """A dialect made of a reader and a writer."""

    __slots__ = ("_ended", "_failed", "_mender", "_policy", "_reader", "_request", "_stream", "_writer", "lesson")
    lesson: Lesson | None

    def __init__(
        self, request: Request, policy: Policy, mender: Mender, reader: AnswerReader, writer: AnswerWriter
    ) -> None:
        self._stream = AnswerStream(
            FragmentAnswer(request, policy, mender, reader.traits), policy, reader.traits, writer
        )
        self._request = request
        self._policy = policy
        self._mender = mender
        self._reader = reader
        self._writer = writer
        self._failed = False
        self._ended = False
        self.lesson = None

    def read(self, event: Event) -> Verdict:
        self.lesson = None
        events = self._reader.read_apart(event) if event.data is not None else []
        if len(events) < 2:
            return self._read(event, events[0] if events else None)
        apart = [(event._replace(raw=read.raw), read) for read in events]
        verdict = joined((one, self._read(one, read)) for one, read in apart)
        self.lesson = None
        return verdict

    def _read(self, event: Event, read: ReadEvent | None) -> Verdict:
        if read is None and self.framing.ended(event.raw) != event.raw:
            return self.break_off(event)
        if read is None and event.data is not None and event.data.strip() == _DONE:
            return self._done(event)
        if read is None or not read.parts:
            return self._pass(event)
        if any(isinstance(part, Failure) for part in read.parts):
            return self._fail(event)
        verdict = self._stream.take(read)
        self.lesson = self._stream.lesson
        return verdict

    def close(self) -> Replace | None:
        if self._ended or self._failed or not self._stream.answer.engaged:
            return None
        reply = ReplyBuilder()
        self._stream.end(Finish.CUT, reply)
        self._ended = True
        return reply.replacement()

    def break_off(self, half: Event) -> Verdict:
        if self._ended or self._failed or not self._stream.answer.engaged:
            return PASS
        waits, calls = self.waits, self._stream.has_calls
        reply = ReplyBuilder(half.raw)
        self._stream.break_off(reply)
        self._ended = True
        # Clients stop at half an event, so they must not get it behind a call that was held.
        reply.out += [] if waits and (calls or self._stream.has_calls) else [half.raw]
        return reply.replacement()

    def _done(self, event: Event) -> Verdict:
        """`[DONE]`, which gateways append to any stream: everything that is held is sent before it."""
        if self._failed or not self._stream.answer.engaged:
            return PASS
        reply = ReplyBuilder(event.raw)
        self._stream.end(Finish.UNKNOWN, reply)
        reply.out.append(event.raw)
        return reply.replacement()

    def _pass(self, event: Event) -> Verdict:
        """An event without text or calls: it passes, after a finish reason that waits."""
        reply = ReplyBuilder(event.raw)
        self._stream.write_waiting_end(reply)
        reply.out.append(event.raw)
        return reply.verdict()

    def _fail(self, event: Event) -> Verdict:
        """An error: complete calls are sent, unfinished ones are dropped, and the error is forwarded."""
        self._failed = True
        if not self._stream.answer.engaged:
            return PASS
        reply = ReplyBuilder(event.raw)
        self._stream.fail(reply)
        reply.out.append(event.raw)
        return reply.replacement()

    @property
    def waits(self) -> bool:
        """Whether a call, or a finish reason, is held: events without data must not overtake it."""
        return self._stream.holds_calls

    def keep_alive(self) -> bytes:
        return self._writer.keep_alive()

    def body(self, body: bytes) -> bytes:
        read = self._reader.read(Event(body, body.decode("utf-8", "replace")))
        if read is None or any(isinstance(part, Failure) for part in read.parts):
            return body
        traits = self._reader.traits
        if read.stop is None:
            # The body may be the first line of a stream that was cut off there.
            traits = replace(traits, needs_finish_reason=True)
        answer = FragmentAnswer(self._request, self._policy, self._mender, traits)
        mended = mend_answer(read, answer, self._writer.words)
        if mended is None:
            return body
        silent = mended.calls and self._policy.null_content
        texts = ["" for _ in mended.texts] if silent else mended.texts
        reason = None if mended.reason is None else str(mended.reason)
        return self._writer.document(read, [*texts, *mended.notes], mended.calls, reason)
