"""The embedded upstream of the demo, over HTTP/2 too, for clients that ask for it over TLS."""

from __future__ import annotations

import asyncio

import h2.config
import h2.connection
import h2.events

from tests.upstream import Seen, Upstream


class Http2Upstream(Upstream):
    alpn = ("h2", "http/1.1")

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tls = writer.get_extra_info("ssl_object")
        if tls is not None and tls.selected_alpn_protocol() == "h2":
            await _Connection(self, reader, writer).serve()
        else:
            await super().serve(reader, writer)


class _Connection:
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
