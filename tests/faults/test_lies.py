"""Upstreams that lie: about lengths, about encodings, about what is text, about how deep a thing can be."""

from __future__ import annotations

import asyncio
import json
import zlib

import pytest

from .client import BROKEN, COMPLETE, Asked
from .stage import Stage
from .streams import BROKEN as BROKEN_ARGUMENTS
from .streams import PROTOCOLS, RIGHT, stream
from .upstream import Line, Play, whole


def arguments(body: bytes | bytearray, protocol: str = "chat") -> list[object]:
    return [json.loads(text) for _, text in PROTOCOLS[protocol].calls(bytes(body))]


def with_length(body: bytes, *fields: str) -> Play:
    """A body under these headers, and then the end of the connection."""

    async def play(line: Line) -> None:
        await line.head(*fields)
        await line.raw(body)
        line.writer.close()

    return play


# Content-Length


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_content_length_that_is_right_does_not_cut_the_mended_answer(protocol: str, stage: Stage) -> None:
    body = b"".join(stream(protocol, "a broken call"))
    got = stage.run(stage.answer(with_length(body, f"content-length: {len(body)}"), protocol))
    assert got.end == COMPLETE
    assert arguments(got.body, protocol) == [RIGHT]


def test_a_content_length_that_promises_more_is_a_broken_transfer(stage: Stage) -> None:
    events = stream("chat", "a broken call")
    body = b"".join(events)
    got = stage.run(stage.answer(with_length(body, f"content-length: {len(body) + 10}")))
    assert got.end == BROKEN
    assert arguments(got.body) == [RIGHT], "what had come was whole"
    half = b"".join(events[:2])
    got = stage.run(stage.answer(with_length(half, f"content-length: {len(body)}")))
    assert (got.end, bytes(got.body)) == (BROKEN, events[0])


def test_a_content_length_that_is_too_short_ends_the_answer_there(stage: Stage) -> None:
    """Where HTTP says that the body ends it ends: half a call is refused, and no byte behind it is taken for more."""
    events = stream("chat", "a broken call")
    body = b"".join(events)
    for cut in range(len(events[0]), len(body), 23):
        answer = PROTOCOLS["chat"].answer()
        expected = b"".join([*answer.feed(body[:cut]), *answer.close()])
        got = stage.run(stage.answer(with_length(body, f"content-length: {cut}")))
        assert (got.end, bytes(got.body)) == (COMPLETE, expected)
    assert arguments(got.body) == [RIGHT]


@pytest.mark.parametrize(
    "fields",
    [
        ("content-length: 5", "content-length: 7"),
        ("content-length: -1",),
        ("content-length: many",),
        ("content-length: 10", "transfer-encoding: chunked"),
    ],
    ids=" and ".join,
)
def test_lengths_that_make_no_sense_are_refused_by_mitmproxy_and_reach_no_engine(
    fields: tuple[str, ...], stage: Stage
) -> None:
    body = b"".join(stream("chat", "a broken call"))
    got = stage.run(stage.answer(with_length(body, *fields)))
    assert got.status == 502, "the upstream's failure, told in mitmproxy's words"


# Encodings


@pytest.mark.parametrize("kind", ["a text", "a broken call"])
@pytest.mark.parametrize("pause", [False, True], ids=["in one write", "event by event"])
def test_gzip_that_is_corrupt_in_the_middle_passes_from_there_as_it_came(
    kind: str, pause: bool, stage: Stage
) -> None:
    """What could be read before went out in the clear; the events behind it are the upstream's own garbage."""
    events = stream("chat", kind)
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    packed = [packer.compress(said) + packer.flush(zlib.Z_SYNC_FLUSH) for said in events]
    rest = b"\xff" * 40 + packed[2]

    def play(asked: asyncio.Future[Asked]) -> Play:
        async def corrupt(line: Line) -> None:
            await line.head("transfer-encoding: chunked", "content-encoding: gzip")
            await line.chunk(packed[0])
            if pause:
                assert await (await asked).has(len(events[0]))
            await line.chunk(packed[1])
            await line.chunk(rest)
            await line.end()

        return corrupt

    async def ask() -> Asked:
        asked: asyncio.Future[Asked] = asyncio.get_running_loop().create_future()
        asked.set_result(await stage.ask(play(asked)))
        return await (await asked).over()

    said = stage.said("the body is not gzip, although its header says so")
    got = stage.run(ask())
    assert "content-encoding" not in got.headers
    assert (got.end, bytes(got.body)) == (COMPLETE, events[0] + events[1] + rest)
    stage.run(stage.hears("the body is not gzip, although its header says so", said + 1))


