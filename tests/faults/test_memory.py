"""Bodies and messages that nobody mends, in any size: they pass as they came, and the proxy does not keep them.

TOOLFIX_FAULTS_FULL=1 plays 600 MiB each, as in the table of docs/evidence.md; otherwise 100 MiB.
"""

from __future__ import annotations

import asyncio
import json
import os

import pytest
from wsproto import ConnectionType
from wsproto.events import CloseConnection, TextMessage

from .client import COMPLETE, Asked
from .stage import Stage
from .streams import PROTOCOLS, chat, stream
from .test_frames import Talk, accepting
from .upstream import Line

MIB = 2**20
FULL = bool(os.environ.get("TOOLFIX_FAULTS_FULL"))
SIZE = (600 if FULL else 100) * MIB
AROUND = 60 * MIB
"""Socket buffers, what is on its way through mitmproxy, and what an allocator does not give back at once."""
BUFFERED = 32 * MIB
"""What mitmproxy may gather of a body before it lets it stream; it has it several times over while it does."""
PIECE = b"x" * MIB


async def pour(line: Line, head: str, body: int = SIZE) -> None:
    await line.raw(f"HTTP/1.1 {head}\r\ntransfer-encoding: chunked\r\n\r\n".encode())
    for _ in range(body // MIB):
        await line.chunk(PIECE)
    await line.end()


NOT_MENDED = {
    "an error": ("500 Oops\r\ncontent-type: application/json", AROUND),
    "an unknown encoding": ("200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: rot13", AROUND),
}


@pytest.mark.parametrize("name", NOT_MENDED)
def test_an_answer_to_a_streamed_request_that_is_not_mended_streams(name: str, stage: Stage) -> None:
    head, most = NOT_MENDED[name]
    seen: list[Line] = []

    async def play(line: Line) -> None:
        seen.append(line)
        await pour(line, head)

    with stage.watched(most):
        got = stage.run(stage.answer(play, keep=False))
    assert (got.end, got.size) == (COMPLETE, SIZE)


def test_what_is_not_mended_is_not_late(stage: Stage) -> None:
    """An error and an answer that nobody can decode arrive while they are being sent."""

    async def one(head: str) -> None:
        arrived: asyncio.Future[Asked] = stage.future()

        async def play(line: Line) -> None:
            await line.raw(f"HTTP/1.1 {head}\r\ntransfer-encoding: chunked\r\n\r\n".encode())
            await line.chunk(b"first")
            assert await (await arrived).has(5)
            await line.chunk(b"second")
            await line.end()

        asked = await stage.ask(play)
        arrived.set_result(asked)
        assert bytes((await asked.over()).body) == b"firstsecond"

    for head, _ in NOT_MENDED.values():
        stage.run(one(head))


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/files"], ids=["a document", "a path of nobody's"])
def test_a_body_that_is_gathered_streams_when_it_is_too_large(path: str, stage: Stage) -> None:
    async def play(line: Line) -> None:
        await pour(line, "200 OK\r\ncontent-type: application/json")

    with stage.watched(AROUND + 5 * BUFFERED):
        got = stage.run(stage.answer(play, path=path, body=PROTOCOLS["chat"].request(stream=False), keep=False))
    assert (got.end, got.size) == (COMPLETE, SIZE)


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/files"], ids=["ours", "a path of nobody's"])
def test_a_request_that_is_too_large_passes_as_it_came_and_its_answer_is_not_late(path: str, stage: Stage) -> None:
    events = stream("chat", "a broken call")
    size = (400 if FULL else 100) * MIB

    async def play(line: Line) -> None:
        await line.head()
        await line.chunk(b"".join(events))
        await line.end()

    async def upload() -> Asked:
        asked = await stage.ask(play, path=path, body=b"", length=size, listen=False)
        for _ in range(size // MIB):
            asked.writer.write(PIECE)
            await asked.writer.drain()
        return await asked.listen().over()

    with stage.watched(AROUND + 5 * BUFFERED):
        got = stage.run(upload())
    assert (got.end, bytes(got.body)) == (COMPLETE, b"".join(events)), "nobody knows what was asked"


def test_the_messages_of_a_websocket_are_not_kept(stage: Stage) -> None:
    count = (300 if FULL else 60) * MIB // 60_000
    text = json.dumps({"type": "codex.chatter", "text": "x" * 60_000})
    # mitmproxy reads on while its hooks run: no more than so many are on their way, so that its queue stays short.
    under_way = asyncio.Semaphore(20)

    async def play(line: Line) -> None:
        await line.raw(accepting(line.request))
        talk = Talk(line.reader, line.writer, ConnectionType.SERVER)
        await talk.hear()
        for _ in range(count):
            await under_way.acquire()
            talk.say(TextMessage(text))
            await line.writer.drain()
        talk.say(CloseConnection(1000))
        await line.gone()

    async def listen() -> int:
        stage.upstream.plays["chatter"] = play
        reader, writer = await asyncio.open_connection("127.0.0.1", stage.proxy.port, limit=2**20)
        host = f"127.0.0.1:{stage.upstream.port}"
        upgrade = "upgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\n"
        key = "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        writer.write(
            f"GET http://{host}/chatter/v1/responses HTTP/1.1\r\nhost: {host}\r\n{upgrade}{key}\r\n".encode()
        )
        assert b" 101 " in await reader.readuntil(b"\r\n\r\n")
        talk = Talk(reader, writer, ConnectionType.CLIENT)
        talk.say(TextMessage(json.dumps({"type": "response.create", "input": "Go on."})))
        heard = 0
        while await talk.hear() is not None:
            heard += 1
            under_way.release()
        writer.close()
        return heard

    with stage.watched(AROUND // 2):
        assert stage.run(listen()) == count


def test_refusals_with_long_ids_are_not_remembered_one_by_one(stage: Stage) -> None:
    """A thousand refused calls, whose ids alone are 60 MB (and 600 in full)."""

    def part(number: int, arguments: str, name: str = "") -> bytes:
        head = {"id": f"{number}{'x' * 60_000}", "type": "function"} if name else {}
        function = {"name": name, "arguments": arguments} if name else {"arguments": arguments}
        return chat({"tool_calls": [{"index": number, **head, "function": function}]})

    async def refused() -> None:
        for _ in range(100 if FULL else 10):
            calls = [part(number, '{"command": "l', "Bash") for number in range(100)]

            async def play(line: Line, calls: list[bytes] = calls) -> None:
                await line.head()
                for call in calls:
                    await line.chunk(call)
                await line.chunk(chat({}, "length"))
                await line.end()

            assert (await stage.answer(play, keep=False)).end == COMPLETE

    with stage.watched(AROUND):
        stage.run(refused())
