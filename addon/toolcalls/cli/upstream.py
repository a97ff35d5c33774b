"""The server of `toolfix demo` and `toolfix doctor`: behind a real proxy on this machine.

It speaks plain HTTP, which only the proxy knows: everybody else is told an https URL. So a request that arrives has
come through the proxy, from a client that trusts mitmproxy's CA.
"""

from __future__ import annotations

import http.client
import ssl
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit


class Seen(NamedTuple):
    """A request that reached the upstream."""

    method: str
    path: str
    body: bytes


class Play(NamedTuple):
    """An answer. Each chunk is sent in one write."""

    chunks: Sequence[bytes]
    status: int = 200
    content_type: str = "application/json"


class Upstream(ThreadingHTTPServer):
    """Inside `with Upstream(handler) as upstream:` it listens on a free loopback port."""

    daemon_threads = True

    def __init__(self, handler: Callable[[Seen], Play]) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.handler = handler
        self.requests: list[Seen] = []
        self.url = f"https://localhost:{self.server_port}"
        mapped = f"|{self.url}|http://localhost:{self.server_port}"
        self.for_proxy = ("--set", "connection_strategy=lazy", "--map-remote", mapped)
        """The arguments of the mitmdump that leads to it."""

    def __enter__(self) -> Upstream:
        threading.Thread(target=self.serve_forever, args=(0.1,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: an agent that is killed, or bypasses the proxy, breaks its connection."""


class _Connection(BaseHTTPRequestHandler):
    """One request and its answer, which ends with the connection."""

    server: Upstream

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        self.server.requests.append(Seen(self.command, self.path, body))
        play = self.server.handler(self.server.requests[-1])
        self.send_response(play.status)
        self.send_header("content-type", play.content_type)
        if play.status >= 400:
            # As errors of real hosts have it: toolfix reads those that quote a call.
            self.send_header("content-length", str(sum(map(len, play.chunks))))
        self.end_headers()
        for chunk in play.chunks:
            self.wfile.write(chunk)

    do_GET = do_POST = do_HEAD = do_PUT = do_OPTIONS = _answer

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


def ask(port: int, url: str, body: bytes, ca: Path) -> bytes:
    """The answer to a POST through the proxy on this port, from a client that trusts nothing but this file."""
    target = urlsplit(url)
    context = ssl.create_default_context(cafile=str(ca))
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=30)
    connection.set_tunnel(str(target.hostname), target.port)
    try:
        connection.request("POST", target.path, body, {"content-type": "application/json"})
        return connection.getresponse().read()
    finally:
        connection.close()
