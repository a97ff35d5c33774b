"""The state of every flow that toolfix handles, from request to the end of its response, and what is recorded of it.

mitmproxy may reload the script while flows are open, but it does not reload this module, so their state is kept here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from weakref import WeakKeyDictionary

from mitmproxy import http

from ..outcome import Outcome
from ..recording.record import Exchange
from ..recording.transcript import BodyTranscript, SocketTranscript
from ..request.mend import Changed
from ..request.reasoning import ReasoningSession
from ..request.request import Request, Seed, seed_of
from ..websocket import ResponsesSocket
from ..wire.encoding import decode_if_possible
from .body_stream import BodyStream, HoldTimer
from .log_lines import CallLog


@dataclass(slots=True, eq=False)
class FlowState:
    """What is known about one flow, from its request to the end of its response."""

    protocol: str
    request: Request
    request_body: bytes
    reasoning: ReasoningSession
    seed: Seed
    log: CallLog
    stream: BodyStream | None = None
    exchange: Exchange | None = None
    encoding: str = ""
    upstream_status: int | None = None
    """The status of the host's response, if the client gets another one."""
    changed: Changed | None = None
    """The mended request, if the request was changed."""


@dataclass(slots=True, eq=False)
class SocketState:
    """What is known about one WebSocket."""

    socket: ResponsesSocket
    log: CallLog
    timer: HoldTimer
    transcript: SocketTranscript = field(default_factory=SocketTranscript)
    exchange: Exchange | None = None
    """None if nothing is recorded; then the transcript stays empty."""


flows: WeakKeyDictionary[http.HTTPFlow, FlowState] = WeakKeyDictionary()
sockets: WeakKeyDictionary[http.HTTPFlow, SocketState] = WeakKeyDictionary()


def content(message: http.Message) -> bytes:
    """The body without its content encoding. mitmproxy's own decoding has no limit for the decoded size."""
    return decode_if_possible(message.raw_content, message.headers.get("content-encoding", ""))


def exchange_of(
    flow: http.HTTPFlow,
    protocol: str,
    transcript: BodyTranscript | SocketTranscript,
    outcomes: list[Outcome],
    options: dict[str, str],
) -> Exchange:
    """What a recording keeps of a flow. It can be made before the first byte of the response."""
    response = flow.response
    return Exchange(
        protocol=protocol,
        method=flow.request.method,
        host=flow.request.pretty_host,
        path=flow.request.path,
        status=response.status_code if response else 0,
        content_type=response.headers.get("content-type", "") if response else "",
        id=flow.id,
        started=flow.request.timestamp_start,
        options=options,
        transcript=transcript,
        outcomes=outcomes,
    )


def http_exchange_of(flow: http.HTTPFlow, stream: BodyStream, state: FlowState, options: dict[str, str]) -> Exchange:
    exchange = exchange_of(flow, state.protocol, stream.transcript, stream.response.outcomes, options)
    exchange.encoding = state.encoding
    exchange.request = state.request_body
    exchange.seed = partial(seed_of, state.request_body)
    exchange.status = state.upstream_status or exchange.status
    if changed := state.changed:
        exchange.request_after = changed.body
        exchange.request_steps = changed.steps
        exchange.refusals = changed.reasons
        exchange.given_back = {str(number): back.as_json() for number, back in changed.given_back.items()}
    return exchange
