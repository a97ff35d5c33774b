"""Too much of everything: the limits hold, the bytes pass as they came, and the proxy does not grow with them.

TOOLFIX_FAULTS_FULL=1 takes the sizes by their word on every protocol; otherwise only on Chat.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.sampling import WHOLE

from .client import COMPLETE, Asked
from .conftest import survived
from .stage import Stage
from .streams import BROKEN, DONE, VALID, chat, chat_part, messages_call, responses_call, stream
from .upstream import Line, Play

MIB = 2**20
FULL = bool(os.environ.get("TOOLFIX_FAULTS_FULL"))
KEPT = 1 * MIB
"""What is kept of one answer where nobody looks (guard.MAX_UNASKED)."""
AROUND = 60 * MIB
"""Socket buffers, what is on its way through mitmproxy, and what an allocator does not give back at once."""


@pytest.fixture(scope="module")
def small(confdir: Path) -> Iterator[Stage]:
    """A proxy that holds 1 MiB at most."""
    stage = Stage(confdir, ("--set", "toolfix_max_held_bytes=1MiB"))
    try:
        yield stage.start()
    finally:
        stage.stop()


def pour(pieces: Iterable[bytes], hashed: list[str]) -> Play:
    """Send pieces one by one, and remember the hash of all of them."""

    async def play(line: Line) -> None:
        known = hashlib.sha256()
        await line.head()
        for piece in pieces:
            known.update(piece)
            await line.chunk(piece)
        hashed.append(known.hexdigest())
        await line.end()

    return play


def passes(stage: Stage, pieces: Iterable[bytes], protocol: str = "chat", most: int = KEPT + AROUND) -> Asked:
    """Everything arrives as it came, and meanwhile the proxy grows by no more than this."""
    hashed: list[str] = []
    with stage.watched(most):
        got = stage.run(stage.answer(pour(pieces, hashed), protocol, keep=False))
    assert got.end == COMPLETE
    assert got.hash.hexdigest() == hashed[0]
    survived(stage)
    return got


def test_an_endless_event_passes_as_it_came_while_it_has_no_end(small: Stage) -> None:
    start = b'data: {"choices":[{"index":0,"delta":{"content":"'
    go_on = asyncio.Event()

    async def play(line: Line) -> None:
        await line.head()
        await line.chunk(start)
        while not go_on.is_set():
            await line.chunk(b"x" * 65_000)
        line.reset()

    async def endless() -> None:
        asked = await small.ask(play, keep=False)
        assert await asked.has(40 * MIB), "nothing reached the client"
        go_on.set()
        await asked.over()

    with small.watched(KEPT + AROUND):
        small.run(endless())
    survived(small)


@pytest.mark.parametrize("kind", ["text", "arguments"])
def test_100_mb_without_a_newline_pass_as_they_came(kind: str, stage: Stage) -> None:
    """With the limit that users have: the first 16 MiB are held, then all of it goes out."""
    start = chat({"content": ""}) if kind == "text" else chat_part("", "Bash")
    head = start.partition(b'""' if kind == "text" else b'"arguments":"')[0]

    def pieces() -> Iterator[bytes]:
        yield head + b'"'
        for _ in range(100):
            yield b"x" * 1_000_000

    got = passes(stage, pieces(), most=KEPT + AROUND + 3 * 16 * MIB)
    assert got.size > 100_000_000


def test_an_event_stream_of_nothing_but_line_feeds_passes_as_it_came(small: Stage) -> None:
    passes(small, (b"\n" * 65_536 for _ in range(160)))


MANY = {
    "chat": lambda text, number: chat_part(text, "Bash", number),
    "messages": lambda text, number: b"".join(messages_call(text, number)),
    "responses": lambda text, number: b"".join(responses_call(text, number)),
}


@pytest.mark.parametrize("arguments", [VALID, BROKEN], ids=["valid", "broken"])
@pytest.mark.parametrize("protocol", MANY)
def test_a_million_tool_calls_are_not_remembered_one_by_one(protocol: str, arguments: str, stage: Stage) -> None:
    """The first few hundred may be mended; the rest passes as it came, and costs what passing costs."""
    head = [] if protocol == "chat" else stream(protocol, "a text")[:1]
    count = 2_000
    ones = [MANY[protocol](arguments, number) for number in range(count)]
    last = b"".join(MANY[protocol](arguments, 9_999_999) for _ in range(500))
    # What is behind the limit is the same block again and again, so that it costs this process nothing to make it.
    wanted = 1_000_000 if FULL or protocol == "chat" else 100_000
    rounds = (wanted - count) // 500
    limited = stage.run(stage.metric("toolfix_limited_total"))
    calls = stage.run(stage.metric("toolfix_calls_total"))

    async def play(line: Line) -> None:
        await line.head()
        for said in head:
            await line.chunk(said)
        for start in range(0, count, 100):
            await line.chunk(b"".join(ones[start : start + 100]))
        for _ in range(rounds):
            await line.chunk(last)
        await line.end()

    with stage.watched(KEPT + AROUND):
        got = stage.run(stage.answer(play, protocol, keep=False))
    assert got.end == COMPLETE
    assert got.size >= rounds * len(last)
    assert stage.run(stage.metric("toolfix_limited_total")) == limited + 1
    assert stage.run(stage.metric("toolfix_calls_total")) <= calls + 500


@pytest.mark.parametrize("protocol", ["chat", "messages", "responses"])
def test_a_gigabyte_of_arguments_passes_as_it_came_once_the_limit_is_reached(protocol: str, small: Stage) -> None:
    """The fragments of one call, a megabyte each; the full gigabyte where it is asked for."""
    size = 1_000_000_000 if FULL or protocol == "chat" else 150_000_000
    start, fragment, end = fragments(protocol)
    count = size // len(fragment)

    async def play(line: Line) -> None:
        await line.head()
        await line.chunk(start)
        for _ in range(count):
            await line.chunk(fragment)
        await line.chunk(end)
        await line.end()

    with small.watched(KEPT + AROUND):
        got = small.run(small.answer(play, protocol, keep=False))
    assert got.end == COMPLETE
    # Only the answer's own start may have been completed on the way.
    assert 0 <= got.size - (len(start) + count * len(fragment) + len(end)) < 200
    survived(small)


def fragments(protocol: str) -> tuple[bytes, bytes, bytes]:
    """What comes before, a fragment of a megabyte, and the rest."""
    events = stream(protocol, "a broken call")
    number = {"chat": 2, "messages": 3, "responses": 3}[protocol]
    long = json.dumps("x" * 1_000_000)
    text = {"chat": '"arguments":', "messages": '"partial_json":', "responses": '"delta":'}[protocol]
    head = events[number].decode().rpartition(text)[0]
    tails = {"chat": "}}]}}]}\n\n", "messages": "}}\n\n", "responses": "}\n\n"}
    return b"".join(events[:number]), (head + text + long + tails[protocol]).encode(), b"".join(events[number + 1 :])


def test_a_gigabyte_in_a_million_fragments_is_held_no_longer_than_the_limit(small: Stage) -> None:
    """The same in pieces of a kilobyte: the limit is reached within a call that is gathered unread."""
    piece = chat_part("x" * 1_000) * 60
    passes(small, [chat_part("", "Bash"), *[piece] * (400 if WHOLE else 60), chat({}, "tool_calls"), DONE])
