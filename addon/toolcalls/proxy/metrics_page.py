"""`/metrics` of the proxy itself, for this machine alone."""

from __future__ import annotations

from collections.abc import Callable

from mitmproxy import http
from mitmproxy.proxy import mode_specs

from . import hosts, metrics


def is_asked_for(flow: http.HTTPFlow) -> bool:
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


def response(flow: http.HTTPFlow, text: Callable[[], str]) -> http.Response:
    """The page, or a refusal for clients on other machines."""
    client = flow.client_conn.peername
    if client and hosts.is_loopback(client[0]):
        return http.Response.make(200, text(), {"content-type": metrics.CONTENT_TYPE})
    return http.Response.make(403, "toolfix shows its metrics to this machine alone.\n")
