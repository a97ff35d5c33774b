"""Anthropic Messages, streamed and not.

Strategy: what belongs to a block goes to the block machine, which answers with a legal sequence of blocks.
Here are the events around the blocks: the start, the stop reason, the end, errors and pings. Runs of text
deltas of one shape pass unread; everything else is read, for even an answer without a call may lack its
end. The stop reason follows the calls that really went out.
"""

from __future__ import annotations

from typing import Any, Final

from ...mend.arguments import Finish
from ...mend.call import Mender
from ...policy import Policy
from ...request import Question
from ...wire import sse
from ...wire.events import LINES_ALONE, PASS, Answer, Event, Reply
from .. import payload
from ..draft import Draft
from ..prose import searches
from .blocks import write
from .body import mend_body
from .calls import NO_USAGE, Json, true_reason
from .machine import Machine
from .prose import Search

_BLOCK_EVENTS = frozenset({"content_block_start", "content_block_delta", "content_block_stop"})
_EVENTS = _BLOCK_EVENTS | {"message_start", "message_delta", "message_stop", "ping", "error"}
_END = "end"

PING: Final = write({"type": "ping"})
STOP: Final = write({"type": "message_stop"})
_CUT_OFF_WORDS = "The upstream ended the stream before the answer was complete."
CUT_OFF: Final = write({"type": "error", "error": {"type": "api_error", "message": _CUT_OFF_WORDS}})


