"""Slow and silent peers: stalls, drips, half-closed connections, clients that leave or do not read."""

from __future__ import annotations

import asyncio
import json
import socket

import pytest

from .client import BROKEN, COMPLETE, Asked
from .stage import Stage
from .streams import BROKEN as BROKEN_ARGUMENTS
from .streams import DONE, PROTOCOLS, RIGHT, chat, chat_part, stream
from .upstream import Line, framed

MIB = 2**20


def arguments(protocol: str, body: bytes | bytearray) -> list[object]:
    return [json.loads(text) for _, text in PROTOCOLS[protocol].calls(bytes(body))]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_came_before_a_stall_is_there_others_go_on_and_afterwards_the_answer_is_right(
    protocol: str, stage: Stage
) -> None:
    events = stream(protocol, "a broken call")
    spoken = PROTOCOLS[protocol]

    async def stalls() -> None:
        for number in range(1, len(events)):
            said = b"".join(events[:number])
            out = b"".join(spoken.answer().feed(said))
            go_on = asyncio.Event()

            async def play(line: Line, said: bytes = said, go_on: asyncio.Event = go_on) -> None:
                await line.head()
                await line.chunk(said)
                await go_on.wait()
                await line.chunk(b"".join(events)[len(said) :])
                await line.end()

            asked = await stage.ask(play, protocol)
            assert await asked.has(len(out))
            await stage.works(protocol)
            assert (asked.end, bytes(asked.body)) == ("", out), "the stall is the upstream's: nothing is made up"
            go_on.set()
            await asked.over()
            assert asked.end == COMPLETE
            assert arguments(protocol, asked.body) == [RIGHT]

    stage.run(stalls())


def test_a_client_that_gives_up_on_a_stalled_upstream_leaves_nothing_behind(stage: Stage) -> None:
    events = stream("chat", "a broken call")

    async def give_up() -> None:
        broken = await stage.metric("toolfix_broken_total")

        async def one() -> None:
            hung_up = asyncio.Event()

            async def play(line: Line) -> None:
                await line.head()
                for event in events[:2]:
                    await line.chunk(event)
                await line.gone()
                hung_up.set()

            asked = await stage.ask(play)
            assert await asked.has(len(events[0]))
            asked.hang_up()
            await hung_up.wait()

        await asyncio.gather(*(one() for _ in range(50)))
        await stage.settled()
        assert await stage.metric("toolfix_broken_total") - broken == 50
        assert await stage.metric("toolfix_held_bytes") == 0

    stage.run(give_up())


@pytest.mark.parametrize("protocol", ["chat", "messages", "responses"])
def test_an_upstream_that_half_closes_behind_its_last_byte_has_ended_its_answer(protocol: str, stage: Stage) -> None:
    """The call is complete and its end was never said: it comes out all the same."""
    events = stream(protocol, "a broken call")
    said = b"".join(events[:-1] if protocol != "chat" else events[:-2])
    answer = PROTOCOLS[protocol].answer()
    expected = b"".join([*answer.feed(said), *answer.close()])

    async def play(line: Line) -> None:
        await line.head("connection: close")
        await line.raw(said)
        line.half_close()
        await line.gone()

    got = stage.run(stage.answer(play, protocol))
    assert (got.end, bytes(got.body)) == (COMPLETE, expected)
    assert arguments(protocol, got.body) == [RIGHT]


