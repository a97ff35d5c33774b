"""Converts the stream of chat.z.ai to OpenAI chunks while it arrives.

The reader turns an event into parts (`reader.py`), Chat's writer turns those into chunks (`writer.py`), and text and
calls are handled as in every protocol (`dialects/answer_stream.py`). This file handles what concerns the stream as a
whole. The turn ends at the first null patch (the backend sets `result` to null because it could not run a tool), at
`done`, or with the stream. No event passes unchanged, because after a converted event an original one would be
garbage; so a failure of ours ends with an error event. If the request declares no tools, nothing is converted and
every byte passes.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from ...mend.finish import Finish
from ...mend.mender import Mender
from ...policy import Policy
from ...request.request import Request
from ...turn import payload
from ...turn.parts import TextDelta
from ...wire import sse
from ...wire.events import PASS, SPLIT_LINES, Event, LimitReached, Replace, Verdict
from ..answer_io import ProtocolTraits
from ..answer_stream import AnswerStream
from ..interface import Dialect
from ..reply_builder import ReplyBuilder, replaced
from ..upstream_errors import ERROR, error_in, error_in_text
from .answer import ZaiAnswer
from .envelope import Json, UpstreamError, data_of, error_of, is_done, reason_of, usage_of
from .owners import Owners
from .reader import RanUpstream, ZaiPart, ZaiReader
from .writer import ZaiWriter, failure

_log = logging.getLogger("toolfix.engine")

_NOTHING = Replace()


class Zai(Dialect):
    """The dialect of `chat.z.ai/api/chat/completions` and `/api/v2/chat/completions`."""

    __slots__ = (
        "_answer",
        "_begun",
        "_done",
        "_has_text",
        "_include_usage",
        "_max_held",
        "_over",
        "_reader",
        "_reason",
        "_stream",
        "_usage",
        "_writer",
        "converting",
    )
    converting: bool

    def __init__(self, request: Request, policy: Policy, mender: Mender, *, by_path: bool = False) -> None:
        """`by_path`: only the URL path suggested this protocol, so a request that cannot be parsed counts as one
        without tools."""
        unknown = request.choices is None and not by_path
        self.converting = policy.zai == "on" or (policy.zai == "auto" and (len(request.tools) > 0 or unknown))
        owners = Owners(request)
        self._reader = ZaiReader(owners, cuts=policy.zai_after_null == "cut")
        self._writer = ZaiWriter(f"chatcmpl-{mender.ids.unique('').removeprefix('call_')}", request.model)
        self._answer = ZaiAnswer(request, policy, mender, owners, self._reader)
        self._stream = AnswerStream(self._answer, policy, ProtocolTraits(), self._writer)
        # Only the end of the turn shows whether a call is the client's, so no call is sent while it arrives.
        self._stream.live = False
        self._include_usage = request.include_usage
        self._max_held = policy.max_held_bytes
        self._usage: Json | None = None
        self._reason: str | None = None
        self._has_text = False
        """Text of the answer has arrived."""
        self._begun = False
        """An event of the answer has arrived."""
        self._done = False
        """`done` arrived: after it only the usage counts."""
        self._over = False
        """The client has the end of the answer."""

    # The interface of a dialect

    def read(self, event: Event) -> Verdict:
        if not self.converting:
            return PASS
        if self._over:
            return _NOTHING
        if event.data is None:
            # A comment keeps the connection alive, whatever protocol it is in.
            return PASS if event.raw.removeprefix(sse.BOM).startswith(b":") else _NOTHING
        data = event.data
        chunk = payload.read_strict(data)
        if not isinstance(chunk, dict):
            if data.strip() == "[DONE]":
                return Replace(tuple(self._end()))
            error = error_in(chunk) or error_in_text(data, event.type)
            if error is None and "\n" in data:
                return SPLIT_LINES
            chunk = {"error": error} if error is not None else payload.read_glued(data)
        elif event.type == ERROR:
            chunk = {"error": error_in(chunk, event.type)}
        return Replace(tuple(self._take(chunk))) if chunk else _NOTHING

    def close(self) -> Replace | None:
        if not self._begun or self._over:
            return None
        if self._done:
            return Replace(tuple(self._end()))
        # The stream ended without `done`: a call that may be incomplete is not sent.
        return Replace((*self._drop_unfinished(), *self._finish("length")))

    def body(self, body: bytes) -> bytes:
        """The body unchanged: there is no answer in one JSON document, because clients always stream."""
        return body

    @property
    def holding(self) -> bool:
        held = self._answer.has_pending_calls or bool(self._answer.held_text)
        return self.converting and not self._over and held

    def keep_alive(self) -> bytes:
        return self._writer.keep_alive() if self.converting else super().keep_alive()

    def abort(self, reason: str) -> tuple[bytes, ...] | None:
        if not self.converting:
            return None
        ended, self._over = self._over, True
        if ended:
            return ()
        held = self._answer.held_text
        out = self._writer.begun([self._writer.text(None, held)] if held else [])
        return (*out, *failure(f"toolfix: {reason}.", "conversion_error"))

    # One event

    def _take(self, event: Json) -> list[bytes]:
        """Handle an event; the chunks to send now."""
        data = data_of(event)
        error = error_of(event)
        if not data and not error:
            return []
        self._begun = True
        self._writer.take_envelope(data)
        done = is_done(data)
        if error and not self._done and not (done and self._is_complete):
            return self._fail(error)
        self._usage = usage_of(data) or self._usage
        if self._done:
            return []
        if error:
            _log.info("chat.z.ai ended a complete answer with an error: %s", error.message)
        self._reason = reason_of(data) or self._reason
        out = self._take_parts(self._reader.read(data))
        if self._reader.size > self._max_held:
            raise LimitReached
        if self._reader.turn_over:
            return out + self._complete(Finish.COMPLETE) + self._finish("stop")
        if done:
            out += self._end_turn(Finish.COMPLETE)
            self._done = True
        return out

    @property
    def _is_complete(self) -> bool:
        """Whether there is already a complete answer or call, so that an error at the end can be ignored."""
        return (self._has_text and bool(self._usage or self._reason)) or self._answer.has_whole_call

    def _take_parts(self, parts: Iterable[ZaiPart]) -> list[bytes]:
        """Take these parts; the chunks to send now."""
        out: list[bytes] = []
        for part in parts:
            if isinstance(part, RanUpstream):
                self._answer.ran_upstream(part)
                continue
            self._has_text = self._has_text or isinstance(part, TextDelta)
            read = self._writer.read(part)
            out += replaced(self._stream.take(read), read.raw).out
        return self._writer.begun([chunk for chunk in out if chunk])

    # The end

    def _end_turn(self, finish: Finish) -> list[bytes]:
        """End the turn at `done` or `[DONE]`; the chunks to send now."""
        out = self._take_parts(self._reader.end())
        return out + self._complete(finish)

    def _complete(self, finish: Finish) -> list[bytes]:
        """The chunks for the end of the turn: everything that is held, and its calls."""
        reply = ReplyBuilder()
        broken_off = self._answer.broken_off
        finish = Finish.of(self._reason) if self._reason and not broken_off else finish
        self._stream.send_held(finish, reply, drop_refused=broken_off)
        return self._writer.begun(reply.out)

    def _end(self) -> list[bytes]:
        """`[DONE]`, or the stream is over after `done`."""
        self._begun = True
        out = [] if self._done else self._end_turn(Finish.UNKNOWN)
        return out + self._finish("length" if self._reason == "length" else "stop")

    def _fail(self, error: UpstreamError) -> list[bytes]:
        """An error: complete calls are sent, unfinished ones are dropped, and the error is forwarded."""
        self._over = True
        return self._drop_unfinished() + failure(error.message, "upstream_error", error.code)

    def _drop_unfinished(self) -> list[bytes]:
        """Break the answer off: the chunks with its text and its complete calls."""
        self._answer.broken_off = True
        out = self._take_parts(self._reader.end_thinking())
        return out + self._complete(Finish.CUT)

    @property
    def changed_sent_text(self) -> bool:
        return self._reader.rewritten

    def _finish(self, reason: str) -> list[bytes]:
        """The chunks that end the answer, with the true finish reason."""
        self._over = True
        truth = str(self._answer.true_reason(self._writer.words, [reason]))
        return self._writer.finish(truth, self._usage, apart=self._include_usage)
