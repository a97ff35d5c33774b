"""A mitmproxy script for `upstream:` mode: connects to servers on this machine directly.

The upstream proxy cannot reach them, and we removed the NO_PROXY that kept clients from asking a proxy for them.
"""

from __future__ import annotations

from mitmproxy import connection, http, tls
from mitmproxy.proxy import mode_specs

from toolcalls.proxy.hosts import is_loopback


def tls_clienthello(data: tls.ClientHelloData) -> None:
    """Do not connect to the server first for its certificate: that would go through the upstream proxy."""
    address = data.context.server.address
    if address and is_loopback(address[0]) and isinstance(data.context.client.proxy_mode, mode_specs.UpstreamMode):
        data.establish_server_tls_first = False


def request(flow: http.HTTPFlow) -> None:
    if isinstance(flow.client_conn.proxy_mode, mode_specs.UpstreamMode) and is_loopback(flow.request.host):
        flow.server_conn = connection.Server(address=(flow.request.host, flow.request.port))
