"""The embedded upstream: a loopback server that answers with given chunks, one write for each.

It plays recordings for the demo and serves the end-to-end tests, over HTTP/1.1 or, if the client asks for it over
TLS, HTTP/2. It runs in a thread of its own; mitmproxy installs the libraries that it needs (h2, cryptography).
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

import h2.config
import h2.connection
import h2.events

from ..recording.store import Recording


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

    def __init__(
        self, handler: Handler, certificate: Path | None = None, *, http2: bool = True, host: str = "127.0.0.1"
    ) -> None:
        self._handler = handler
        self._host = host
        self._context: ssl.SSLContext | None = None
        if certificate is not None:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(certificate)
            self._context.set_alpn_protocols(["h2", "http/1.1"] if http2 else ["http/1.1"])
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
        tls = writer.get_extra_info("ssl_object")
        try:
            if tls is not None and tls.selected_alpn_protocol() == "h2":
                await _Http2(self, reader, writer).serve()
            else:
                while await self._serve_one(reader, writer):
                    pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError, ssl.SSLError):
            pass
        finally:
            writer.close()

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


class _Http2:
    """One HTTP/2 connection; its requests are answered at the same time."""

    def __init__(self, upstream: Upstream, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._upstream = upstream
        self._reader = reader
        self._writer = writer
        self._connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        self._requests: dict[int, Seen] = {}
        self._window = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        self._connection.initiate_connection()
        await self._flush()
        while data := await self._reader.read(65536):
            for event in self._connection.receive_data(data):
                self._take(event)
            await self._flush()

    def _take(self, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.RequestReceived):
            headers = {_text(name): _text(value) for name, value in event.headers or []}
            stream = event.stream_id or 0
            self._requests[stream] = Seen(
                headers.get(":method", ""), headers.get(":path", ""), headers, b"", "HTTP/2.0"
            )
        elif isinstance(event, h2.events.DataReceived):
            stream = event.stream_id or 0
            self._requests[stream].body += event.data or b""
            self._connection.acknowledge_received_data(event.flow_controlled_length or 0, stream)
        elif isinstance(event, h2.events.StreamEnded):
            stream = event.stream_id or 0
            task = asyncio.ensure_future(self._answer(stream, self._requests.pop(stream)))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif isinstance(event, h2.events.WindowUpdated):
            self._window.set()

    async def _answer(self, stream: int, seen: Seen) -> None:
        play = self._upstream.answer(seen)
        length = [] if play.content_length is None else [("content-length", str(play.content_length))]
        self._connection.send_headers(stream, [(":status", str(play.status)), *play.headers.items(), *length])
        await self._flush()
        for chunk in play.chunks:
            await self._send(stream, chunk)
            await asyncio.sleep(play.pause)
        if play.breaks or play.resets:
            self._connection.reset_stream(stream, 2)
        else:
            self._connection.end_stream(stream)
        await self._flush()

    async def _send(self, stream: int, chunk: bytes) -> None:
        """Send a chunk when the window allows it; an empty chunk as an empty DATA frame."""
        while True:
            room = min(self._connection.local_flow_control_window(stream), self._connection.max_outbound_frame_size)
            if room or not chunk:
                self._connection.send_data(stream, chunk[:room])
                await self._flush()
                chunk = chunk[room:]
                if not chunk:
                    return
            else:
                self._window.clear()
                await self._window.wait()

    async def _flush(self) -> None:
        self._writer.write(self._connection.data_to_send())
        await self._writer.drain()


def _text(value: bytes | str) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value
