"""WebSockets: Codex uses Responses over them, with one event in each message."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from weakref import WeakKeyDictionary

from mitmproxy import http

from ..recording.frames import SocketTranscript
from ..request.refusals import Refusals
from ..websocket import ResponsesSocket
from .call_log import CallLog
from .exchanges import socket_exchange_of
from .flows import endpoint, socket_exchanges, socket_logs, sockets
from .hold_timer import HoldTimer
from .kept_messages import KeptMessages
from .message_batch import deliver
from .reporting import Reporter
from .settings import Settings

logger = logging.getLogger("toolfix")


class WebSocketFlows:
    def __init__(
        self,
        settings: Settings,
        reporter: Reporter,
        refusals: Refusals,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._reporter = reporter
        self._refusals = refusals
        self._sockets = sockets
        self._exchanges = socket_exchanges
        self._kept = KeptMessages()
        self._clock = clock
        self._timers: WeakKeyDictionary[http.HTTPFlow, HoldTimer] = WeakKeyDictionary()
        self._logs = socket_logs

    def start(self, flow: http.HTTPFlow) -> None:
        socket = self._sockets[flow] = ResponsesSocket(self._settings.policy, self._refusals)
        self._logs[flow] = CallLog(endpoint(flow))
        if self._settings.recorder:
            exchange = socket_exchange_of(flow, socket.outcomes, self._settings.texts)
            self._exchanges[flow] = exchange
            self._settings.recorder.begin(exchange)
        self._reporter.summary.answer([], observed=self._settings.observes)

    def message(self, flow: http.HTTPFlow) -> None:
        """Take a message of either side, and send what it becomes."""
        self._kept.add_last(flow, self._settings.most_kept)
        socket = self._sockets.get(flow)
        message = flow.websocket.messages[-1] if flow.websocket else None
        if socket is None or message is None or message.injected:
            return
        transcript = self._exchanges[flow].transcript if flow in self._exchanges else SocketTranscript()
        assert isinstance(transcript, SocketTranscript)
        content = message.text if message.is_text else message.content
        transcript.before.add(message.from_client, content)
        if not message.is_text:
            transcript.after.add(message.from_client, content)
        elif message.from_client:
            mended = socket.client_message(message.text)
            transcript.after.add(True, mended)
            if socket.request_steps:
                self._reporter.request(flow, "responses", socket.request_steps)
                socket.request_steps.clear()
            if mended != message.text and not self._settings.observes:
                message.text = mended
        else:
            known = len(socket.outcomes)
            frames = socket.server_message(message.text)
            for frame in frames:
                transcript.after.add(False, frame)
            self._report(flow, socket, known)
            if not transcript.before.complete:
                # The recording has reached its limit, so it keeps no more calls either.
                del socket.outcomes[known:]
            if not self._settings.observes:
                outgoing = self._keep_alive(flow, socket, frames)
                if outgoing != [message.text]:
                    deliver(flow, message, outgoing)

    def _keep_alive(self, flow: http.HTTPFlow, socket: ResponsesSocket, frames: list[str]) -> list[str]:
        """Add a keep-alive message if one is due while a call is held. It is not recorded."""
        now = self._clock()
        timer = self._timers.setdefault(flow, HoldTimer(now))
        held = socket.holding or timer.running
        due = held and timer.keep_alive_due(now, holding=socket.holding, sent_data=bool(frames))
        message = socket.keep_alive() if due else ""
        return [message] if message else frames

    def _report(self, flow: http.HTTPFlow, socket: ResponsesSocket, known: int) -> None:
        """Report the calls of the last message. `known`: how many calls there were before it."""
        outcomes = socket.outcomes[known:]
        for outcome in outcomes:
            self._logs[flow].decided(outcome)
        self._reporter.calls(flow, outcomes)
        if outcomes:
            self._reporter.summary.answer(outcomes, observed=self._settings.observes)
        self._reporter.metrics.called("responses", outcomes, socket.seconds)
        # A socket lives for hours, and only a recording needs all of its calls.
        socket.seconds.clear()
        if flow not in self._exchanges:
            socket.outcomes.clear()

    def end(self, flow: http.HTTPFlow) -> None:
        socket = self._sockets.pop(flow, None)
        exchange = self._exchanges.pop(flow, None)
        if socket is None:
            return
        self._logs.pop(flow).done()
        self._reporter.metrics.answered("responses", failed=socket.failure is not None)
        if self._settings.recorder and exchange:
            self._settings.recorder.write(exchange)
        if socket.failure is not None:
            logger.error(
                f"{endpoint(flow)}: toolfix failed ({socket.failure!r}) and let the messages pass unchanged."
            )
