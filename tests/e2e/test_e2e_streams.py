"""Bytes through the real proxy: untouched means identical and at once, swallowed never means ended."""

from __future__ import annotations

import json
import socket

import pytest

from tests.upstream import Play, Upstream
from toolcalls.cli.proxy_process import ProxyProcess

from .stage import (
    CHAT,
    DONE,
    EVENT_STREAM,
    MENDED,
    Clients,
    Lockstep,
    Plays,
    Way,
    arguments_of,
    broken_call,
    call_event,
    chat_event,
    request_body,
)

BOM = b"\xef\xbb\xbf"

ODDITIES = [
    BOM + b": a comment after a byte order mark\n\n",
    chat_event({"role": "assistant", "content": ""}),
    chat_event({"content": "line feeds, 渐变 🙂"}),
    chat_event({"content": "carriage returns and line feeds"}).replace(b"\n", b"\r\n"),
    chat_event({"content": "carriage returns"}).replace(b"\n", b"\r"),
    chat_event({"content": "no space"}).replace(b"data: ", b"data:"),
    chat_event({"content": "two spaces"}).replace(b"data: ", b"data:  "),
    b'event: message\nid: 7\ndata: {"id":"c","choices":\ndata: [{"index":0,"delta":{"content":"two lines"}}]}\n\n',
    b"data\n\n",
    b"id\nretry\nevent\n\n",
    b"retry: 3000\n\n",
    b": ping\n\n",
    b":\n\n",
    b"nonsense: field\nwithout a colon\n\n",
    b"\n\n",
    b"\r\n\r\n",
    chat_event({"content": "the word \"tool_calls\" and {'a': 1} in text"}),
    chat_event({"content": "null", "tool_calls": None}),
    chat_event({"content": "empty", "tool_calls": []}),
    b"data: not JSON at all\n\n",
    b'data: {"id":"c","choices":[{"index":0,"delta":{"content":"not UTF-8: \xff\xc3"}}]}\n\n',
    b"data: 1\n\n",
    chat_event({}, "stop"),
    b'data: {"id":"c","choices":[],"usage":{"total_tokens":3}}\n\n',
    b": the last event has no blank line\ndata: [DONE]",
]


def test_2000_text_events_arrive_identical_and_each_at_once(
    way: Way, plays: Plays, proxy: ProxyProcess, clients: Clients
) -> None:
    texts = [chat_event({"content": f"word {number} 渐变 "}) for number in range(2000)]
    events = [chat_event({"role": "assistant", "content": ""}), *texts, chat_event({}, "stop"), DONE]
    steps = Lockstep(events)
    plays.add("text", Play(steps, headers=EVENT_STREAM))
    received = clients.fetch(f"{way.upstream.url}/text{CHAT}", proxy, http2=way.http2, on_chunk=steps.arrived)
    assert not received.error
    assert received.body == b"".join(events)
    assert not steps.late, "an event waited for the next one"
    assert received.http_version == way.client_version
    assert plays.seen["text"].http_version == way.upstream_version


def test_every_oddity_of_the_event_stream_arrives_identical_and_at_once(
    way: Way, plays: Plays, proxy: ProxyProcess, clients: Clients
) -> None:
    # The last one is no complete event: it goes out at the end, which the upstream must not wait for.
    steps = Lockstep(ODDITIES, held=lambda chunk: chunk is ODDITIES[-1])
    plays.add("oddities", Play(steps, headers=EVENT_STREAM))
    received = clients.fetch(f"{way.upstream.url}/oddities{CHAT}", proxy, http2=way.http2, on_chunk=steps.arrived)
    assert received.body == b"".join(ODDITIES)
    assert not steps.late
    assert not received.error


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_every_oddity_arrives_identical_however_it_is_cut(
    size: int, way: Way, plays: Plays, proxy: ProxyProcess, clients: Clients
) -> None:
    body = b"".join(ODDITIES)
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    plays.add("cut", Play(pieces, headers=EVENT_STREAM))
    received = clients.fetch(f"{way.upstream.url}/cut{CHAT}", proxy, http2=way.http2)
    assert received.body == body
    assert not received.error


def test_text_is_not_late_while_a_call_is_held(way: Way, plays: Plays, proxy: ProxyProcess, clients: Clients) -> None:
    start, *fragments = broken_call(pieces=12)
    texts = [chat_event({"content": f"word {number} "}) for number in range(len(fragments))]
    mixed = [start, *(event for pair in zip(fragments, texts, strict=True) for event in pair)]
    end = [event for event in mixed if b'"finish_reason": "tool_calls"' in event or event == DONE]
    chunks = [event for event in mixed if event not in end] + end
    steps = Lockstep(chunks, held=lambda chunk: b'"tool_calls"' in chunk or chunk == DONE)
    plays.add("mixed", Play(steps, headers=EVENT_STREAM))
    received = clients.fetch(f"{way.upstream.url}/mixed{CHAT}", proxy, http2=way.http2, on_chunk=steps.arrived)
    assert not steps.late
    assert arguments_of(received.body) == [MENDED]
    assert received.body.count(b"word ") == len(texts)