class Messages:
    """The dialect of `/v1/messages`."""

    __slots__ = (
        "_ended",
        "_finished",
        "_machine",
        "_mender",
        "_policy",
        "_postponed",
        "_question",
        "_reason",
        "_started",
        "_tokens",
        "engaged",
        "gathers",
        "plain",
    )

    def __init__(self, question: Question, policy: Policy, mender: Mender) -> None:
        self._question = question
        self._mender = mender
        self._policy = policy
        search = Search(question.tools, policy) if searches(question.tools, policy) else None
        self._machine = Machine(mender, question.tools, flowing=not policy.aggregate, search=search)
        self.gathers = self._machine.gathers
        self.plain = self._machine.talk.passes
        self._started = False
        self._finished = False
        """A stop reason went out."""
        self._ended = False
        """Nothing is left to be said: a message_stop or an error went out."""
        self._reason: Any = None
        self._tokens = 0
        self._postponed: tuple[Event, Json] | None = None
        """A message_delta without a stop reason: the end, or only a count in passing."""
        self.engaged = False

    # The stream

    def read(self, event: Event) -> Answer:
        data = event.data or ""
        if self.plain(event.raw):
            return PASS
        said = payload.read_strict(data)
        if isinstance(said, dict):
            return self._take(event, said)
        return self._take_odd(event, data, said)

    def close(self) -> Reply | None:
        if self._ended or not self._started:
            return None
        draft = Draft()
        self._end(draft, whole=None)
        return draft.reply()

    def body(self, body: bytes) -> bytes:
        return mend_body(body, self._question, self._policy, self._mender)

    def _take_odd(self, event: Event, data: str, said: Any) -> Answer:
        """Data that is no JSON object."""
        text = data.strip()
        if not text or text.startswith(":"):
            return self._take_blank(event, text)
        if text == "[DONE]":
            return self._done(event)
        if "\n" in data:
            return LINES_ALONE
        if said is not None or not text.startswith("{"):
            return PASS
        mended = payload.read_broken(data)
        if mended is not None:
            return self._take(Event(b"", data, ""), mended)
        # Half an event at the end of a cut stream is no event: behind it comes our own end.
        whole = event.raw.endswith((b"\n\n", b"\r\n\r\n", b"\r\r"))
        return PASS if whole or not self._started or self._ended else Reply()

    def _take_blank(self, event: Event, text: str) -> Answer:
        """A keep-alive written as data, which clients that parse every data line stumble over."""
        if event.type == "ping":
            return Reply((PING,))
        if event.type == "message_stop":
            return self._take(event, {"type": "message_stop"})
        if event.type:
            return PASS
        return Reply((f":{text.removeprefix(':')}\n\n".encode(),))

    def _take(self, event: Event, said: Json) -> Answer:
        kind = said.get("type")
        typed = isinstance(kind, str) and kind != ""
        if not isinstance(kind, str) or not typed:
            kind = "error" if said.get("error") and event.type not in _EVENTS else event.type
            said = {"type": kind, **{key: value for key, value in said.items() if key != "type"}}
        if self._ended:
            return Reply() if kind == "message_stop" else PASS
        if kind not in _EVENTS:
            return PASS
        draft = Draft(event)
        if event.type != kind or not typed:
            # The SDKs look at the event line before the data and skip events without one.
            event = Event(write(said), event.data, kind)
        elif event.raw.startswith(sse.BOM):
            # They do not know a BOM either, and would lose the message_start behind it.
            event = Event(event.raw.removeprefix(sse.BOM), event.data, kind)
        if kind in _BLOCK_EVENTS:
            self._begin(draft)
            self._forget_postponed(draft)
            self._machine.take(event, said, draft)
        elif kind == "ping":
            draft.out.append(event.raw)
        else:
            self._machine.look_again()
            self._take_around(kind, event, said, draft)
        return draft.answer()

    def _take_around(self, kind: str, event: Event, said: Json, draft: Draft) -> None:
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

    def _message_start(self, event: Event, said: Json, draft: Draft) -> None:
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

    def _begin(self, draft: Draft) -> None:
        """The message_start that never came."""
        if not self._started:
            self._started = True
            draft.out.append(write({"type": "message_start", "message": self._empty_message()}))

    def _empty_message(self) -> Json:
        return {
            "id": self._mender.ids.new("msg"),
            "type": "message",
            "role": "assistant",
            "model": self._question.model,
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

    def _message_delta(self, event: Event, said: Json, draft: Draft) -> None:
        self._begin(draft)
        delta = said.get("delta")
        reason = delta.get("stop_reason") if isinstance(delta, dict) else None
        reason = reason if isinstance(reason, str) else None
        usage = said.get("usage")
        if isinstance(usage, dict):
            self._count(usage)
        if not reason and not self._finished:
            self._forget_postponed(draft)
            self._postponed = (event, said)
            draft.hold(_END, event.raw)
            return
        self._finish(event, said, reason or self._reason, Finish.of(reason), draft)

    def _done(self, event: Event) -> Answer:
        """`[DONE]`, of servers that speak Chat in the end: it ends an answer like message_stop."""
        if self._ended or not self._started:
            return PASS
        draft = Draft(event)
        self._end(draft, whole=True)
        draft.out.append(event.raw)
        return draft.answer()

    def _error(self, event: Event, draft: Draft) -> None:
        """Complete calls come out, unfinished ones are dropped, the error goes on."""
        self._forget_postponed(draft)
        self._machine.finish(draft, Finish.CUT, before_error=True)
        draft.out.append(event.raw)
        self._ended = True

    def _forget_postponed(self, draft: Draft) -> None:
        if self._postponed is not None:
            self._postponed = None
            draft.release(_END)

    def _finish(self, event: Event, said: Json, reason: Any, finish: Finish, draft: Draft) -> None:
        """The calls, and the message_delta that tells why the model stopped."""
        machine = self._machine
        machine.finish(draft, finish)
        if not machine.sent:
            for note in filter(None, machine.notes):
                draft.out += machine.blocks.text(note)
        machine.notes = []
        truth = true_reason(reason, calls=machine.sent > 0, other_tools=machine.other_tools)
        if not truth and not said:
            truth = "end_turn"
        delta = said.get("delta")
        delta = delta if isinstance(delta, dict) else {}
        usage = said.get("usage")
        if event.raw and truth == delta.get("stop_reason") and isinstance(usage, dict):
            draft.out.append(event.raw)
        else:
            told = {**delta, "stop_reason": truth}
            told.setdefault("stop_sequence", None)
            # Only what the event itself counts: input tokens of 0 would overwrite those of message_start.
            counted = usage if isinstance(usage, dict) else {"output_tokens": self._tokens}
            draft.out.append(write({**said, "type": "message_delta", "delta": told, "usage": counted}))
        self._forget_postponed(draft)
        self._finished = True
        self._reason = truth

    def _end(self, draft: Draft, *, whole: bool | None, stop: bytes = STOP) -> None:
        """The last word. `whole`: the upstream says that the answer is complete; None: it just ended."""
        machine = self._machine
        self._ended = True
        event, said = self._postponed or (Event(b"", None), {})
        if self._finished:
            before = machine.sent
            machine.finish(draft, Finish.UNKNOWN)
            if machine.sent > before and self._reason != true_reason(self._reason, calls=True):
                self._finish(event, said, self._reason, Finish.UNKNOWN, draft)
        elif whole:
            self._finish(event, said, None, Finish.UNKNOWN, draft)
        elif not self._completed(draft):
            self._forget_postponed(draft)
            draft.out.append(CUT_OFF)
            return
        else:
            self._finish(event, said, None, Finish.CUT, draft)
        draft.out.append(stop)

    def _completed(self, draft: Draft) -> bool:
        """The stream ended without a stop reason: is the answer complete all the same?

        It is when it ends with calls that are whole: what the client needs to go on is there. Text that
        just stops may have been cut off.
        """
        whole = self._machine.finish(draft, Finish.CUT, before_error=True)
        return whole and self._machine.sent > 0 and not self._machine.talk.talking
