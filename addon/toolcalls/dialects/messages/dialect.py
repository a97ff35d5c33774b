"""Anthropic Messages, streamed and not.

Strategy: what belongs to a block goes to the sequence of blocks (`sequence.py`). Here are
the events around the blocks: the start, the stop reason, the end, errors and pings, for even an answer without a call
may lack its end. The stop reason follows the calls that really went out. Some servers send one behind it: so a
message_delta waits for what follows it where a call may, which is the end, most often in the same chunk.
"""

from __future__ import annotations

from typing import Any, Final

from ...mend.finish import Finish
from ...mend.mender import Mender
from ...policy import Policy
from ...request.request import Request
from ...turn import payload
from ...turn.parts import ReadEvent
from ...unread.fast_path import Lesson
from ...wire import sse
from ...wire.events import PASS, SPLIT_LINES, Event, Replace, Verdict
from ..interface import Dialect
from ..odd_data import OddKind, odd_data
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
        self._reader = MessagesReader(request.heard)
        self._sequence = BlockSequence(request, policy, mender)
        self._started = False
        self._ended = False
        """Nothing is left to be said: a message_stop or an error went out."""
        self._stop = WaitingStopReason()
        self._may_follow = request.choices is None or len(request.tools) > 0
        """Can a call come behind a stop reason? Not where none was declared."""

    # The stream

    @property
    def lesson(self) -> Lesson | None:
        return self._sequence.lesson

    @property
    def waits(self) -> bool:
        """A stop reason waits for the end, and what says nothing waits behind it: they go out as they came."""
        return self._stop.waits

    def read(self, event: Event) -> Verdict:
        self._sequence.lesson = None
        if event.data is None:
            return self._pass_or_wait(event)
        data = payload.read_strict(event.data)
        return self._take(event, data) if isinstance(data, dict) else self._take_odd(event, data)

    def close(self) -> Replace | None:
        if self._ended or not self._started:
            return None
        reply = ReplyBuilder()
        self._end(reply, whole=None)
        return reply.replacement()

    def keep_alive(self) -> bytes:
        return PING

    def body(self, body: bytes) -> bytes:
        return mend_body(body, self._request, self._policy, self._mender)

    def _take_odd(self, event: Event, data: Any) -> Verdict:
        """Data that is no JSON object."""
        odd = odd_data(event, data)
        match odd.kind:
            case OddKind.ERROR:
                return self._take(Event(b"", event.data, ""), {"type": ERROR, "error": odd.value})
            case OddKind.KEEP_ALIVE:
                return self._take_blank(event, (event.data or "").strip())
            case OddKind.DONE:
                return self._done(event)
            case OddKind.SEVERAL_LINES:
                return SPLIT_LINES
            case OddKind.BROKEN:
                return self._take(Event(b"", event.data, ""), odd.value)
        # Half an event at the end of a cut stream is no event: behind it comes our own end.
        return Replace() if odd.kind is OddKind.HALF and self._started and not self._ended else PASS

    def _take_blank(self, event: Event, text: str) -> Verdict:
        """A keep-alive written as data, which clients that parse every data line stumble over."""
        if event.type == PING_EVENT:
            return Replace((PING,))
        if event.type == MESSAGE_STOP:
            return self._take(event, {"type": MESSAGE_STOP})
        if event.type:
            return PASS
        return Replace((sse.comment(text),))

    def _take(self, event: Event, data: Json) -> Verdict:
        read = self._reader.read(event, data)
        kind = read.payload["type"]
        if self._ended:
            return Replace() if kind == MESSAGE_STOP else PASS
        if kind not in EVENTS:
            return self._pass_or_wait(event)
        reply = ReplyBuilder(event)
        if kind in BLOCK_EVENTS:
            self._ensure_started(reply)
            self._stop.make_way(reply)
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

    # The start

    def _message_start(self, read: ReadEvent, reply: ReplyBuilder) -> None:
        if self._started:
            return
        self._started = True
        message = read.payload.get("message")
        message = message if isinstance(message, dict) else {}
        usage = message.get("usage")
        if isinstance(usage, dict):
            self._stop.count(usage)
            reply.out.append(read.raw)
        else:
            filled = {**(message or self._empty_message()), "usage": NO_USAGE}
            reply.out.append(write({**read.payload, "message": filled}))

    def _ensure_started(self, reply: ReplyBuilder) -> None:
        """Write the message_start if none came."""
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
        self._ensure_started(reply)
        self._stop.count(read.payload.get("usage"))
        if self._stop.reason is None:
            self._stop.forget(reply)  # without a stop reason it was only a count in passing
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
        """What concerns nobody passes, or waits with the stop reason before it."""
        if not self._stop.waits:
            return PASS
        reply = ReplyBuilder(event)
        self._stop.add(event.raw, reply)
        return reply.verdict()

    def _done(self, event: Event) -> Verdict:
        """`[DONE]`, of servers that speak Chat in the end: it ends an answer like message_stop."""
        if self._ended or not self._started:
            return PASS
        reply = ReplyBuilder(event)
        self._end(reply, whole=True)
        reply.out.append(event.raw)
        return reply.verdict()

    def _error(self, read: ReadEvent, reply: ReplyBuilder) -> None:
        """Complete calls come out, unfinished ones are dropped, the error goes on."""
        reason = self._stop.reason
        ended = reason is not None and not self._stop.late
        self._sequence.finish(reply, Finish.of(reason) if ended else Finish.CUT, before_error=not ended)
        if reason is not None and self._stop.holds:
            self._write_end(reason, reply)
        self._stop.forget(reply)
        reply.out.append(read.raw)
        self._ended = True

    def _end(self, reply: ReplyBuilder, *, whole: bool | None, stop: bytes = STOP) -> None:
        """The last word. `whole`: the upstream says that the answer is complete; None: it just ended."""
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
        """The stop reason that is true, given the calls that went out."""
        return self._sequence.answer.true_reason(WORDS, [reason] if reason else [])

    def _write_end(self, reason: str | None, reply: ReplyBuilder) -> None:
        """Why the model stopped: the message_deltas that came, or the one that is missing."""
        for note in self._sequence.answer.outgoing.pop_notes():
            reply.out += self._sequence.writer.text_block(note)
        self._stop.write(self._true_reason(reason), reply)

    def _completed(self, reply: ReplyBuilder, *, stopped: bool) -> bool:
        """The stream ended without a stop reason, or went on behind it: is the answer complete all the same?

        It is when it ends with calls that are whole: what the client needs to go on is there. Text that
        just stops may have been cut off.
        """
        sequence = self._sequence
        whole = sequence.finish(reply, Finish.CUT, before_error=True)
        return whole and (stopped or (sequence.answer.outgoing.sent > 0 and not sequence.ends_in_text))
