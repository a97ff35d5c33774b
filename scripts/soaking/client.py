"""The clients of the soak, over HTTP/1.1 and HTTP/2, plain or over TLS.

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
import h2.config
import h2.connection
import h2.events
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


class Http1:
    """A connection to the proxy that is kept for several requests, one after the other."""

    multiplexed = False

    def __init__(self, proxy: int, upstream: str, context: ssl.SSLContext | None) -> None:
        self._proxy = proxy
        self._context = context
        self._host = upstream.partition("//")[2]
        self._base = "" if context else upstream
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, path: str, request: bytes, manner: Manner) -> Got:
        got = Got()
        try:
            async with asyncio.timeout(PATIENCE):
                await self._ask(got, path, request, manner)
        except Left:
            got.left = True
            await self.close(resets=manner.resets)
        except TROUBLE as trouble:
            got.error = repr(trouble)
            await self.close()
        return got

    async def _ask(self, got: Got, path: str, request: bytes, manner: Manner) -> None:
        reader, writer = self._streams = self._streams or await self._connect()
        head = f"POST {self._base}{path} HTTP/1.1\r\nhost: {self._host}\r\ncontent-type: application/json\r\n"
        writer.write(f"{head}content-length: {len(request)}\r\n\r\n".encode() + request)
        await writer.drain()
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        got.status = int(first.split()[1])
        got.headers = {name.lower(): text.strip() for name, _, text in (line.partition(":") for line in lines)}
        await self._body(reader, got, manner)
        if got.headers.get("connection") == "close":
            await self.close()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._proxy, limit=2**24)
        if self._context is not None:
            await tunnel(reader, writer, self._host, self._context)
        return reader, writer

    async def _body(self, reader: asyncio.StreamReader, got: Got, manner: Manner) -> None:
        if "content-length" in got.headers:
            await self._take(reader, got, int(got.headers["content-length"]), manner)
            return
        while size := int(await reader.readuntil(b"\r\n"), 16):
            await self._take(reader, got, size, manner)
            await reader.readexactly(2)
        await reader.readexactly(2)

    async def _take(self, reader: asyncio.StreamReader, got: Got, size: int, manner: Manner) -> None:
        while size:
            piece = await reader.read(min(size, SLOW_BYTES) if manner.slow else size)
            if not piece:
                raise EOFError("the answer broke off")
            size -= len(piece)
            got.body += piece
            if manner.leaves_after is not None and len(got.body) >= manner.leaves_after:
                raise Left
            if manner.slow:
                await asyncio.sleep(SLOW_SECONDS)

    async def close(self, *, resets: bool = False) -> None:
        if self._streams is None:
            return
        _, writer = self._streams
        self._streams = None
        leave(writer, resets=resets)
        if not resets:
            with contextlib.suppress(*TROUBLE):
                await asyncio.wait_for(writer.wait_closed(), 5)


class Http2:
    """A shared connection, on which each request gets a stream of its own."""

    multiplexed = True

    def __init__(self, proxy: int, upstream: str, context: ssl.SSLContext) -> None:
        self._proxy = proxy
        self._context = context
        self._host = upstream.partition("//")[2]
        self._link: _Link | None = None
        self._opening = asyncio.Lock()

    async def ask(self, path: str, request: bytes, manner: Manner) -> Got:
        got = Got()
        try:
            async with asyncio.timeout(PATIENCE):
                async with self._opening:
                    if self._link is None or self._link.over:
                        self._link = await _Link.open(self._proxy, self._host, self._context)
                await self._link.ask(got, self._host, path, request, manner)
        except Left:
            got.left = True
        except TROUBLE as trouble:
            got.error = repr(trouble)
        return got

    async def close(self) -> None:
        if self._link is not None:
            await self._link.close()
            self._link = None


class _Link:
    """One HTTP/2 connection and the streams on it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._wire = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
        self._events: dict[int, asyncio.Queue[h2.events.Event | None]] = {}
        self._wire.initiate_connection()
        self._wire.increment_flow_control_window(2**24)
        self._flush()
        self._task = asyncio.ensure_future(self._read())
        self.over = False

    @classmethod
    async def open(cls, proxy: int, host: str, context: ssl.SSLContext) -> _Link:
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy)
        await tunnel(reader, writer, host, context)
        return cls(reader, writer)

    async def ask(self, got: Got, host: str, path: str, request: bytes, manner: Manner) -> None:
        stream = self._wire.get_next_available_stream_id()
        events = self._events[stream] = asyncio.Queue()
        head = [(":method", "POST"), (":scheme", "https"), (":authority", host), (":path", path)]
        self._wire.send_headers(stream, [*head, ("content-type", "application/json")])
        # The requests of the soak fit into the first window and into one frame.
        self._wire.send_data(stream, request, end_stream=True)
        self._flush()
        try:
            while event := await events.get():
                if self._take(got, stream, event):
                    return
                if manner.leaves_after is not None and len(got.body) >= manner.leaves_after:
                    with contextlib.suppress(h2.exceptions.StreamClosedError):  # its end has already arrived
                        self._wire.reset_stream(stream, 8)
                    self._flush()
                    raise Left
                if manner.slow:
                    await asyncio.sleep(SLOW_SECONDS)
            raise EOFError("the connection ended")
        finally:
            del self._events[stream]

    def _take(self, got: Got, stream: int, event: h2.events.Event) -> bool:
        """Take one event of the stream; True if the answer is complete."""
        if isinstance(event, h2.events.ResponseReceived):
            got.headers = {_text(name): _text(value) for name, value in event.headers or []}
            got.status = int(got.headers[":status"])
        elif isinstance(event, h2.events.DataReceived):
            got.body += event.data or b""
            self._wire.acknowledge_received_data(event.flow_controlled_length or 0, stream)
            self._flush()
        elif isinstance(event, h2.events.StreamReset):
            raise EOFError(f"the stream was reset ({event.error_code})")
        return isinstance(event, h2.events.StreamEnded)

    async def _read(self) -> None:
        try:
            while data := await self._reader.read(65536):
                for event in self._wire.receive_data(data):
                    if queue := self._events.get(getattr(event, "stream_id", None) or 0):
                        queue.put_nowait(event)
                self._flush()
        except TROUBLE:
            pass
        finally:
            self.over = True
            for queue in self._events.values():
                queue.put_nowait(None)
            self._writer.close()

    def _flush(self) -> None:
        self._writer.write(self._wire.data_to_send())

    async def close(self) -> None:
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task


def _text(value: bytes | str) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value
