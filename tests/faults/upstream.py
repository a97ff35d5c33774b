"""The hostile upstream: plain sockets, so that it can do what no server should.

A play is a coroutine that has the connection after the request was read, and does with it what it likes.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Awaitable, Callable

STREAM = "text/event-stream"


class Line:
    """The upstream's end of one connection from the proxy."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> None:
        self.reader = reader
        self.writer = writer
        self.request = request
        self.sent = 0
        """Bytes of the body that the socket has taken, or that wait in front of it."""

    async def head(self, framing: str = "transfer-encoding: chunked", *more: str, kind: str = STREAM) -> None:
        fields = "".join(f"{field}\r\n" for field in (f"content-type: {kind}", framing, *more) if field)
        await self.raw(f"HTTP/1.1 200 OK\r\n{fields}\r\n".encode("latin-1"))

    async def raw(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def chunk(self, data: bytes) -> None:
        self.sent += len(data)
        await self.raw(framed(data))

    async def end(self) -> None:
        await self.raw(b"0\r\n\r\n")

    def reset(self) -> None:
        """Not a word, not a FIN: the connection is gone."""
        sock: socket.socket = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    def half_close(self) -> None:
        """We have said everything, and still listen."""
        self.writer.write_eof()

    async def gone(self) -> None:
        """Wait until the proxy hangs up."""
        with contextlib.suppress(OSError):
            while await self.reader.read(65536):
                pass


Play = Callable[[Line], Awaitable[None]]


def framed(data: bytes) -> bytes:
    """A chunk of HTTP/1.1; an empty one would end the body."""
    return b"%x\r\n%b\r\n" % (len(data), data) if data else b""


def whole(*chunks: bytes) -> Play:
    """An upstream that behaves."""

    async def play(line: Line) -> None:
        await line.head()
        for chunk in chunks:
            await line.chunk(chunk)
        await line.end()

    return play


class Upstream:
    """Answers by the first part of the path."""

    def __init__(self) -> None:
        self.plays: dict[str, Play] = {}
        self.open: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self.port = 0

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=2**20)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        if self._server:
            self._server.close()
        for task in list(self.open):
            task.cancel()
        await asyncio.gather(*self.open, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self.open.add(task)
        task.add_done_callback(self.open.discard)
        try:
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                first, *fields = request.decode("latin-1").lower().split("\r\n")
                sizes = [field.partition(":")[2] for field in fields if field.startswith("content-length:")]
                request += await reader.readexactly(int(sizes[0])) if sizes else b""
                await self.plays[first.split(" ")[1].split("/")[1]](Line(reader, writer, request))
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
