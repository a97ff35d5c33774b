"""A client for HTTP/2, with several streams at once on one connection."""

from __future__ import annotations

import asyncio
import contextlib
import ssl

import h2.config
import h2.connection
import h2.events
import h2.exceptions

from .client import PATIENCE, SLOW_SECONDS, TROUBLE, Got, Left, Manner, tunnel


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
