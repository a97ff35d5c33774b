"""Anthropic Messages, streamed and not.

Strategy: events of blocks go to the sequence of blocks (`block_sequence.py`). This file handles the events around
them: the start, the stop reason, the end, errors and pings; even an answer without a call may lack its end. The stop
reason depends on the calls that were really sent. Some servers send a call after the stop reason, so if a call is
possible, a message_delta waits for the next event, which is usually the end, in the same chunk.
"""

from __future__ import annotations

from typing import Any, Final

from ...mend.finish import Finish
from ...mend.mender import Mender
from ...policy import Policy
from ...request.request import Request
from ...turn import payload
from ...turn.parts import CallStart, Fragment, ReadEvent, string_of
from ...unread.fast_path import Lesson
from ...wire import sse
from ...wire.events import PASS, SPLIT_LINES, Event, Replace, Verdict
from ..data_kinds import DataKind, classify_data
from ..interface import Dialect
from ..reply_builder import ReplyBuilder
from .block_sequence import BlockSequence
from .body import mend_body
from .reader import MessagesReader
from .waiting_stop_reason import WaitingStopReason
from .wire import (
    BLOCK_EVENTS,
    ERROR,
    EVENTS,
    MESSAGE_DELTA,
    MESSAGE_START,
    MESSAGE_STOP,
    NO_USAGE,
    PING_EVENT,
    WORDS,
    Json,
    write,
)

PING: Final = write({"type": PING_EVENT})
STOP: Final = write({"type": MESSAGE_STOP})
_CUT_OFF_WORDS = "The upstream ended the stream before the answer was complete."
CUT_OFF: Final = write({"type": ERROR, "error": {"type": "api_error", "message": _CUT_OFF_WORDS}})


