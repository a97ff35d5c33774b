"""Why the model stopped: the message_deltas that say so wait until it is known whether a call follows them."""

from __future__ import annotations

from typing import Any

from ...turn.parts import ReadEvent
from ..reply_builder import ReplyBuilder
from .wire import MESSAGE_DELTA, WORDS, write

_END = "end"


class WaitingStopReason:
    __slots__ = ("_tokens", "_waiting", "late", "sent")

    def __init__(self) -> None:
        self._waiting: list[ReadEvent | bytes] = []
        """The message_deltas so far. In their places, as bytes, what came behind a stop reason and says nothing."""
        self._tokens = 0
        """The output tokens that were counted last."""
        self.late = False
        """A block came behind a stop reason."""
        self.sent: str | None = None
        """The stop reason that went out."""

    @property
    def holds(self) -> bool:
        """Is a message_delta held?"""
        return bool(self._waiting)

    @property
    def waits(self) -> bool:
        """Is there a stop reason behind which nothing came that counts?"""
        return bool(self._waiting) and not self.late and self.reason is not None

    @property
    def reason(self) -> str | None:
        """The stop reason that was said: of several, one that names a limit."""
        deltas = [delta for delta in self._waiting if isinstance(delta, ReadEvent)]
        return WORDS.believed(delta.stop.reason for delta in deltas if delta.stop is not None) or self.sent

    def count(self, usage: Any) -> None:
        tokens = usage.get("output_tokens") if isinstance(usage, dict) else None
        self._tokens = tokens if isinstance(tokens, int) else self._tokens

    def add(self, waiting: ReadEvent | bytes, reply: ReplyBuilder) -> None:
        """Hold a message_delta, or what came behind one."""
        self._waiting.append(waiting)
        reply.hold(_END, waiting.raw if isinstance(waiting, ReadEvent) else waiting)

    def make_way(self, reply: ReplyBuilder) -> None:
        """A block comes behind a message_delta: a stop reason goes on waiting, the rest does not."""
        if not self._waiting or self.late:
            return
        self.late = self.reason is not None
        waiting = self._waiting
        self.forget(reply)
        for one in waiting:
            if isinstance(one, bytes):
                reply.out.append(one)
            elif self.late:
                self.add(one, reply)

    def forget(self, reply: ReplyBuilder) -> None:
        if self._waiting:
            self._waiting = []
            reply.release(_END)

    def write(self, truth: Any, reply: ReplyBuilder) -> None:
        """The message_deltas that came, or the one that is missing, with the stop reason that is true."""
        truth = truth if self._waiting else truth or WORDS.stop
        for one in self._waiting or [ReadEvent(b"", {})]:
            reply.out.append(one if isinstance(one, bytes) else self._written(one, truth))
        self.forget(reply)
        self.sent = truth or ""

    def _written(self, read: ReadEvent, truth: Any) -> bytes:
        delta, usage = read.payload.get("delta"), read.payload.get("usage")
        delta = delta if isinstance(delta, dict) else {}
        if read.raw and truth == delta.get("stop_reason") and isinstance(usage, dict):
            return read.raw
        stopped = {**delta, "stop_reason": truth}
        stopped.setdefault("stop_sequence", None)
        # Only what the event itself counts: input tokens of 0 would overwrite those of message_start.
        counted = usage if isinstance(usage, dict) else {"output_tokens": self._tokens}
        return write({**read.payload, "type": MESSAGE_DELTA, "delta": stopped, "usage": counted})
