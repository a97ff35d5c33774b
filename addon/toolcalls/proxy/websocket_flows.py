"""WebSockets: Codex uses Responses over them, with one event in each message.

Several messages may have to be sent instead of one. mitmproxy can inject messages, but an injected message is sent
after everything that arrived in the same read, even after the closing of the socket: a call would follow the end of
its answer, or be lost. mitmproxy's `Fragmentizer` turns content into frames, so it is patched to send a
`MessageBatch` as several messages. That class is not part of mitmproxy's public interface; without it the script does
not load, and mitmdump exits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from mitmproxy import http
from mitmproxy.proxy.layers import websocket as layer
from mitmproxy.websocket import WebSocketMessage

from ..recording.store import Frame
from ..request.refusals import Refusals
from ..websocket import ResponsesSocket
from .body_stream import HeldBytes, HoldTimer
from .reporting import FlowReport, Reporter

PROTOCOL = "responses"


@dataclass(slots=True, eq=False)
class SocketState:
    """What is known about one WebSocket."""

    socket: ResponsesSocket
    report: FlowReport
    timer: HoldTimer
    started: float
    recorded: bool


sockets: WeakKeyDictionary[http.HTTPFlow, SocketState] = WeakKeyDictionary()
"""The open sockets. mitmproxy may reload the script while they are open, but it does not reload this module."""


class WebSocketFlows:
    def __init__(
        self,
        reporter: Reporter,
        refusals: Refusals,
        all_held: HeldBytes,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings, self._reporter = reporter.settings, reporter
        self._refusals, self._all_held, self._clock = refusals, all_held, clock

    def start(self, flow: http.HTTPFlow) -> None:
        socket = ResponsesSocket(self._settings.policy, self._refusals)
        report = FlowReport(self._reporter, flow, PROTOCOL, suffix=".jsonl")
        recorder, timer = self._settings.recorder, HoldTimer(self._clock)
        sockets[flow] = SocketState(socket, report, timer, self._clock(), recorded=recorder is not None)
        if recorder:
            recorder.begin(report.exchange)
        report.calls(())

    def websocket_message(self, flow: http.HTTPFlow) -> None:
        """Take a message of either side, and send what it becomes. The protocol has no binary ones: they pass."""
        messages = flow.websocket.messages if flow.websocket else []
        if not self._settings.bodies_are_wanted:
            # A socket lives for hours, and mitmproxy would keep all of its messages, which nobody looks at.
            del messages[:-1]
        state = sockets.get(flow)
        if state is None or not messages or messages[-1].injected or not messages[-1].is_text:
            return
        message, socket = messages[-1], state.socket
        if message.from_client:
            out = [socket.client_message(message.text)]
        else:
            out = socket.server_message(message.text)
            if not self._all_held.fits(flow, socket.response.held_bytes):
                out += socket.stop_holding()
        self._report(state, message, out)
        if self._settings.observes:
            return
        # A keep-alive message is not recorded.
        if not message.from_client and state.timer.keep_alive_due(
            holding=socket.response.holding, sent_data=bool(out)
        ):
            out = [said] if (said := socket.keep_alive()) else out
        if not out:
            message.drop()  # type: ignore[no-untyped-call]
        elif out != [message.text]:
            message.content = MessageBatch(out)

    def _report(self, state: SocketState, message: WebSocketMessage, out: Sequence[str]) -> None:
        """Record a message and what it became, and report what was done with it."""
        socket, exchange = state.socket, state.report.exchange
        if state.recorded:
            now = self._clock()
            frames = (Frame(message.from_client, text, now).line(state.started) for text in (message.text, *out))
            exchange.add(next(frames), [*frames])
            if exchange.before.complete:
                exchange.outcomes += socket.outcomes
        if socket.request_steps:
            state.report.request(socket.request_steps)
        for outcome in socket.outcomes:
            state.report.decided(outcome)
        if socket.outcomes:
            state.report.calls(socket.outcomes, socket.seconds)
        # A socket lives for hours.
        for reported in (socket.request_steps, socket.outcomes, socket.seconds):
            reported.clear()

    def websocket_end(self, flow: http.HTTPFlow) -> None:
        state = sockets.pop(flow, None)
        if state is not None:
            self._all_held.release(flow)
            state.report.over(state.socket.failure)


class MessageBatch(bytes):
    """Content that is sent as several messages. Read as bytes, it is these messages, one per line."""

    messages: tuple[bytes, ...]

    def __new__(cls, texts: Sequence[str]) -> MessageBatch:
        messages = tuple(text.encode("utf-8", "surrogatepass") for text in texts)
        batch = super().__new__(cls, b"\n".join(messages))
        batch.messages = messages
        return batch


_send_one = layer.Fragmentizer.__call__


def _send_each(self: layer.Fragmentizer, content: bytes) -> Iterator[Any]:
    for message in content.messages if isinstance(content, MessageBatch) else (content,):
        yield from _send_one(self, message)


layer.Fragmentizer.__call__ = _send_each  # type: ignore[method-assign]
