"""Turns a flow into the `Exchange` that the recorder writes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from mitmproxy import http

from ..outcome import Outcome
from ..recording.body_transcript import BodyTranscript
from ..recording.frames import SocketTranscript
from ..recording.record import Exchange
from ..request.request import seed_of
from .body_stream import BodyStream
from .flows import FlowState


def exchange_of(flow: http.HTTPFlow, stream: BodyStream, state: FlowState, options: dict[str, str]) -> Exchange:
    """What a recording keeps of an HTTP flow. It can be made before the first byte of the response."""
    body = state.request_body or b""
    exchange = _exchange(
        flow, state.protocol, stream.transcript, stream.response.outcomes, partial(seed_of, body), options
    )
    exchange.encoding = state.encoding
    exchange.request = body
    exchange.status = state.upstream_status or exchange.status
    if state.changed is not None:
        exchange.request_after = state.changed.body
        exchange.request_steps = state.changed.steps
        exchange.refusals = state.changed.reasons
        exchange.given_back = {str(number): back.as_json() for number, back in state.changed.given_back.items()}
    return exchange


def socket_exchange_of(flow: http.HTTPFlow, outcomes: list[Outcome], options: dict[str, str]) -> Exchange:
    """What a recording keeps of a WebSocket, whose protocol is always Responses."""
    return _exchange(flow, "responses", SocketTranscript(), outcomes, str, options)


def _exchange(
    flow: http.HTTPFlow,
    protocol: str,
    transcript: BodyTranscript | SocketTranscript,
    outcomes: list[Outcome],
    seed: Callable[[], str],
    options: dict[str, str],
) -> Exchange:
    response = flow.response
    return Exchange(
        protocol=protocol,
        method=flow.request.method,
        host=flow.request.pretty_host,
        path=flow.request.path,
        status=response.status_code if response else 0,
        content_type=response.headers.get("content-type", "") if response else "",
        encoding="",
        id=flow.id,
        seed=seed,
        started=flow.request.timestamp_start,
        options=options,
        request=b"",
        transcript=transcript,
        outcomes=outcomes,
    )
