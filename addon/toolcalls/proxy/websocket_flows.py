"""WebSockets: Codex uses Responses over them, with one event in each message.

Several messages may have to be sent instead of one. mitmproxy can inject messages, but an injected message is sent
after everything that arrived in the same read, even after the closing of the socket: a call would follow the end of
its answer, or be lost. mitmproxy's `Fragmentizer` turns content into frames, so it is patched to send a
`MessageBatch` as several messages. That class is not part of mitmproxy's public interface: if it is missing, the
script still loads, and injects.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from mitmproxy import ctx, http
from mitmproxy.proxy.layers import websocket as layer
from mitmproxy.websocket import WebSocketMessage

from ..recording.record import Exchange
from ..recording.transcript import Frame
from ..request.refusals import Refusals
from ..websocket import ResponsesSocket
from .body_stream import ANSWERS, HeldBytes, HoldTimer
from .reporting import CallLog, Reporter, endpoint
from .settings import Settings

logger = logging.getLogger("toolfix")

PROTOCOL = "responses"


@dataclass(slots=True, eq=False)
class SocketState:
    """What is known about one WebSocket."""

    socket: ResponsesSocket
    log: CallLog
    timer: HoldTimer
    reported: int = 0
    """How many of its outcomes have been reported and are kept."""
    started: float = 0.0
    """When the first message came."""
    exchange: Exchange | None = None
    """None if nothing is recorded."""


sockets: WeakKeyDictionary[http.HTTPFlow, SocketState] = WeakKeyDictionary()
"""The open sockets. mitmproxy may reload the script while they are open, but it does not reload this module."""


class WebSocketFlows:
    def __init__(
        self,
        settings: Settings,
        reporter: Reporter,
        refusals: Refusals,
        held: HeldBytes,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._held = held
        self._reporter = reporter
        self._refusals = refusals
        self._sockets = sockets
        self._clock = clock

    def start(self, flow: http.HTTPFlow) -> None:
        socket = ResponsesSocket(self._settings.policy, self._refusals)
        log = CallLog(flow, self._settings.would)
        state = self._sockets[flow] = SocketState(socket, log, HoldTimer(self._clock))
        if self._settings.recorder:
            exchange = state.exchange = self._reporter.exchange(flow, PROTOCOL)
            exchange.outcomes, exchange.suffix = socket.outcomes, ".jsonl"
            self._settings.recorder.begin(exchange)
        self._reporter.calls(log, PROTOCOL, (), ())

    def message(self, flow: http.HTTPFlow) -> None:
        """Take a message of either side, and send what it becomes."""
        messages = flow.websocket.messages if flow.websocket else []
        if not self._settings.bodies_are_wanted:
            # A socket lives for hours, and mitmproxy would keep all of its messages, which nobody looks at.
            del messages[:-1]
        state = self._sockets.get(flow)
        if state is None or not messages or messages[-1].injected:
            return
        message = messages[-1]
        if not message.is_text:
            self._keep(state, message, message.content, [message.content])
            return
        if message.from_client:
            out = [state.socket.client_message(message.text)]
        else:
            out = state.socket.server_message(message.text)
            if not self._may_hold(flow, state.socket):
                out += state.socket.stop_holding()
                self._may_hold(flow, state.socket)
        self._keep(state, message, message.text, out)
        self._report(flow, state)
        if not self._settings.observes:
            outgoing = out if message.from_client else self._keep_alive(state, out)
            if outgoing != [message.text]:
                deliver(flow, message, outgoing)

    def _keep(
        self, state: SocketState, message: WebSocketMessage, content: str | bytes, out: Sequence[str | bytes]
    ) -> None:
        """Keep a message and what it became for the recording, if there is one."""
        if state.exchange:
            now = time.monotonic()
            state.started = state.started or now
            lines = [Frame(message.from_client, one, now).line(state.started) for one in (content, *out)]
            state.exchange.transcript.add(lines[0], lines[1:])

    def _may_hold(self, flow: http.HTTPFlow, socket: ResponsesSocket) -> bool:
        """Whether the process has room for what this socket holds."""
        return self._held.fits(flow, socket.held_bytes, ANSWERS * self._settings.policy.max_held_bytes)

    def _keep_alive(self, state: SocketState, frames: list[str]) -> list[str]:
        """Add a keep-alive message if one is due while a call is held. It is not recorded."""
        due = state.timer.keep_alive_due(holding=state.socket.holding, sent_data=bool(frames))
        message = state.socket.keep_alive() if due else ""
        return [message] if message else frames

    def _report(self, flow: http.HTTPFlow, state: SocketState) -> None:
        """Report what was done with the last message."""
        socket = state.socket
        if socket.request_steps:
            self._reporter.request(flow, PROTOCOL, socket.request_steps)
            socket.request_steps.clear()
        outcomes = socket.outcomes[state.reported :]
        if outcomes:
            for outcome in outcomes:
                state.log.decided(outcome)
            self._reporter.calls(state.log, PROTOCOL, outcomes, socket.seconds)
        # A socket lives for hours, and only a recording needs all of its calls, up to its limit.
        socket.seconds.clear()
        if not state.exchange or not state.exchange.transcript.before.complete:
            del socket.outcomes[state.reported :]
        state.reported = len(socket.outcomes)

    def end(self, flow: http.HTTPFlow) -> None:
        state = self._sockets.pop(flow, None)
        if state is None:
            return
        self._held.release(flow)
        failure = state.socket.failure
        self._reporter.over(state.log, PROTOCOL, state.exchange, failed_open=failure is not None)
        if failure is not None:
            logger.error(f"{endpoint(flow)}: toolfix failed ({failure!r}) and let the messages pass unchanged.")


class MessageBatch(bytes):
    """Content that is sent as several messages. Read as bytes, it is these messages, one per line."""

    messages: tuple[bytes, ...]

    def __new__(cls, texts: Sequence[str]) -> MessageBatch:
        messages = tuple(text.encode("utf-8", "surrogatepass") for text in texts)
        batch = super().__new__(cls, b"\n".join(messages))
        batch.messages = messages
        return batch


def deliver(flow: http.HTTPFlow, message: WebSocketMessage, texts: Sequence[str]) -> None:
    """Send these texts instead of the message; drop the message if there are none."""
    if not texts:
        message.drop()  # type: ignore[no-untyped-call]
    elif len(texts) == 1:
        message.text = texts[0]
    elif PATCHED:
        message.content = MessageBatch(texts)
    else:
        message.text = texts[0]
        for text in texts[1:]:
            ctx.master.commands.call("inject.websocket", flow, True, text.encode("utf-8", "surrogatepass"), True)


def _patch_fragmentizer() -> bool:
    """Make mitmproxy send a `MessageBatch` as several messages. False if this mitmproxy has no such class."""
    known = getattr(layer, "Fragmentizer", None)
    if known is None:
        return False
    send_one = known.__call__

    def send_each(self: Any, content: bytes) -> Iterator[Any]:
        for message in content.messages if isinstance(content, MessageBatch) else (content,):
            yield from send_one(self, message)

    known.__call__ = send_each
    return True


PATCHED = _patch_fragmentizer()
