"""WebSockets: Codex uses Responses over them, with one event in each message.

Several messages may have to be sent instead of one. mitmproxy can inject messages, but an injected message is sent
after everything that arrived in the same read, even after the closing of the socket: a call would follow the end of
its answer, or be lost. mitmproxy's `Fragmentizer` turns content into frames, so it is patched to send a
`MessageBatch` as several messages. That class is not part of mitmproxy's public interface: if it is missing, the
script still loads, and injects.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from mitmproxy import ctx, http
from mitmproxy.proxy.layers import websocket as layer
from mitmproxy.websocket import WebSocketMessage

from ..recording.record import Exchange
from ..recording.store import Frame
from ..request.refusals import Refusals
from ..websocket import ResponsesSocket
from .body_stream import HeldBytes, HoldTimer
from .flow_files import described
from .reporting import FlowReport, Reporter
from .settings import Settings

PROTOCOL = "responses"


@dataclass(slots=True, eq=False)
class SocketState:
    """What is known about one WebSocket."""

    socket: ResponsesSocket
    report: FlowReport
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
        all_held: HeldBytes,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._all_held = all_held
        self._reporter = reporter
        self._refusals = refusals
        self._sockets = sockets
        for state in list(sockets.values()):
            state.report.reporter = reporter
        self._clock = clock

    def start(self, flow: http.HTTPFlow) -> None:
        socket = ResponsesSocket(self._settings.policy, self._refusals)
        report = FlowReport(self._reporter, flow, PROTOCOL)
        state = self._sockets[flow] = SocketState(socket, report, HoldTimer(self._clock))
        if self._settings.recorder:
            about, started, options = described(flow, PROTOCOL), flow.request.timestamp_start, self._settings.texts
            state.exchange = Exchange(about, flow.id, started, options, outcomes=socket.outcomes, suffix=".jsonl")
            self._settings.recorder.begin(state.exchange)
        report.calls(())

    def websocket_message(self, flow: http.HTTPFlow) -> None:
        """Take a message of either side, and send what it becomes."""
        messages = flow.websocket.messages if flow.websocket else []
        if not self._settings.bodies_are_wanted:
            # A socket lives for hours, and mitmproxy would keep all of its messages, which nobody looks at.
            del messages[:-1]
        state = self._sockets.get(flow)
        if state is None or not messages or messages[-1].injected:
            return
        message, socket = messages[-1], state.socket
        if not message.is_text:
            self._keep(state, message, message.content, [message.content])
            return
        if message.from_client:
            out = [socket.client_message(message.text)]
        else:
            out = socket.server_message(message.text)
            if not self._all_held.fits(flow, socket.held_bytes):
                out += socket.stop_holding()
        self._keep(state, message, message.text, out)
        self._report(state)
        if self._settings.observes:
            return
        # A keep-alive message is not recorded.
        if not message.from_client and state.timer.keep_alive_due(holding=socket.holding, sent_data=bool(out)):
            out = [said] if (said := socket.keep_alive()) else out
        if out != [message.text]:
            deliver(flow, message, out)

    def _keep(
        self, state: SocketState, message: WebSocketMessage, content: str | bytes, out: Sequence[str | bytes]
    ) -> None:
        """Keep a message and what it became for the recording, if there is one."""
        if state.exchange:
            now = time.monotonic()
            state.started = state.started or now
            lines = [Frame(message.from_client, one, now).line(state.started) for one in (content, *out)]
            state.exchange.transcript.add(lines[0], lines[1:])

    def _report(self, state: SocketState) -> None:
        """Report what was done with the last message."""
        socket = state.socket
        if socket.request_steps:
            state.report.request(socket.request_steps)
            socket.request_steps.clear()
        outcomes = socket.outcomes[state.reported :]
        if outcomes:
            for outcome in outcomes:
                state.report.decided(outcome)
            state.report.calls(outcomes, socket.seconds)
        # A socket lives for hours, and only a recording needs all of its calls, up to its limit.
        socket.seconds.clear()
        if not state.exchange or not state.exchange.transcript.before.complete:
            del socket.outcomes[state.reported :]
        state.reported = len(socket.outcomes)

    def websocket_end(self, flow: http.HTTPFlow) -> None:
        state = self._sockets.pop(flow, None)
        if state is not None:
            self._all_held.release(flow)
            state.report.over(state.exchange, state.socket.failure)


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