def test_a_client_that_half_closes_is_treated_as_by_mitmproxy_alone(stage: Stage) -> None:
    """mitmproxy takes it for a disconnect and closes both sides; what matters is that nothing hangs or stays."""
    hung_up = asyncio.Event()
    events = stream("chat", "a broken call")

    async def play(line: Line) -> None:
        await line.head()
        for event in events[:2]:
            await line.chunk(event)
        await line.gone()
        hung_up.set()

    async def half_close() -> Asked:
        asked = await stage.ask(play)
        assert await asked.has(len(events[0]))
        asked.writer.write_eof()
        await hung_up.wait()
        return await asked.over()

    got = stage.run(half_close())
    assert (got.end, bytes(got.body)) == (BROKEN, events[0])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_drip_of_one_byte_gives_the_same_answer(protocol: str, stage: Stage) -> None:
    events = stream(protocol, "a broken call")
    answer = PROTOCOLS[protocol].answer()
    expected = b"".join([*answer.feed(b"".join(events)), *answer.close()])

    async def play(line: Line) -> None:
        line.writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await line.head()
        for byte in b"".join(events):
            await line.chunk(bytes([byte]))
            await asyncio.sleep(0)
        await line.end()

    async def drip() -> Asked:
        # On a busy machine the drip takes seconds, and a client that waits so long for a call gets a keep-alive event.
        await stage.probe(stopped=True)
        try:
            return await stage.answer(play, protocol)
        finally:
            await stage.probe(stopped=False)

    got = stage.run(drip())
    assert (got.end, bytes(got.body)) == (COMPLETE, expected)
    assert arguments(protocol, got.body) == [RIGHT]


def test_ten_thousand_tiny_chunks_in_one_write_are_one_call(stage: Stage) -> None:
    """Nearly all of them are swallowed, and none of them may end the answer."""
    command = "x" * 10_000
    broken = BROKEN_ARGUMENTS.replace("ls", command)
    parts = [chat({"content": "Hi."}), chat_part("", "Bash"), *map(chat_part, broken)]
    parts += [chat({}, "tool_calls"), DONE]
    burst = b"".join(map(framed, parts))

    async def play(line: Line) -> None:
        await line.head()
        await line.raw(burst)
        await line.end()

    got = stage.run(stage.answer(play))
    assert len(parts) > 10_000
    assert got.end == COMPLETE
    assert arguments("chat", got.body) == [{**RIGHT, "command": command}]


def test_ten_thousand_chunks_of_one_byte_in_one_write_pass_as_they_came(stage: Stage) -> None:
    body = b"".join(chat({"content": f"{number} 渐变"}) for number in range(150))[:10_000]
    burst = b"".join(framed(body[at : at + 1]) for at in range(len(body)))

    async def play(line: Line) -> None:
        await line.head()
        await line.raw(burst)
        await line.end()

    got = stage.run(stage.answer(play))
    assert (got.end, bytes(got.body)) == (COMPLETE, body)


@pytest.mark.parametrize("kind", ["a text", "a broken call"])
def test_a_client_that_disconnects_at_any_event_leaves_nothing_behind(kind: str, stage: Stage) -> None:
    async def leave() -> None:
        broken = await stage.metric("toolfix_broken_total")
        number = 0
        for protocol, spoken in PROTOCOLS.items():
            events = stream(protocol, kind)
            for count in range(1, len(events)):
                said = b"".join(events[:count])
                out = b"".join(spoken.answer().feed(said))
                hung_up = asyncio.Event()

                async def play(line: Line, said: bytes = said, hung_up: asyncio.Event = hung_up) -> None:
                    await line.head()
                    await line.chunk(said)
                    await line.gone()
                    hung_up.set()

                asked = await stage.ask(play, protocol)
                assert await asked.has(len(out))
                asked.hang_up()
                await hung_up.wait()
                number += 1
        await stage.settled()
        assert await stage.metric("toolfix_broken_total") - broken == number

    stage.run(leave())


def test_a_client_that_reads_slowly_slows_the_upstream_down_and_the_proxy_stays_small(stage: Stage) -> None:
    event = chat({"content": "x" * 60_000})
    count = 48 * MIB // len(event)
    lines: list[Line] = []

    async def play(line: Line) -> None:
        lines.append(line)
        await line.head()
        for _ in range(count):
            await line.chunk(event)
        await line.end()

    async def read_slowly() -> Asked:
        asked = await stage.ask(play, listen=False, keep=False)
        sent = -1
        # The others are the clock: while two rounds of them are served, not a byte more is taken.
        while not lines or sent < lines[0].sent:
            sent = lines[0].sent if lines else -1
            for _ in range(5):
                await stage.works()
        assert lines[0].sent < 24 * MIB, "the upstream was never slowed down"
        return await asked.listen().over()

    with stage.watched(200 * MIB):
        got = stage.run(read_slowly())
    assert (got.end, got.size) == (COMPLETE, count * len(event))
