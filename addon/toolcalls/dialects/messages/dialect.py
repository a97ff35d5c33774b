"""Anthropic Messages, streamed and not.

Strategy: what belongs to a block goes to the block machine, which answers with a legal sequence of blocks. Here are
the events around the blocks: the start, the stop reason, the end, errors and pings, for even an answer without a call
may lack its end. The stop reason follows the calls that really went out. Some servers send one behind it: so a
message_delta waits for what follows it where a call may, which is the end, most often in the same chunk.
"""

from __future__ import annotations

from typing import Any, Final

from ...mend.arguments import Finish
from ...mend.call import Mender
from ...policy import Policy
from ...request.request import Request
from ...turn import payload
from ...turn.text_search import searches
from ...unread.fast_path import Lesson
from ...wire import sse
from ...wire.events import LINES_ALONE, PASS, Event, Hold, Replace, Verdict
from ..interface import Dialect
from ..odd_data import OddKind, odd_data
from ..reply_builder import ReplyBuilder
from ..trouble import trouble_in
from .block_search import BlockSearch
from .blocks import write
from .body import mend_body
from .calls import NO_USAGE, WORDS, Json
from .sequencer import BlockSequencer

_BLOCK_EVENTS = frozenset({"content_block_start", "content_block_delta", "content_block_stop"})
_EVENTS = _BLOCK_EVENTS | {"message_start", "message_delta", "message_stop", "ping", "error"}
_END = "end"

PING: Final = write({"type": "ping"})
STOP: Final = write({"type": "message_stop"})
_CUT_OFF_WORDS = "The upstream ended the stream before the answer was complete."
CUT_OFF: Final = write({"type": "error", "error": {"type": "api_error", "message": _CUT_OFF_WORDS}})


