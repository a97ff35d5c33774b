"""`/metrics` of the proxy itself, for the readers that `toolfix_metrics` allows.

The default is none. Behind a TCP balancer on this machine every client seems to be local, and in reverse mode we
cannot tell which name a page in a browser asked for. Only whoever starts the proxy knows who can reach its port.
"""

from __future__ import annotations

from collections.abc import Callable
from hmac import compare_digest

from mitmproxy import http
from mitmproxy.proxy import mode_specs

from . import hosts, metrics

_REFUSED = """toolfix shows its metrics only to readers that toolfix_metrics names.
If only you can reach this port: --set toolfix_metrics=loopback (or TOOLFIX_METRICS=loopback).
Behind a balancer, or with others on this machine: set it to a token of 16 characters or more, and send that as
"Authorization: Bearer TOKEN".
"""


def is_asked_for(flow: http.HTTPFlow) -> bool:
    """Whether this is a request for /metrics of the proxy itself.

    It must name the proxy's own address, so that a web page cannot reach it through a host name of its own. In
    reverse mode every path belongs to the upstream, which may have a /metrics too: there it is /toolfix/metrics.
    """
    if flow.request.method != "GET" or flow.request.path not in ("/metrics", "/toolfix/metrics"):
        return False
    if isinstance(flow.client_conn.proxy_mode, mode_specs.ReverseMode):
        return flow.request.path == "/toolfix/metrics"
    host, own = flow.request.host, flow.client_conn.sockname
    return bool(own) and flow.request.port == own[1] and (host == own[0] or hosts.is_loopback(host))


def response(flow: http.HTTPFlow, readers: str, text: Callable[[], str]) -> http.Response:
    """The page, or a refusal. `readers` is the value of `toolfix_metrics`."""
    if _may_read(flow, readers):
        return http.Response.make(200, text(), {"content-type": metrics.CONTENT_TYPE})
    return http.Response.make(403, _REFUSED, {"content-type": "text/plain; charset=utf-8"})


def _may_read(flow: http.HTTPFlow, readers: str) -> bool:
    if readers == "off":
        return False
    if readers == "loopback":
        client = flow.client_conn.peername
        return bool(client) and hosts.is_loopback(client[0])
    given = flow.request.headers.get("authorization", "")
    return compare_digest(given.encode("utf-8", "replace"), f"Bearer {readers}".encode())
