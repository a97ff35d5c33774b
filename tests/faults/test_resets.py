"""The upstream resets or ends the connection at every byte of its answer."""

from __future__ import annotations

import asyncio
import json
import os

import pytest

from tests.sampling import WHOLE

from .client import BROKEN, COMPLETE, Asked
from .stage import Stage
from .streams import PROTOCOLS, RIGHT, STREAMS, harmless, stream
from .upstream import Line

AT_ONCE = 40
FULL = bool(os.environ.get("TOOLFIX_FAULTS_FULL"))
EVERY_BYTE = [("chat", "a text"), ("chat", "a broken call"), ("messages", "a broken call")]
"""A connection costs 9 ms, so the others are broken off at and in the middle of every event, or in full."""


def places(protocol: str, kind: str) -> list[int]:
    events = stream(protocol, kind)
    if FULL or (protocol, kind) in EVERY_BYTE:
        return list(range(sum(map(len, events)) + 1))
    ends = [sum(map(len, events[:number])) for number in range(len(events) + 1)]
    return sorted({place for end in ends for place in (end, end - 1, end - 40) if place >= 0})


@pytest.mark.parametrize(("protocol", "kind"), STREAMS, ids=str)
def test_a_reset_at_any_byte_leaves_the_client_what_had_gone_out_and_a_broken_transfer(
    protocol: str, kind: str, stage: Stage
) -> None:
    body = b"".join(stream(protocol, kind))
    spoken = PROTOCOLS[protocol]
    gate = asyncio.Semaphore(AT_ONCE)

    async def reset_at(place: int) -> None:
        expected = b"".join(spoken.answer().feed(body[:place])) if place else b""
        asked: asyncio.Future[Asked] = asyncio.get_running_loop().create_future()

        async def play(line: Line) -> None:
            await line.head()
            await line.chunk(body[:place])
            # Only when the client has everything that can be out by now: what it has then is certain.
            await (await asked).has(len(expected))
            line.reset()

        async with gate:
            asked.set_result(await stage.ask(play, protocol))
            got = await (await asked).over()
        assert (got.end, bytes(got.body)) == (BROKEN, expected), f"reset after {place} bytes"
        assert harmless(spoken.calls(expected))

    async def every_place() -> None:
        broken = await stage.metric("toolfix_broken_total")
        await asyncio.gather(*map(reset_at, places(protocol, kind)))
        assert await stage.metric("toolfix_broken_total") - broken == len(places(protocol, kind))

    stage.run(every_place())


@pytest.mark.parametrize(("protocol", "kind"), STREAMS, ids=str)
def test_an_answer_that_ends_at_any_byte_never_turns_half_a_call_into_a_call(protocol: str, kind: str) -> None:
    body = b"".join(stream(protocol, kind))
    spoken = PROTOCOLS[protocol]
    for place in range(len(body) + 1):
        answer = spoken.answer()
        sent = [*answer.feed(body[:place]), *answer.close()]
        assert all(sent), "an empty chunk ends a chunked answer"
        assert answer.failure is None
        assert answer.held_bytes == 0
        assert harmless(spoken.calls(b"".join(sent))), f"ended after {place} bytes"
        assert not answer.close(), "closed twice"
    assert [json.loads(text) for _, text in spoken.calls(b"".join(sent))] == ([RIGHT] if "call" in kind else [])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_connection_that_ends_in_mid_answer_is_no_end_where_the_framing_promised_more(
    protocol: str, stage: Stage
) -> None:
    """With a body that lasts until the connection ends, it is the end, and the engine says how it ends."""
    events = stream(protocol, "a broken call")
    ends = [b"".join(events[:number]) for number in range(1, len(events))]
    spoken = PROTOCOLS[protocol]

    async def ended_after(said: bytes, framing: str) -> None:
        async def play(line: Line) -> None:
            await line.head(framing)
            await (line.chunk(said) if "chunked" in framing else line.raw(said))
            line.writer.close()

        got = await stage.answer(play, protocol)
        answer = spoken.answer()
        before = b"".join(answer.feed(said))
        if "close" in framing:
            assert (got.end, bytes(got.body)) == (COMPLETE, before + b"".join(answer.close()))
        else:
            assert (got.end, bytes(got.body)) == (BROKEN, before)
        assert harmless(spoken.calls(bytes(got.body)))

    async def all_of_them() -> None:
        framings = ("transfer-encoding: chunked", "content-length: 99999", "connection: close")
        await asyncio.gather(
            *(
                ended_after(said, framing)
                for number, said in enumerate(ends)
                for framing in (framings if WHOLE else framings[number % 3 :: 3])
            )
        )

    stage.run(all_of_them())