class Messages(Dialect):
    """The dialect of `/v1/messages`."""

    __slots__ = (
        "_ended",
        "_has_calls",
        "_may_follow",
        "_mender",
        "_policy",
        "_reader",
        "_request",
        "_sequence",
        "_started",
        "_stop",
    )

    def __init__(self, request: Request, policy: Policy, mender: Mender) -> None:
        self._request = request
        self._mender = mender
        self._policy = policy
        self._reader = MessagesReader(request.read_by_model)
        self._sequence = BlockSequence(request, policy, mender)
        self._started = False
        self._ended = False
        """A message_stop or an error was sent: nothing may follow."""
        self._has_calls = False
        """The answer has calls, before or after its end; noted when something follows the end."""
        self._stop = WaitingStopReason()
        self._may_follow = request.choices is None or len(request.tools) > 0
        """A call may follow a stop reason. False if the request declares no tools."""

    # The stream

    @property
    def lesson(self) -> Lesson | None:
        return self._sequence.lesson

    @property
    def waits(self) -> bool:
        """Whether a stop reason waits for the end. Events without content then wait too, to keep their order."""
        return self._stop.waits

    def read(self, event: Event) -> Verdict:
        self._sequence.lesson = None
        if event.data is None:
            return self._pass_or_wait(event)
        data = payload.read_strict(event.data)
        return self._take(event, data) if isinstance(data, dict) else self._take_odd(event, data)

    def break_off(self, half: Event) -> Verdict:
        # It is dropped if our own end follows.
        return Replace() if self._started and not self._ended else PASS

    def close(self) -> Replace | None:
        if self._ended or not self._started:
            return None
        reply = ReplyBuilder()
        self._end(reply, whole=False)
        return reply.replacement()

    def keep_alive(self) -> bytes:
        return PING

    def body(self, body: bytes) -> bytes:
        return mend_body(body, self._request, self._policy, self._mender)

    def _take_odd(self, event: Event, data: Any) -> Verdict:
        """Handle data that is not a JSON object."""
        odd = classify_data(event, data)
        unnamed = event._replace(type="")  # Without a name, an event that the protocol has is written anew.
        match odd.kind:
            case DataKind.ERROR:
                return self._take(unnamed, {"type": ERROR, "error": odd.value})
            case DataKind.KEEP_ALIVE:
                return self._take_blank(event, (event.data or "").strip())
            case DataKind.DONE:
                return self._done(event)
            case DataKind.SEVERAL_LINES:
                return SPLIT_LINES
            case DataKind.BROKEN:
                return self._take(unnamed, odd.value)
        return self.break_off(event) if odd.kind is DataKind.TRUNCATED else PASS

    def _take_blank(self, event: Event, text: str) -> Verdict:
        """Rewrite a keep-alive that was sent as data, because clients that parse every data line fail on it."""
        if event.type == PING_EVENT:
            return Replace((PING,))
        if event.type == MESSAGE_STOP:
            return self._take(event, {"type": MESSAGE_STOP})
        if event.type:
            return PASS
        return Replace((sse.comment(text),))

    def _take(self, event: Event, data: Json) -> Verdict:
        """Handle an event whose data is a JSON object."""
        read = self._reader.read(event, data)
        kind = read.payload["type"]
        if self._ended:
            return self._take_after_the_end(kind, read)
        if kind not in EVENTS:
            return self._pass_or_wait(event)
        reply = ReplyBuilder(event.raw)
        if kind in BLOCK_EVENTS:
            self._ensure_started(reply)
            self._stop.block_follows(reply)
            self._sequence.take(read, reply)
        elif kind == PING_EVENT:
            if self._stop.waits:
                self._stop.add(read.raw, reply)
            else:
                reply.out.append(read.raw)
        elif kind == MESSAGE_START:
            self._message_start(read, reply)
        elif kind == MESSAGE_DELTA:
            self._message_delta(read, reply)
        elif kind == MESSAGE_STOP:
            self._ensure_started(reply)
            self._end(reply, whole=True, stop=read.raw)
        else:
            self._error(read, reply)
        return reply.verdict()

    def _take_after_the_end(self, kind: str, read: ReadEvent) -> Verdict:
        """Drop what follows the end if the answer has calls, there or before: they would run unmended, or again."""
        calls = any(isinstance(part, CallStart | Fragment) for part in read.parts)
        self._has_calls = self._has_calls or calls or self._sequence.answer.outgoing.sent > 0
        return Replace() if kind == MESSAGE_STOP or (kind in BLOCK_EVENTS and self._has_calls) else PASS

    # The start

    def _message_start(self, read: ReadEvent, reply: ReplyBuilder) -> None:
        """Send the first message_start, with usage if it has none; drop all others."""
        message = read.payload.get("message")
        message = message if isinstance(message, dict) else {}
        self._sequence.answer.assembler.answer_id = string_of(message.get("id"))
        if self._started:
            return
        self._started = True
        if message.get("content"):
            self._sequence.answer.take_other(None)
        usage = message.get("usage")
        if isinstance(usage, dict):
            self._stop.count(usage)
            reply.out.append(read.raw)
        else:
            filled = {**(message or self._empty_message()), "usage": NO_USAGE}
            reply.out.append(write({**read.payload, "message": filled}))

    def _ensure_started(self, reply: ReplyBuilder) -> None:
        """Write the message_start if none arrived."""
        if not self._started:
            self._started = True
            reply.out.append(write({"type": MESSAGE_START, "message": self._empty_message()}))

    def _empty_message(self) -> Json:
        return {
            "id": self._mender.ids.new("msg"),
            "type": "message",
            "role": "assistant",
            "model": self._request.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": NO_USAGE,
        }

    # The end

    def _message_delta(self, read: ReadEvent, reply: ReplyBuilder) -> None:
        """Hold a message_delta; with a stop reason, send the calls that need not wait for what follows it."""
        self._ensure_started(reply)
        self._stop.count(read.payload.get("usage"))
        if self._stop.reason is None:
            self._stop.forget(reply)  # earlier deltas without a stop reason only reported usage in passing
        self._stop.add(read, reply)
        reason = self._stop.reason
        if reason is None:
            return
        if self._may_follow:
            self._sequence.take_stop_reason(reply, Finish.of(reason))
        else:
            self._sequence.finish(reply, Finish.of(reason))
            self._write_end(reason, reply)

    def _pass_or_wait(self, event: Event) -> Verdict:
        """Let an event that does not concern us pass, or hold it if a stop reason waits before it."""
        if not self._stop.waits:
            return PASS
        reply = ReplyBuilder(event.raw)
        self._stop.add(event.raw, reply)
        return reply.verdict()

    def _done(self, event: Event) -> Verdict:
        """`[DONE]`, from servers that end the stream as in Chat: it ends the answer like message_stop."""
        if self._ended or not self._started:
            return PASS
        reply = ReplyBuilder(event.raw)
        self._end(reply, whole=True)
        reply.out.append(event.raw)
        return reply.verdict()

    def _error(self, read: ReadEvent, reply: ReplyBuilder) -> None:
        """An error: complete calls are sent, unfinished ones are dropped, and the error is forwarded."""
        reason = self._stop.reason
        ended = reason is not None and not self._stop.late
        self._sequence.finish(reply, Finish.of(reason) if ended else Finish.CUT, drop_refused=not ended)
        if reason is not None and self._stop.holds:
            self._write_end(reason, reply)
        self._stop.forget(reply)
        reply.out.append(read.raw)
        self._ended = True

    def _end(self, reply: ReplyBuilder, *, whole: bool, stop: bytes = STOP) -> None:
        """End the answer. `whole`: the upstream says that the answer is complete; otherwise the stream just ended."""
        self._ended = True
        reason = self._stop.reason
        if whole or (reason is not None and not self._stop.late):
            self._sequence.finish(reply, Finish.of(reason))
        elif not self._completed(reply, stopped=reason is not None):
            self._stop.forget(reply)
            reply.out.append(CUT_OFF)
            return
        if self._stop.sent is None or self._stop.holds or self._true_reason(reason) != self._stop.sent:
            self._write_end(reason, reply)
        reply.out.append(stop)

    def _true_reason(self, reason: str | None) -> Any:
        """The true stop reason, given the calls that were sent."""
        return self._sequence.answer.true_reason(WORDS, [reason] if reason else [])

    def _write_end(self, reason: str | None, reply: ReplyBuilder) -> None:
        """Write the notes, then the message_deltas that arrived, or a new one if none arrived."""
        for note in self._sequence.answer.outgoing.pop_notes():
            reply.out += self._sequence.writer.text_block(note)
        self._stop.write(self._true_reason(reason), reply)

    def _completed(self, reply: ReplyBuilder, *, stopped: bool) -> bool:
        """Whether the answer is complete, although the stream had no stop reason or continued after it.

        It is complete if it ends with complete calls, because the client has what it needs to continue. Text that
        just stops may have been cut off.
        """
        sequence = self._sequence
        whole = sequence.finish(reply, Finish.CUT, drop_refused=True)
        return whole and (stopped or (sequence.answer.outgoing.sent > 0 and not sequence.ends_in_text))
