"""Events and WebSocket messages that come twice, or in another order than they were sent."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from wsproto import ConnectionType
from wsproto.connection import Connection
from wsproto.events import CloseConnection, TextMessage

from .client import COMPLETE
from .stage import Stage
from .streams import PROTOCOLS, RIGHT, STREAMS, harmless, stream
from .upstream import Line, whole

ONE_TWICE = re.compile(r"event \d+ twice")


def disorders(events: list[bytes]) -> Iterator[tuple[str, list[bytes]]]:
    """Each event twice, each pair the wrong way round, everything twice, everything backwards."""
    for number in range(len(events)):
        yield f"event {number} twice", [*events[: number + 1], *events[number:]]
    for number in range(len(events) - 1):
        first, second = events[number : number + 2]
        yield f"event {number} late", [*events[:number], second, first, *events[number + 2 :]]
    yield "every event twice", [event for event in events for _ in range(2)]
    yield "the answer twice", events * 2
    yield "backwards", events[::-1]


@pytest.mark.parametrize(("protocol", "kind"), STREAMS, ids=str)
def test_events_that_come_twice_or_in_disorder_give_the_right_call_or_a_refusal(
    protocol: str, kind: str, stage: Stage
) -> None:
    spoken = PROTOCOLS[protocol]

    async def one(what: str, events: list[bytes]) -> list[object]:
        answer = spoken.answer()
        expected = b"".join([*answer.feed(b"".join(events)), *answer.close()])
        got = await stage.answer(whole(*events), protocol)
        # Event by event through the network, or at once in this process: the same bytes.
        assert (got.end, bytes(got.body)) == (COMPLETE, expected), what
        calls = spoken.calls(expected)
        assert harmless(calls), what
        assert len(calls) <= 1 or not ONE_TWICE.fullmatch(what), f"{what}: a call too many"
        return [json.loads(arguments) for name, arguments in calls if name]

    async def all_of_them() -> list[list[object]]:
        return await asyncio.gather(*(one(*disorder) for disorder in disorders(stream(protocol, kind))))

    failed = stage.run(stage.metric("toolfix_failed_open_total"))
    got = stage.run(all_of_them())
    assert stage.run(stage.metric("toolfix_failed_open_total")) == failed, "disorder is no reason to fail"
    right = [calls for calls in got if calls and calls[0] == RIGHT]
    assert bool(right) == ("call" in kind), "the call came through where the disorder did not concern it"


# WebSockets


def messages(kind: str = "a broken call") -> list[str]:
    """The answer as Codex gets it: one JSON text a message."""
    events = [json.loads(raw.partition(b"data: ")[2]) for raw in stream("responses", kind)]
    return [json.dumps({**event, "sequence_number": number}) for number, event in enumerate(events)]


def accepting(request: bytes) -> bytes:
    lines = request.decode("latin-1").split("\r\n")
    key = next(line.partition(":")[2].strip() for line in lines if line.lower().startswith("sec-websocket-key:"))
    digest = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
    accept = base64.b64encode(digest).decode()
    return (
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
        f"sec-websocket-accept: {accept}\r\n\r\n"
    ).encode()


class Talk:
    """One end of an open WebSocket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, kind: ConnectionType) -> None:
        self.reader = reader
        self.writer = writer
        # The handshake is made by hand; from here on it is an open connection.
        self.wire = Connection(kind)
        self._events: Iterator[Any] = iter(())

    def say(self, event: Any) -> None:
        self.writer.write(self.wire.send(event))

    async def hear(self) -> str | None:
        """The next message; None when the other side closes."""
        text = ""
        while True:
            for event in self._events:
                if isinstance(event, TextMessage):
                    text += event.data
                    if event.message_finished:
                        return text
                elif isinstance(event, CloseConnection):
                    return None
            data = await self.reader.read(65536)
            if not data:
                return None
            self.wire.receive_data(data)
            self._events = self.wire.events()


async def upgraded(stage: Stage, name: str) -> Talk:
    """A WebSocket through the proxy."""
    reader, writer = await asyncio.open_connection("127.0.0.1", stage.proxy.port)
    host = f"127.0.0.1:{stage.upstream.port}"
    upgrade = "upgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\n"
    key = "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    writer.write(f"GET http://{host}/{name}/v1/responses HTTP/1.1\r\nhost: {host}\r\n{upgrade}{key}\r\n".encode())
    assert b" 101 " in await reader.readuntil(b"\r\n\r\n")
    return Talk(reader, writer, ConnectionType.CLIENT)


async def over_websocket(stage: Stage, frames: list[str]) -> list[str]:
    """What the client gets of these messages of the upstream, until the last one."""
    name = f"socket{id(frames)}"

    async def play(line: Line) -> None:
        await line.raw(accepting(line.request))
        talk = Talk(line.reader, line.writer, ConnectionType.SERVER)
        await talk.hear()
        # In one write, the end of the connection included: the proxy reads all of it at once.
        burst = b"".join(talk.wire.send(TextMessage(frame)) for frame in frames)
        await line.raw(burst + talk.wire.send(CloseConnection(1000)))
        await line.gone()

    stage.upstream.plays[name] = play
    talk = await upgraded(stage, name)
    create = {**json.loads(PROTOCOLS["responses"].request()), "type": "response.create"}
    talk.say(TextMessage(json.dumps(create)))
    got: list[str] = []
    while (text := await talk.hear()) is not None:
        got.append(text)
    talk.writer.close()
    return got


@pytest.mark.parametrize("kind", ["a valid call", "a broken call"])
def test_websocket_messages_of_one_read_come_out_in_order_and_before_the_socket_closes(
    kind: str, stage: Stage
) -> None:
    """A call is several messages and takes the place of one; what follows in the same read must not overtake them."""
    got = [json.loads(text)["type"] for text in stage.run(over_websocket(stage, messages(kind)))]
    expected = [json.loads(text)["type"] for text in messages(kind)]
    expected.remove("response.function_call_arguments.delta")
    assert got == expected


def as_events(frames: list[str]) -> bytes:
    return b"".join(f"data: {frame}\n\n".encode() for frame in frames)


def test_websocket_messages_that_come_twice_or_in_disorder_give_the_right_call_or_a_refusal(stage: Stage) -> None:
    spoken = PROTOCOLS["responses"]

    async def one(what: str, frames: list[str]) -> list[object]:
        calls = spoken.calls(as_events(await over_websocket(stage, frames)))
        assert harmless(calls), what
        return [json.loads(arguments) for name, arguments in calls if name]

    async def all_of_them() -> list[list[object]]:
        encoded = [frame.encode() for frame in messages()]
        cases = [(what, [frame.decode() for frame in frames]) for what, frames in disorders(encoded)]
        return [await one(*case) for case in cases]

    usual = stage.run(over_websocket(stage, messages()))
    assert [json.loads(text) for _, text in spoken.calls(as_events(usual))] == [RIGHT]
    got = stage.run(all_of_them())
    assert sum(calls == [RIGHT] for calls in got) >= 8, "the call came through where the disorder did not concern it"


def test_a_websocket_that_breaks_at_any_message_leaves_nothing_behind(stage: Stage) -> None:
    async def broken_off() -> None:
        frames = messages()
        for count in range(len(frames)):
            # Without the last message no call is complete: none may reach the client.
            got = await over_websocket(stage, frames[:count])
            assert harmless(PROTOCOLS["responses"].calls(as_events(got)))
        await stage.settled()

    stage.run(broken_off())
