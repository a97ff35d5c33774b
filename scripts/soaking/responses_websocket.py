"""Responses over WebSockets, as Codex uses it: an upstream and a client for the soak.

One connection has several turns. The client's frame contains a token, and the upstream answers with the frames that
wait for this token.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Iterator
from typing import Any

from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Event, Request, TextMessage
from wsproto.utilities import ProtocolError

from .accounting import Books
from .client import PATIENCE, TROUBLE, leave, tunnel
from .made_up import BROKEN, DECLARED, TOOL, Broken, meant, written
from .reading import Call, calls_of

MOST_TURNS = 12
LEAVES = 0.04
"""How often one side disconnects in mid-turn."""


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
    """An upstream that answers a frame with the frames that wait for its token."""

    def __init__(self) -> None:
        self.waiting: dict[str, tuple[list[str], bool]] = {}
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
            if isinstance(await end.hear(), Request):
                end.send(AcceptConnection())
            while isinstance(event := await end.hear(), TextMessage):
                frames, breaks = self.waiting.pop(json.loads(event.data)["input"])
                for frame in frames[: len(frames) // 2 if breaks else None]:
                    end.send(TextMessage(frame))
                await writer.drain()
                if breaks:
                    writer.transport.abort()
                    return
            if isinstance(event, CloseConnection):
                end.send(event.response())
        except (*TROUBLE, ProtocolError):
            pass
        finally:
            writer.close()


async def converse(
    proxy: int, upstream: SocketUpstream, chance: random.Random, tokens: Iterator[str], books: Books
) -> None:
    """Open one connection with some turns, and count them in the books."""
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy, limit=2**24)
    try:
        host = f"127.0.0.1:{upstream.port}"
        await tunnel(reader, writer, host, None)
        end = End(reader, writer, ConnectionType.CLIENT)
        end.send(Request(host=host, target="/v1/responses"))
        async with asyncio.timeout(PATIENCE):
            if not isinstance(await end.hear(), AcceptConnection):
                raise ConnectionError("the upgrade was refused")
        books.answered("responses")
        for number in range(chance.randint(1, MOST_TURNS)):
            if not await _turn(end, upstream, chance, next(tokens), books, number == 0):
                return
        end.send(CloseConnection(1000))
        async with asyncio.timeout(PATIENCE):
            await end.hear()
    except (*TROUBLE, ProtocolError, StopAsyncIteration) as trouble:
        books.complain("WebSocket", f"the conversation broke: {trouble!r}", lost=1)
    finally:
        writer.close()


async def _turn(
    end: End, upstream: SocketUpstream, chance: random.Random, token: str, books: Books, first: bool
) -> bool:
    """Ask for one answer; False if the connection is over after it."""
    broken = chance.choice(BROKEN)
    frames = [_data(event) for event in written(broken, "responses", token)]
    breaks, leaves = chance.random() < LEAVES, chance.random() < LEAVES
    upstream.waiting[token] = (frames, breaks)
    asked: dict[str, Any] = {"type": "response.create", "model": "m", "input": token}
    if first:
        asked["tools"] = [DECLARED["responses"]]
    end.send(TextMessage(json.dumps(asked)))
    books.asked["responses, WebSocket"] += 1
    if leaves or breaks:
        books.faults["WebSocket: client leaves" if leaves else "WebSocket: connection ends"] += 1
        books.called("responses", [broken.status], certain=False)
    if leaves:
        await end.text()
        leave(end.writer, resets=True)
        return False
    got: list[str] = []
    try:
        async with asyncio.timeout(PATIENCE):
            while not got or not _ends(got[-1]):
                got.append(await end.text())
    except (*TROUBLE, StopAsyncIteration):
        if breaks:
            return False
        raise
    _judge(broken, token, got, books)
    return not breaks


def _judge(broken: Broken, token: str, got: list[str], books: Books) -> None:
    books.called("responses", [broken.status], certain=True)
    expected = [Call(TOOL, broken.mended(meant(token)))]
    try:
        calls = calls_of("responses", "".join(f"data: {frame}\n\n" for frame in got).encode())
    except ValueError as error:
        books.complain(f"WebSocket, {broken.name}", f"a client cannot read it: {error}", wrong=1)
        return
    if calls != expected:
        books.complain(f"WebSocket, {broken.name}", f"{calls}, expected {expected}", wrong=1)
    else:
        books.calls += 1


def _data(event: bytes) -> str:
    return event.partition(b"data: ")[2].strip().decode()


def _ends(frame: str) -> bool:
    return json.loads(frame)["type"] in ("response.completed", "response.incomplete", "response.failed")
