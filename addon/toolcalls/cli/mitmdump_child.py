"""Runs mitmdump as a child process. It is started as a file and imports nothing of the rest of the package.

Its standard input is a pipe that ends with the parent process, however that happens; then the child ends too.
Its arguments are passed in the environment, where other users of the machine cannot see them. If the parent hands
over a socket, clients wait there, and mitmproxy, which takes a second, is not loaded before the first of them.
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
"""An object with `arguments`, `listener` (a descriptor or null), and `at_once`: whether to wait for no client."""


def end_with_the_parent() -> None:
    while os.read(0, 64):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def listen_with(listener: socket.socket) -> None:
    """Make mitmproxy take its clients from this socket."""
    import asyncio

    start_server = asyncio.start_server

    def given(handle: Any, _host: str, _port: int) -> Any:
        return start_server(handle, sock=listener)

    asyncio.start_server = given  # type: ignore[assignment]


if __name__ == "__main__":
    threading.Thread(target=end_with_the_parent, daemon=True).start()
    wanted = json.loads(os.environ.pop(VARIABLE))
    sys.argv += wanted["arguments"]
    if wanted["listener"]:
        inherited = socket.socket(fileno=wanted["listener"])
        if not wanted["at_once"]:
            select.select([inherited], [], [])
        listen_with(inherited)
    from mitmproxy.tools.main import mitmdump

    sys.exit(mitmdump())