class Messages(Dialect):
    """The dialect of `/v1/messages`."""

    __slots__ = (
        "_ended",
        "_late",
        "_may_follow",
        "_mender",
        "_policy",
        "_request",
        "_sequencer",
        "_started",
        "_tokens",
        "_told",
        "_waiting",
    )

    def __init__(self, request: Request, policy: Policy, mender: Mender) -> None:
        self._request = request
        self._mender = mender
        self._policy = policy
        search = BlockSearch(request, policy) if searches(request, policy) else None
        self._sequencer = BlockSequencer(mender, request.tools, flowing=not policy.aggregate, search=search)
        self._started = False
        self._ended = False
        """Nothing is left to be said: a message_stop or an error went out."""
        self._tokens = 0
        self._waiting: list[tuple[Event, Json | None]] = []
        """The message_deltas so far. In their places what came behind a stop reason and says nothing, with None."""
        self._late = False
        """A block came behind a stop reason."""
        self._may_follow = request.choices is None or len(request.tools) > 0
        """Can a call come behind a stop reason? Not where none was declared."""
        self._told: str | None = None
        """The stop reason that went out."""

    # The stream

    @property
    def lesson(self) -> Lesson | None:
        return self._sequencer.lesson

    @property
    def waits(self) -> bool:
        """A stop reason waits for the end, and what says nothing waits behind it: they go out as they came."""
        return bool(self._waiting) and not self._late and self._reason is not None

    def read(self, event: Event) -> Verdict:
        self._sequencer.lesson = None
        if event.data is None:
            return self._in_its_place(event)
        data = event.data
        said = payload.read_strict(data)
        if isinstance(said, dict):
            return self._take(event, said)
        return self._take_odd(event, said)

    def close(self) -> Replace | None:
        if self._ended or not self._started:
            return None
        draft = ReplyBuilder()
        self._end(draft, whole=None)
        return draft.reply()

    def keep_alive(self) -> bytes:
        return PING

    def body(self, body: bytes) -> bytes:
        return mend_body(body, self._request, self._policy, self._mender)

    def _take_odd(self, event: Event, said: Any) -> Verdict:
        """Data that is no JSON object."""
        odd = odd_data(event, said)
        match odd.kind:
            case OddKind.ERROR:
                return self._take(Event(b"", event.data, ""), {"type": "error", "error": odd.value})
            case OddKind.KEEP_ALIVE:
                return self._take_blank(event, (event.data or "").strip())
            case OddKind.DONE:
                return self._done(event)
            case OddKind.SEVERAL_LINES:
                return LINES_ALONE
            case OddKind.BROKEN:
                return self._take(Event(b"", event.data, ""), odd.value)
        # Half an event at the end of a cut stream is no event: behind it comes our own end.
        return Replace() if odd.kind is OddKind.HALF and self._started and not self._ended else PASS

    def _take_blank(self, event: Event, text: str) -> Verdict:
        """A keep-alive written as data, which clients that parse every data line stumble over."""
        if event.type == "ping":
            return Replace((PING,))
        if event.type == "message_stop":
            return self._take(event, {"type": "message_stop"})
        if event.type:
            return PASS
        return Replace((sse.comment(text),))

    def _take(self, event: Event, said: Json) -> Verdict:
        kind = said.get("type")
        typed = isinstance(kind, str) and kind != ""
        trouble = trouble_in(said, event.type) if _may_be_error(kind if typed else event.type, said) else None
        if trouble is not None:
            kind, typed = "error", False
            said = {"type": kind, "error": {"type": "api_error", **trouble}}
        elif not isinstance(kind, str) or not typed:
            kind = event.type
            said = {"type": kind, **{key: value for key, value in said.items() if key != "type"}}
        if self._ended:
            return Replace() if kind == "message_stop" else PASS
        if kind not in _EVENTS:
            return self._in_its_place(event)
        draft = ReplyBuilder(event)
        if event.type != kind or not typed:
            # The SDKs look at the event line before the data and skip events without one.
            event = Event(write(said), event.data, kind)
        elif event.raw.startswith(sse.BOM):
            # They do not know a BOM either, and would lose the message_start behind it.
            event = Event(event.raw.removeprefix(sse.BOM), event.data, kind)
        if kind in _BLOCK_EVENTS:
            self._begin(draft)
            self._make_way(draft)
            self._sequencer.take(event, said, draft)
        elif kind == "ping":
            if self.waits:
                self._wait(event, None, draft)
            else:
                draft.out.append(event.raw)
        else:
            self._take_around(kind, event, said, draft)
        return draft.answer()

    def _take_around(self, kind: str, event: Event, said: Json, draft: ReplyBuilder) -> None:
        """The events around the blocks."""
        if kind == "message_start":
            self._message_start(event, said, draft)
        elif kind == "message_delta":
            self._message_delta(event, said, draft)
        elif kind == "message_stop":
            self._begin(draft)
            self._end(draft, whole=True, stop=event.raw)
        else:
            self._error(event, draft)

    # The start

    def _message_start(self, event: Event, said: Json, draft: ReplyBuilder) -> None:
        if self._started:
            return
        self._started = True
        message = said.get("message")
        message = message if isinstance(message, dict) else {}
        usage = message.get("usage")
        if isinstance(usage, dict):
            self._count(usage)
            draft.out.append(event.raw)
        else:
            filled = {**(message or self._empty_message()), "usage": NO_USAGE}
            draft.out.append(write({**said, "message": filled}))

    def _begin(self, draft: ReplyBuilder) -> None:
        """The message_start that never came."""
        if not self._started:
            self._started = True
            draft.out.append(write({"type": "message_start", "message": self._empty_message()}))

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

    def _count(self, usage: Json) -> None:
        tokens = usage.get("output_tokens")
        if isinstance(tokens, int):
            self._tokens = tokens

    # The end

    @property
    def _reason(self) -> str | None:
        """The stop reason that was said: of several, one that names a limit."""
        reasons = [reason for _, said in self._waiting if said and (reason := _reason_in(said))]
        return WORDS.believed(reasons) or self._told

    def _message_delta(self, event: Event, said: Json, draft: ReplyBuilder) -> None:
        self._begin(draft)
        usage = said.get("usage")
        if isinstance(usage, dict):
            self._count(usage)
        if self._reason is None:
            self._forget_waiting(draft)  # without a stop reason it was only a count in passing
        self._wait(event, said, draft)
        reason = self._reason
        if reason is None:
            return
        if self._may_follow:
            self._sequencer.stopped(draft, Finish.of(reason))
        else:
            self._sequencer.finish(draft, Finish.of(reason))
            self._tell_end(reason, draft)

    def _wait(self, event: Event, said: Json | None, draft: ReplyBuilder) -> None:
        self._waiting.append((event, said))
        draft.hold(_END, event.raw)

    def _in_its_place(self, event: Event) -> Verdict:
        """What concerns nobody passes, or waits with the stop reason before it."""
        if not self.waits:
            return PASS
        self._waiting.append((event, None))
        return Hold(_END)

    def _make_way(self, draft: ReplyBuilder) -> None:
        """A block comes behind a message_delta: a stop reason goes on waiting, the rest does not."""
        if not self._waiting or self._late:
            return
        self._late = self._reason is not None
        waiting = self._waiting
        self._forget_waiting(draft)
        for event, said in waiting:
            if said is None:
                draft.out.append(event.raw)
            elif self._late:
                self._wait(event, said, draft)

    def _forget_waiting(self, draft: ReplyBuilder) -> None:
        if self._waiting:
            self._waiting = []
            draft.release(_END)

    def _done(self, event: Event) -> Verdict:
        """`[DONE]`, of servers that speak Chat in the end: it ends an answer like message_stop."""
        if self._ended or not self._started:
            return PASS
        draft = ReplyBuilder(event)
        self._end(draft, whole=True)
        draft.out.append(event.raw)
        return draft.answer()

    def _error(self, event: Event, draft: ReplyBuilder) -> None:
        """Complete calls come out, unfinished ones are dropped, the error goes on."""
        reason = self._reason
        ended = reason is not None and not self._late
        self._sequencer.finish(draft, Finish.of(reason) if ended else Finish.CUT, before_error=not ended)
        if reason is not None and self._waiting:
            self._tell_end(reason, draft)
        self._forget_waiting(draft)
        draft.out.append(event.raw)
        self._ended = True

    def _end(self, draft: ReplyBuilder, *, whole: bool | None, stop: bytes = STOP) -> None:
        """The last word. `whole`: the upstream says that the answer is complete; None: it just ended."""
        self._ended = True
        reason = self._reason
        if whole or (reason is not None and not self._late):
            self._sequencer.finish(draft, Finish.of(reason))
        elif not self._completed(draft, stopped=reason is not None):
            self._forget_waiting(draft)
            draft.out.append(CUT_OFF)
            return
        if self._told is None or self._waiting or self._stop_reason(reason) != self._told:
            self._tell_end(reason, draft)
        draft.out.append(stop)

    def _stop_reason(self, reason: str | None) -> Any:
        machine = self._sequencer
        return WORDS.true_reason(reason, calls=machine.turn.sent > 0, other_tools=machine.other_tools)

    def _tell_end(self, reason: str | None, draft: ReplyBuilder) -> None:
        """Why the model stopped: the message_deltas that came, or the one that is missing."""
        machine = self._sequencer
        for note in machine.turn.take_notes():
            draft.out += machine.blocks.text(note)
        truth = self._stop_reason(reason)
        if not self._waiting:
            truth = truth or "end_turn"
            draft.out.append(self._delta(Event(b"", None), {}, truth))
        for event, said in self._waiting:
            draft.out.append(event.raw if said is None else self._delta(event, said, truth))
        self._forget_waiting(draft)
        self._told = truth or ""

    def _delta(self, event: Event, said: Json, truth: Any) -> bytes:
        """A message_delta with the stop reason that is true."""
        delta, usage = said.get("delta"), said.get("usage")
        delta = delta if isinstance(delta, dict) else {}
        if event.raw and truth == delta.get("stop_reason") and isinstance(usage, dict):
            return event.raw
        told = {**delta, "stop_reason": truth}
        told.setdefault("stop_sequence", None)
        # Only what the event itself counts: input tokens of 0 would overwrite those of message_start.
        counted = usage if isinstance(usage, dict) else {"output_tokens": self._tokens}
        return write({**said, "type": "message_delta", "delta": told, "usage": counted})

    def _completed(self, draft: ReplyBuilder, *, stopped: bool) -> bool:
        """The stream ended without a stop reason, or went on behind it: is the answer complete all the same?

        It is when it ends with calls that are whole: what the client needs to go on is there. Text that
        just stops may have been cut off.
        """
        whole = self._sequencer.finish(draft, Finish.CUT, before_error=True)
        return whole and (stopped or (self._sequencer.turn.sent > 0 and not self._sequencer.talk.ends_in_text))


def _may_be_error(kind: Any, said: Json) -> bool:
    """Is this no event of the protocol, or an error without what the protocol says about errors?"""
    return kind not in _EVENTS or (kind == "error" and not isinstance(said.get("error"), dict))


def _reason_in(said: Json) -> str | None:
    """The stop reason that a message_delta names."""
    delta = said.get("delta")
    reason = delta.get("stop_reason") if isinstance(delta, dict) else None
    return reason if isinstance(reason, str) and reason else None