def test_a_corrupt_document_passes_as_it_came(stage: Stage) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "Bash", "arguments": BROKEN_ARGUMENTS}}
    choice = {"index": 0, "message": {"role": "assistant", "tool_calls": [call]}, "finish_reason": "stop"}
    packed = bytearray(zlib.compress(json.dumps({"choices": [choice]}).encode(), wbits=31))
    packed[20] ^= 0xFF
    play = with_length(bytes(packed), f"content-length: {len(packed)}", "content-encoding: gzip")
    got = stage.run(stage.answer(play, body=PROTOCOLS["chat"].request(stream=False)))
    assert (got.end, got.body) == (COMPLETE, packed)
    assert got.headers["content-encoding"] == "gzip"


# What is no text


def test_invalid_utf_8_in_text_passes_and_beside_a_call_does_not_hinder_it(stage: Stage) -> None:
    bad = b'data: {"choices":[{"index":0,"delta":{"content":"not UTF-8: \xff\xc3 \xed\xa0\x80"}}]}\n\n'
    events = stream("chat", "a broken call")
    got = stage.run(stage.answer(whole(bad, events[0], events[1], bad, *events[2:])))
    assert got.end == COMPLETE
    assert got.body.count(bad) == 2
    usual = stage.run(stage.answer(whole(*events)))
    assert got.body.replace(bad, b"") == usual.body


@pytest.mark.parametrize("bad", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80"], ids=repr)
def test_invalid_utf_8_inside_arguments_becomes_what_every_client_reads_in_its_place(
    bad: bytes, stage: Stage
) -> None:
    events = [said.replace(b"'ls'", b"'ls " + bad + b"'") for said in stream("chat", "a broken call")]
    got = stage.run(stage.answer(whole(*events)))
    assert arguments(got.body) == [{**RIGHT, "command": "ls " + bad.decode("utf-8", "replace")}]


# Depth

DEEP = 5_000
"""Far too deep, and few enough parts (`sizes.MOST_BROKEN`) that the arguments are still read."""


@pytest.mark.parametrize("unit", ["[", '{"a":', "[{'a':"])
@pytest.mark.parametrize("protocol", ["chat", "messages", "responses"])
def test_arguments_that_are_nested_too_deep_are_refused(protocol: str, unit: str, stage: Stage) -> None:
    deep = '{"command": "ls", "background": ' + unit * DEEP
    spoken = PROTOCOLS[protocol]
    events = spoken.write("Hi.", deep)
    got = stage.run(stage.answer(whole(*events), protocol))
    assert got.end == COMPLETE
    assert [text for _, text in spoken.calls(bytes(got.body))] == ["{}"]


def test_an_event_that_is_nested_too_deep_lets_the_answer_pass_as_it_came(stage: Stage) -> None:
    deep = b'data: {"choices":[{"index":0,"delta":{"tool_calls":' + b"[" * DEEP + b"\n\n"
    events = stream("chat", "a broken call")
    sent = [*events[:2], deep, *events[2:]]
    got = stage.run(stage.answer(whole(*sent)))
    assert got.end == COMPLETE
    assert arguments(got.body.replace(deep, b"")) == [RIGHT]
    assert deep in got.body


def test_a_request_that_is_nested_too_deep_goes_up_as_it_came(stage: Stage) -> None:
    deep = PROTOCOLS["chat"].request()[:-1] + b',"deep":' + b"[" * DEEP + b"]" * DEEP + b"}"
    seen: list[bytes] = []
    body = b"".join(stream("chat", "a text"))

    async def play(line: Line) -> None:
        seen.append(line.request)
        await whole(body)(line)

    got = stage.run(stage.answer(play, body=deep))
    assert (got.end, bytes(got.body)) == (COMPLETE, body)
    assert seen[0].endswith(b"\r\n\r\n" + deep)


def test_a_document_that_is_nested_too_deep_passes_as_it_came(stage: Stage) -> None:
    deep = b'{"choices":[{"message":{"tool_calls":' + b"[" * DEEP
    play = with_length(deep, f"content-length: {len(deep)}")
    got = stage.run(stage.answer(play, body=PROTOCOLS["chat"].request(stream=False)))
    assert (got.end, bytes(got.body)) == (COMPLETE, deep)
