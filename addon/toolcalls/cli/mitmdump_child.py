"""Runs mitmdump as a child process. It is started as a file, which imports nothing of the rest of the package.

Its standard input is a pipe that ends with the parent process, however that happens; then the child ends too.
Its arguments are passed in the environment, where other users of the machine cannot see them. The parent hands over a
socket at which clients wait, so mitmproxy, which takes a second, need not be loaded before the first of them.

The file is also a mitmproxy script for `upstream:` mode, which connects to servers on this machine directly: the
upstream proxy cannot reach them, and we removed the NO_PROXY that kept clients from asking a proxy for them.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
import threading
from typing import Any

VARIABLE = "TOOLFIX_MITMDUMP"
"""An object with `arguments`, `listener` (a descriptor), and `lazy`: whether to wait for the first client."""
STARTED = "\0listening\n"
"""The line of the output that says that mitmproxy has started without an error."""


def end_with_the_parent() -> None:
    while os.read(0, 64):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> None:
    threading.Thread(target=end_with_the_parent, daemon=True).start()
    wanted = json.loads(os.environ.pop(VARIABLE))
    sys.argv += wanted["arguments"]
    listener = socket.socket(fileno=wanted["listener"])
    if wanted["lazy"]:
        select.select([listener], [], [])
    import asyncio

    from mitmproxy import ctx
    from mitmproxy.addons.errorcheck import ErrorCheck
    from mitmproxy.proxy.mode_servers import ServerInstance
    from mitmproxy.tools.main import mitmdump

    open_server: Any = asyncio.start_server

    def start_server(handle: Any, *where: Any, **more: Any) -> Any:
        """mitmproxy takes its clients from the socket that is there; scripts open their own."""
        if isinstance(getattr(handle, "__self__", None), ServerInstance):
            return open_server(handle, sock=listener)
        return open_server(handle, *where, **more)

    asyncio.start_server = start_server  # type: ignore[assignment]
    finish: Any = ErrorCheck.finish

    def started(check: ErrorCheck) -> None:
        """mitmproxy calls this when it listens, if no error was logged until then."""
        finish(check)
        for word in wanted["arguments"]:
            if word.partition("=")[0] in ctx.options.deferred:
                sys.exit(f"unknown option: {word}")
        print(end=STARTED, flush=True)

    ErrorCheck.finish = started  # type: ignore[method-assign]
    sys.exit(mitmdump())


def tls_clienthello(data: Any) -> None:
    """Do not connect to the server first for its certificate: that would go through the upstream proxy."""
    from toolcalls.proxy.hosts import is_loopback

    address = data.context.server.address
    if address and is_loopback(address[0]):
        data.establish_server_tls_first = False


def request(flow: Any) -> None:
    from mitmproxy.connection import Server

    from toolcalls.proxy.hosts import is_loopback

    if is_loopback(flow.request.host):
        flow.server_conn = Server(address=(flow.request.host, flow.request.port))


if __name__ == "__main__":
    main()
