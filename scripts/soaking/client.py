"""What the clients of the soak share: how they take an answer, what they got, opening tunnels and leaving.

The clients are small on purpose: they show what a client sees byte by byte, even if the transfer breaks, and they can
leave in mid-answer or read slowly.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
import zlib
from dataclasses import dataclass, field
from typing import Any, Protocol

import brotli
import h2.exceptions

PATIENCE = 60.0
SLOW_BYTES = 4096
SLOW_SECONDS = 0.01


@dataclass(slots=True)
class Manner:
    """How a client takes its answer."""

    leaves_after: int | None = None
    """The bytes of the body after which the client disconnects."""
    resets: bool = False
    """Whether the client disconnects with a TCP reset."""
    slow: bool = False


@dataclass(slots=True)
class Got:
    """What a client got."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    error: str = ""
    """Why the transfer is not complete; "" if it is."""
    left: bool = False

    def decoded(self) -> bytes:
        encoding = self.headers.get("content-encoding", "")
        if encoding == "gzip":
            return zlib.decompress(self.body, zlib.MAX_WBITS | 16)
        return bytes(brotli.decompress(self.body)) if encoding == "br" else self.body


class Left(Exception):
    """The client disconnected, as it was told to."""


TROUBLE = (OSError, EOFError, ssl.SSLError, asyncio.IncompleteReadError, h2.exceptions.ProtocolError, TimeoutError)


class Client(Protocol):
    """A client that sends requests through the proxy."""

    multiplexed: bool
    """Whether it can send several requests at once."""

    async def ask(self, path: str, request: bytes, manner: Manner) -> Got: ...

    async def close(self) -> None: ...


def leave(writer: asyncio.StreamWriter, *, resets: bool = False) -> None:
    """Close the connection; with a reset, data that is under way is discarded on both sides."""
    if resets:
        sock: Any = writer.get_extra_info("socket")
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
    else:
        writer.close()


async def tunnel(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, context: ssl.SSLContext | None
) -> None:
    """Open a tunnel through the proxy, with TLS inside if a context is given."""
    writer.write(f"CONNECT {host} HTTP/1.1\r\nhost: {host}\r\n\r\n".encode())
    answer = await reader.readuntil(b"\r\n\r\n")
    if b" 200 " not in answer.partition(b"\r\n")[0]:
        raise ConnectionError(answer.decode("latin-1"))
    if context is not None:
        await writer.start_tls(context, server_hostname=host.partition(":")[0])


async def fetch(port: int, path: str) -> bytes:
    """Get a page of the proxy itself, such as /metrics."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**24)
    writer.write(f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n\r\n".encode())
    try:
        async with asyncio.timeout(PATIENCE):
            head, _, body = (await reader.read(-1)).partition(b"\r\n\r\n")
    finally:
        writer.close()
    if b" 200 " not in head.partition(b"\r\n")[0]:
        raise ConnectionError(head.decode("latin-1"))
    return body
