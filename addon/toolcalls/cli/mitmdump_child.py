"""Runs mitmdump as a child process. It is started as a file and imports nothing of the rest of the package.

Its standard input is a pipe that ends with the parent process, however that happens; then the child ends too.
Its arguments are passed in the environment, where other users of the machine cannot see them. If the parent listens
already, its clients wait in its socket, from which the child takes them.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import threading
from typing import Any

ARGUMENTS = "TOOLFIX_MITMDUMP"
LISTENER = "TOOLFIX_LISTENER"


def end_with_the_parent() -> None:
    while os.read(0, 64):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def listen_with(descriptor: int) -> None:
    """Make mitmproxy take its clients from this socket."""
    listener = socket.socket(fileno=descriptor)
    start_server = asyncio.start_server

    def given(handle: Any, _host: str, _port: int) -> Any:
        return start_server(handle, sock=listener)

    asyncio.start_server = given  # type: ignore[assignment]


if __name__ == "__main__":
    threading.Thread(target=end_with_the_parent, daemon=True).start()
    sys.argv += json.loads(os.environ.pop(ARGUMENTS, "[]"))
    if LISTENER in os.environ:
        listen_with(int(os.environ.pop(LISTENER)))
    from mitmproxy.tools.main import mitmdump

    sys.exit(mitmdump())
