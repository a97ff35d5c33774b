"""What the script tells of a live mitmproxy flow: to the recorder, to the content view, to who asks for metrics."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from mitmproxy import http
from mitmproxy.proxy import mode_specs

from .. import hosts, metrics
from ..calls import Outcome
from ..dialects.responses.ws import ResponsesSocket
from ..guard import Guard
from ..history import Changed
from ..request import seed_of
from ..wire.encoding import decode_if_possible
from .frames import SocketBooks
from .record import Exchange

flows: WeakKeyDictionary[http.HTTPFlow, Any] = WeakKeyDictionary()
"""What the script knows of the flows that are open. It is kept here because the script may be reloaded meanwhile."""
sockets: WeakKeyDictionary[http.HTTPFlow, ResponsesSocket] = WeakKeyDictionary()
socket_exchanges: WeakKeyDictionary[http.HTTPFlow, Exchange] = WeakKeyDictionary()


class Known(Protocol):
    """What the script keeps of a flow."""

    protocol: str
    encoding: str
    request_body: bytes | None
    changed: Changed | None


def exchange_of(flow: http.HTTPFlow, guard: Guard, known: Known, options: dict[str, str]) -> Exchange:
    """What a recording keeps of an answer, from its first byte on."""
    body = known.request_body or b""
    exchange = _exchange(flow, known.protocol, guard, guard.answer.outcomes, partial(seed_of, body), options)
    exchange.encoding = known.encoding
    exchange.request = body
    if known.changed is not None:
        exchange.request_after = known.changed.body
        exchange.refusals = known.changed.reasons
    return exchange


def socket_exchange_of(flow: http.HTTPFlow, outcomes: list[Outcome], options: dict[str, str]) -> Exchange:
    """The same of a WebSocket, which speaks Responses."""
    return _exchange(flow, "responses", SocketBooks(), outcomes, str, options)


def _exchange(
    flow: http.HTTPFlow,
    protocol: str,
    books: Guard | SocketBooks,
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
        books=books,
        outcomes=outcomes,
    )


def asks_for_metrics(flow: http.HTTPFlow) -> bool:
    """Is it /metrics of the proxy itself?

    By the proxy's own address, so that no page can ask with a name of its own. In reverse mode everything is
    the upstream's, which may have a /metrics too: there it is /toolfix/metrics.
    """
    if flow.request.method != "GET" or flow.request.path not in ("/metrics", "/toolfix/metrics"):
        return False
    if isinstance(flow.client_conn.proxy_mode, mode_specs.ReverseMode):
        return flow.request.path == "/toolfix/metrics"
    host, own = flow.request.host, flow.client_conn.sockname
    return bool(own) and flow.request.port == own[1] and (host == own[0] or hosts.is_loopback(host))


def metrics_response(flow: http.HTTPFlow, text: Callable[[], str]) -> http.Response:
    client = flow.client_conn.peername
    if client and hosts.is_loopback(client[0]):
        return http.Response.make(200, text(), {"content-type": metrics.CONTENT_TYPE})
    return http.Response.make(403, "toolfix shows its metrics to this machine alone.\n")


def content(message: http.Message) -> bytes:
    """The body without its content encoding; mitmproxy's own way knows no limit to what it may become."""
    return decode_if_possible(message.raw_content, message.headers.get("content-encoding", ""))
