"""Responses over WebSockets, as Codex uses it: an upstream and a client that play a recording, message by message."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Iterator

from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Event, Request, TextMessage
from wsproto.utilities import ProtocolError

from tests.upstream import delivered
from toolcalls.recording.store import Recording, frames_in

from .accounting import Books
from .client import PATIENCE, TROUBLE, leave, tunnel

LEAVES = 0.04
"""How often one side disconnects in the middle."""


class End:
    """One end of a WebSocket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, kind: ConnectionType) -> None:
        self._reader = reader
        self.writer = writer
        self._wire = WSConnection(kind)
        self._events = self._receive()

    def send(self, event: Event) -> None:
        self.writer.write(self._wire.send(event))

    async def hear(self) -> Event:
        return await anext(self._events)

    async def text(self) -> str:
        event = await self.hear()
        if not isinstance(event, TextMessage):
            raise EOFError(f"no message: {event!r}")
        return event.data

    async def _receive(self) -> AsyncIterator[Event]:
        """The events of the connection, with the parts of each message joined."""
        parts = ""
        while data := await self._reader.read(65536):
            self._wire.receive_data(data)
            for event in self._wire.events():
                if isinstance(event, TextMessage):
                    parts += event.data
                    if event.message_finished:
                        yield TextMessage(parts)
                        parts = ""
                else:
                    yield event
        raise EOFError("the connection ended")


class SocketUpstream:
    """An upstream that plays the recording whose token is in the path."""

    def __init__(self) -> None:
        self.waiting: dict[str, tuple[Recording, bool]] = {}
        self.port = 0
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=2**24)
        self.port = self._server.sockets[0].getsockname()[1]

    def stop(self) -> None:
        if self._server:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        end = End(reader, writer, ConnectionType.SERVER)
        try:
            request = await end.hear()
            if not isinstance(request, Request):
                return
            recording, breaks = self.waiting.pop(request.target.partition("?")[2])
            end.send(AcceptConnection())
            frames = recording.frames
            for frame in frames[: len(frames) // 2 if breaks else None]:
                if frame.from_client:
                    await end.text()
                else:
                    end.send(TextMessage(frame.text))
            await writer.drain()
            if breaks:
                writer.transport.abort()
            elif isinstance(event := await end.hear(), CloseConnection):
                end.send(event.response())
        except (*TROUBLE, ProtocolError):
            pass
        finally:
            writer.close()


async def converse(
    proxy: int,
    upstream: SocketUpstream,
    chance: random.Random,
    recordings: list[Recording],
    tokens: Iterator[str],
    books: Books,
) -> None:
    """Play one recording over a connection of its own, and count its calls in the books."""
    recording, token = chance.choice(recordings), next(tokens)
    breaks, leaves = chance.random() < LEAVES, chance.random() < LEAVES
    upstream.waiting[token] = (recording, breaks)
    statuses = [str(call["status"]) for call in recording.calls or []]
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy, limit=2**24)
    try:
        host = f"127.0.0.1:{upstream.port}"
        await tunnel(reader, writer, host, None)
        end = End(reader, writer, ConnectionType.CLIENT)
        end.send(Request(host=host, target=f"/v1/responses?{token}"))
        async with asyncio.timeout(PATIENCE):
            if not isinstance(await end.hear(), AcceptConnection):
                raise ConnectionError("the upgrade was refused")
        books.answered("responses")
        books.asked["responses, WebSocket"] += 1
        books.called("responses", statuses, certain=not (leaves or breaks))
        if leaves or breaks:
            books.faults["WebSocket: client leaves" if leaves else "WebSocket: connection ends"] += 1
        for frame in recording.frames:
            if frame.from_client:
                end.send(TextMessage(frame.text))
        if leaves:
            leave(writer, resets=True)
            return
        expected = [frame.text for frame in frames_in(recording.after or b"") if not frame.from_client]
        got: list[str] = []
        async with asyncio.timeout(PATIENCE):
            while len(got) < len(expected):
                frame_text = await end.text()
                # A second one is a keep-alive.
                if frame_text in expected or json.loads(frame_text)["type"] != "response.in_progress":
                    got.append(frame_text)
        if got != expected:
            books.complain(f"WebSocket, {recording.name}", f"{got}, expected {expected}", wrong=1)
        else:
            books.calls += len(delivered(recording))
        end.send(CloseConnection(1000))
        async with asyncio.timeout(PATIENCE):
            await end.hear()
    except (*TROUBLE, ProtocolError, StopAsyncIteration) as trouble:
        if not breaks:
            books.complain("WebSocket", f"the conversation broke: {trouble!r}", lost=1)
    finally:
        writer.close()
