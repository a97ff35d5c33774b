"""Runs mitmdump as a child process. It is started as a file and imports nothing of the rest of the package.

Its standard input is a pipe that ends with the parent process, however that happens; then the child ends too.
Its arguments are passed in the environment, where other users of the machine cannot see them. If the parent hands
over a socket, clients wait there, and mitmproxy, which takes a second, need not be loaded before the first of them.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
import threading
from functools import partial
from typing import Any

VARIABLE = "TOOLFIX_MITMDUMP"
"""An object with `arguments`, `listener` (a descriptor or null), and `lazy`: whether to wait for the first client."""
STARTED = "\0listening on "
"""Begins the line of the output, with the port, that says that mitmproxy has started without an error."""


def end_with_the_parent() -> None:
    while os.read(0, 64):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> None:
    threading.Thread(target=end_with_the_parent, daemon=True).start()
    wanted = json.loads(os.environ.pop(VARIABLE))
    sys.argv += wanted["arguments"]
    if wanted["listener"]:
        listener = socket.socket(fileno=wanted["listener"])
        if wanted["lazy"]:
            select.select([listener], [], [])
        # mitmproxy takes its clients from this socket.
        import asyncio

        start_server: Any = partial(asyncio.start_server, sock=listener)
        asyncio.start_server = lambda handle, _host, _port: start_server(handle)  # type: ignore
    from mitmproxy import ctx
    from mitmproxy.addons.errorcheck import ErrorCheck
    from mitmproxy.tools.main import mitmdump

    finish: Any = ErrorCheck.finish

    def started(check: ErrorCheck) -> None:
        """mitmproxy calls this when it listens, if no error was logged until then."""
        finish(check)
        addons: Any = ctx.master.addons
        addresses = addons.get("proxyserver").listen_addrs()
        print(f"{STARTED}{addresses[0][1] if addresses else 0}", flush=True)

    ErrorCheck.finish = started  # type: ignore[method-assign]
    sys.exit(mitmdump())


if __name__ == "__main__":
    main()
