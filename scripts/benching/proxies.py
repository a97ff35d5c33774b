"""What the end-to-end benches share: proxies that run side by side, a client, and the figures of /proc.

Each bench runs the addon beside two no-ops: the difference of these two is the noise of the run. All three proxies
have the probe of lag_addon.py.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import time
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from toolcalls.cli.proxy_process import SCRIPT, ProxyProcess

HERE = Path(__file__).resolve().parent
NOOP = HERE / "noop_addon.py"
LAG = HERE / "lag_addon.py"
LAG_HOST = "lag.invalid"
SSE = {"content-type": "text/event-stream"}


def side_by_side(stack: ExitStack, folder: Path) -> list[ProxyProcess]:
    """The addon, a no-op and another no-op."""
    return [
        stack.enter_context(ProxyProcess(folder, ("-s", str(LAG)), script=script)) for script in (SCRIPT, NOOP, NOOP)
    ]


class Lag(NamedTuple):
    """The longest times for which an event loop was blocked, in milliseconds of processor time."""

    call: float
    """One call of a stream callable, or of a hook of the addon, without a garbage collection that began in it."""
    collecting_call: float
    """One call with the garbage collections that began in it."""
    turn: float
    """Everything that ran between two waits for the network, including mitmproxy's own work."""


def lag(proxy: ProxyProcess) -> Lag:
    """What blocked the event loop of a proxy since the last call of this function."""
    connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=60)
    try:
        connection.request("GET", f"http://{LAG_HOST}/")
        told = json.loads(connection.getresponse().read())
    finally:
        connection.close()
    return Lag(told["call"] * 1000, told["collecting_call"] * 1000, told["turn"] * 1000)


async def ask(port: int, url: str, request: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, bytes, float]:
    """Send a request through a proxy; also return the first bytes of the body and the seconds until they arrived."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**24)
    head = (
        f"POST {url} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        f"content-length: {len(request)}\r\n\r\n"
    )
    started = time.perf_counter()
    writer.write(head.encode() + request)
    answer = await reader.readuntil(b"\r\n\r\n")
    if not answer.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(f"the proxy answered {answer!r}")
    first = await reader.read(65536)
    return reader, writer, first, time.perf_counter() - started


async def fetch(port: int, url: str, request: bytes) -> tuple[bytes, float]:
    """A whole streamed answer, and the seconds until the first byte of its body."""
    reader, writer, first, seconds = await ask(port, url, request)
    pieces = [first]
    while not pieces[-1].endswith(b"0\r\n\r\n"):
        piece = await reader.read(65536)
        if not piece:
            raise RuntimeError("the answer broke off")
        pieces.append(piece)
    writer.close()
    return unchunked(b"".join(pieces)), seconds


def unchunked(body: bytes) -> bytes:
    """The content of a body with chunked transfer coding."""
    out: list[bytes] = []
    at = 0
    while True:
        end = body.index(b"\r\n", at)
        size = int(body[at:end], 16)
        if not size:
            return b"".join(out)
        out.append(body[end + 2 : end + 2 + size])
        at = end + 2 + size + 2


def processor_seconds(pid: int) -> float:
    """Processor time of the main thread, which runs mitmproxy's event loop; 0 if the system does not report it."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0]) / 1e9
    except (OSError, ValueError):
        return 0.0


def memory(pid: int, field: str) -> int:
    """The bytes in a field of /proc/PID/status: `RssAnon` is the memory now, `VmHWM` the most that it ever was."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:")), 0)
