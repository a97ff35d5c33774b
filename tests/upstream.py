"""The upstream of the tests, the soak and the benches: a loopback server that answers with given chunks, one write for
each, and breaks, resets, pauses and compresses as it is told. It speaks HTTP/1.1 and runs in a thread of its own.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
import threading
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from toolcalls.recording.store import Recording

from .certificates import write_certificate as write_certificate


def delivered(recording: Recording) -> list[dict[str, Any]]:
    """The calls that the client got or should get."""
    return [call for call in recording.calls or [] if not call.get("dropped")]


@dataclass(slots=True)
class Seen:
    """A request that reached the upstream."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    http_version: str


@dataclass(slots=True)
class Play:
    """An answer, as chunks. `breaks` closes the connection in the middle of the body, `resets` by a TCP reset.

    An HTTP/1.1 body is chunked, unless `content_length` is given or it ends with the connection (`until_close`).
    """

    chunks: Iterable[bytes]
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    breaks: bool = False
    resets: bool = False
    pause: float = 0.0
    content_length: int | None = None
    until_close: bool = False


Handler = Callable[[Seen], Play]


def play_recording(recording: Recording) -> Play:
    """The recorded answer in its original chunks, compressed if the recorded upstream compressed it unasked."""
    headers = {"content-type": str(recording.flow.get("content_type") or "text/event-stream")}
    encoding = str(recording.flow.get("content_encoding") or "")
    pieces = recording.pieces()
    if encoding:
        headers["content-encoding"] = encoding
        pieces = compressed(pieces, encoding)
    status = int(recording.flow.get("status", 200))
    # Errors of real hosts have a Content-Length.
    length = sum(map(len, pieces)) if status >= 400 else None
    return Play(pieces, status, headers, content_length=length)


def compressed(pieces: Iterable[bytes], encoding: str) -> list[bytes]:
    """The compressed pieces. The encoder is flushed after each, so that the chunks keep their borders."""
    if encoding == "br":
        import brotli

        encoder = brotli.Compressor()
        return [*(encoder.process(piece) + encoder.flush() for piece in pieces), encoder.finish()]
    if encoding != "gzip":
        raise ValueError(f"the embedded upstream does not speak {encoding}.")
    gzip = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    return [*(gzip.compress(piece) + gzip.flush(zlib.Z_SYNC_FLUSH) for piece in pieces), gzip.flush()]


def recordings_by_path(recordings: Iterable[Recording]) -> Handler:
    """Answer `/NAME/…` with the recording of that name."""
    known = {recording.name: recording for recording in recordings}

    def handler(seen: Seen) -> Play:
        name = seen.path.lstrip("/").partition("/")[0]
        if name in known:
            return play_recording(known[name])
        return Play([b'{"error":{"message":"no such recording"}}'], 404, {"content-type": "application/json"})

    return handler


class Upstream:
    """The server: inside `with Upstream(handler) as upstream:` it listens on a free loopback port."""

    alpn: tuple[str, ...] = ("http/1.1",)

    def __init__(self, handler: Handler, certificate: Path | None = None, *, host: str = "127.0.0.1") -> None:
        self._handler = handler
        self._host = host
        self._context: ssl.SSLContext | None = None
        if certificate is not None:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(certificate)
            self._context.set_alpn_protocols(list(self.alpn))
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="toolfix-upstream", daemon=True)
        self._ready = threading.Event()
        self.requests: list[Seen] = []
        self.port = 0

    @property
    def url(self) -> str:
        return f"{'https' if self._context else 'http'}://localhost:{self.port}"

    def __enter__(self) -> Upstream:
        self._thread.start()
        self._ready.wait(10)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(
            asyncio.start_server(self._serve, self._host, 0, ssl=self._context, limit=2**26)
        )
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self.serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError, ssl.SSLError):
            pass
        finally:
            writer.close()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        while await self._serve_one(reader, writer):
            pass

    def answer(self, seen: Seen) -> Play:
        self.requests.append(seen)
        return self._handler(seen)

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, version = first.split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
        if headers.get("transfer-encoding", "").lower() == "chunked":
            body = await _read_chunked(reader)
        else:
            body = await reader.readexactly(int(headers.get("content-length", "0")))
        play = self.answer(Seen(method, path, headers, body, version))
        chunked = play.content_length is None and not play.until_close
        framing = "transfer-encoding: chunked" if chunked else f"content-length: {play.content_length}"
        framing = "connection: close" if play.until_close else framing
        fields = "".join(f"{name}: {value}\r\n" for name, value in play.headers.items())
        writer.write(f"HTTP/1.1 {play.status} OK\r\n{fields}{framing}\r\n\r\n".encode("latin-1"))
        for chunk in play.chunks:
            if chunk:  # An empty chunk would end a chunked body.
                writer.write(b"%x\r\n%b\r\n" % (len(chunk), chunk) if chunked else chunk)
            await writer.drain()
            await asyncio.sleep(play.pause)
        if play.breaks or play.resets:
            if play.resets:
                # With a linger time of 0 the kernel discards unsent data and sends a reset.
                linger = struct.pack("ii", 1, 0)
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()
            return False
        if chunked:
            writer.write(b"0\r\n\r\n")
        await writer.drain()
        return not play.until_close


async def _read_chunked(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int((await reader.readline()).split(b";")[0], 16):
        body += await reader.readexactly(size)
        await reader.readline()
    await reader.readline()
    return body
