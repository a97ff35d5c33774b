"""The message_deltas with the stop reason, which wait until it is known whether a call follows them."""

from __future__ import annotations

from typing import Any

from ...turn.parts import ReadEvent
from ..reply_builder import ReplyBuilder
from .wire import MESSAGE_DELTA, WORDS, write

_END = "end"


class WaitingStopReason:
    __slots__ = ("_reason", "_tokens", "_waiting", "late", "sent")

    def __init__(self) -> None:
        self._waiting: list[ReadEvent | bytes] = []
        """The message_deltas so far and, as bytes, events without content that followed a stop reason, in order."""
        self._reason: str | None = None
        """The stop reason of these message_deltas that is trusted."""
        self._tokens = 0
        """The output tokens that the server reported last."""
        self.late = False
        """A block followed a stop reason."""
        self.sent: str | None = None
        """The stop reason that was sent to the client."""

    @property
    def holds(self) -> bool:
        """Whether a message_delta is held."""
        return bool(self._waiting)

    @property
    def waits(self) -> bool:
        """Whether a stop reason is held that no block has followed yet."""
        return bool(self._waiting) and not self.late and self.reason is not None

    @property
    def reason(self) -> str | None:
        """The server's stop reason; if it sent several, one that names a limit wins."""
        return self._reason or self.sent

    def count(self, usage: Any) -> None:
        tokens = usage.get("output_tokens") if isinstance(usage, dict) else None
        self._tokens = tokens if isinstance(tokens, int) else self._tokens

    def add(self, waiting: ReadEvent | bytes, reply: ReplyBuilder) -> None:
        """Hold a message_delta, or an event that followed one."""
        self._waiting.append(waiting)
        if isinstance(waiting, ReadEvent) and waiting.stop is not None:
            # Asked for with every event that follows, so it is not looked up in all of them again.
            self._reason = WORDS.trusted_reason([*filter(None, [self._reason]), waiting.stop.reason])
        reply.hold(_END, waiting.raw if isinstance(waiting, ReadEvent) else waiting)

    def block_follows(self, reply: ReplyBuilder) -> None:
        """A block follows: message_deltas keep waiting if one has a stop reason, otherwise they are dropped.

        The other events that waited are sent before the block.
        """
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
            self._waiting, self._reason = [], None
            reply.release(_END)

    def write(self, truth: Any, reply: ReplyBuilder) -> None:
        """Send the message_deltas that arrived, or a new one if none did, with the true stop reason."""
        truth = truth if self._waiting else truth or WORDS.stop
        for one in self._waiting or [ReadEvent(b"", {})]:
            reply.out.append(one if isinstance(one, bytes) else self._written(one, truth))
        self.forget(reply)
        self.sent = truth or ""

    def _written(self, read: ReadEvent, truth: Any) -> bytes:
        """A message_delta with the true stop reason and with usage; its own bytes if it has both."""
        delta, usage = read.payload.get("delta"), read.payload.get("usage")
        delta = delta if isinstance(delta, dict) else {}
        if read.raw and truth == delta.get("stop_reason") and isinstance(usage, dict):
            return read.raw
        stopped = {**delta, "stop_reason": truth}
        stopped.setdefault("stop_sequence", None)
        # Add only what is known: 0 input tokens would overwrite the number from message_start.
        counted = usage if isinstance(usage, dict) else {"output_tokens": self._tokens}
        return write({**read.payload, "type": MESSAGE_DELTA, "delta": stopped, "usage": counted})