def test_swallowed_chunks_do_not_end_the_answer(
    way: Way, plays: Plays, proxy: ProxyProcess, clients: Clients
) -> None:
    events = broken_call(pieces=30)
    plays.add("swallowed", Play(events, headers=EVENT_STREAM, pause=0.002))
    received = clients.fetch(f"{way.upstream.url}/swallowed{CHAT}", proxy, http2=way.http2)
    assert not received.error
    assert received.body.startswith(events[0])
    assert arguments_of(received.body) == [MENDED]
    assert received.body.endswith(chat_event({}, "tool_calls") + DONE)


def test_empty_frames_in_mid_call_do_not_end_the_call(
    way: Way, plays: Plays, proxy: ProxyProcess, clients: Clients
) -> None:
    """Over HTTP/2 the upstream really sends them; over HTTP/1.1 there is no such thing as an empty chunk."""
    chunks = [b""]
    for number, event in enumerate(broken_call(pieces=10)):
        middle = len(event) // 2
        chunks += [event[:middle], *[b""] * (number % 4), event[middle:], *[b""] * (number % 3)]
    plays.add("empty", Play(chunks, headers=EVENT_STREAM, pause=0.002))
    received = clients.fetch(f"{way.upstream.url}/empty{CHAT}", proxy, http2=way.http2)
    assert not received.error
    assert arguments_of(received.body) == [MENDED]
    assert received.body.endswith(chat_event({}, "tool_calls") + DONE)


def test_the_doubled_end_closes_an_answer_once(way: Way, plays: Plays, proxy: ProxyProcess, clients: Clients) -> None:
    """The stream ends after a complete call, without a finish: mitmproxy 11 tells us so twice over HTTP/2."""
    chunks = [chat_event({"role": "assistant", "content": ""}), call_event('{"command": "ls"}', "Bash"), b""]
    plays.add("end", Play(chunks, headers=EVENT_STREAM))
    received = clients.fetch(f"{way.upstream.url}/end{CHAT}", proxy, http2=way.http2)
    assert not received.error
    assert arguments_of(received.body) == [{"command": "ls"}]
    assert received.body.count(b"[DONE]") == 1
    assert received.body.count(b'"finish_reason":"tool_calls"') == 1


@pytest.mark.parametrize("events", [broken_call(), ODDITIES], ids=["a call", "text"])
def test_a_content_length_does_not_cut_what_is_longer_now(
    events: list[bytes], plays: Plays, upstream: Upstream, proxy: ProxyProcess, clients: Clients
) -> None:
    # Without its finish the answer grows on the way.
    body = b"".join(events[:-2] if b"Bash" in events[1] else events)
    plays.add("length", Play([body], headers=EVENT_STREAM, content_length=len(body)))
    received = clients.fetch(f"{upstream.url}/length{CHAT}", proxy)
    assert not received.error
    if events is ODDITIES:
        assert received.body == body
    else:
        assert arguments_of(received.body) == [MENDED]
        assert received.body.endswith(DONE)


def test_a_body_that_ends_with_the_connection_is_mended(
    plays: Plays, upstream: Upstream, proxy: ProxyProcess, clients: Clients
) -> None:
    plays.add("until-close", Play(broken_call()[:-2], headers=EVENT_STREAM, until_close=True))
    received = clients.fetch(f"{upstream.url}/until-close{CHAT}", proxy)
    assert not received.error
    assert arguments_of(received.body) == [MENDED]
    assert received.body.endswith(DONE)


@pytest.mark.parametrize("until_close", [False, True], ids=["chunked upstream", "closing upstream"])
def test_a_client_of_http_1_0_gets_a_body_without_chunks(
    until_close: bool, plays: Plays, plain_upstream: Upstream, proxy: ProxyProcess
) -> None:
    plays.add("old", Play(broken_call(), headers=EVENT_STREAM, until_close=until_close))
    body = request_body()
    head = f"POST {plain_upstream.url}/old{CHAT} HTTP/1.0\r\ncontent-length: {len(body)}\r\n\r\n"
    received = b""
    with socket.create_connection(("127.0.0.1", proxy.port), 10) as connection:
        connection.sendall(head.encode() + body)
        while piece := connection.recv(65536):
            received += piece
    headers, _, answer = received.partition(b"\r\n\r\n")
    assert b"transfer-encoding" not in headers.lower()
    assert answer.startswith(broken_call()[0])
    assert arguments_of(answer) == [MENDED]
    assert answer.endswith(DONE)


def test_plain_http_is_mended_whatever_the_host(
    plays: Plays, plain_upstream: Upstream, proxy: ProxyProcess, clients: Clients
) -> None:
    plays.add("plain", Play(broken_call(), headers=EVENT_STREAM))
    received = clients.fetch(f"{plain_upstream.url}/plain{CHAT}", proxy)
    assert arguments_of(received.body) == [MENDED]


def test_the_upstream_is_asked_for_an_identity_encoding(
    way: Way, plays: Plays, proxy: ProxyProcess, clients: Clients
) -> None:
    plays.add("asked", Play(broken_call(), headers=EVENT_STREAM))
    clients.fetch(f"{way.upstream.url}/asked{CHAT}", proxy, http2=way.http2, headers={"accept-encoding": "gzip, br"})
    assert plays.seen["asked"].headers["accept-encoding"] == "identity"
    clients.fetch(f"{way.upstream.url}/asked/v1/models", proxy, http2=way.http2, headers={"accept-encoding": "gzip"})
    assert plays.seen["asked"].headers["accept-encoding"] == "gzip"
    assert json.loads(plays.seen["asked"].body)["stream"] is True
