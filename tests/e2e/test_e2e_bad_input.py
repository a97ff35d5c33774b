"""What upstreams and clients get wrong: each a clean pass-through or a clear sentence, never a hanging client."""

from __future__ import annotations

import gzip
import json
import socket
import time
import zlib
from collections.abc import Callable

import brotli
import pytest

from scripts.shared import zstd_writer
from tests.upstream import Play, Upstream
from toolcalls.cli.proxy_process import ProxyProcess

from .stage import (
    CHAT,
    DOCUMENT,
    DONE,
    EVENT_STREAM,
    MENDED,
    Clients,
    Plays,
    Way,
    arguments_of,
    broken_call,
    broken_document,
    call_event,
    chat_event,
    request_body,
    wait_for,
)


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


ENCODINGS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "br": ("br", brotli.compress),
    "zstd": ("zstd", zstd_writer.compress),
    "deflate": ("deflate", zlib.compress),
    "raw deflate": ("deflate", raw_deflate),
}


def said(proxy: ProxyProcess, sentence: str) -> bool:
    """Does the log say so, now or soon?"""
    return wait_for(lambda: sentence in proxy.output)


def cut(body: bytes, size: int) -> list[bytes]:
    return [body[start : start + size] for start in range(0, len(body), size)]


# The request


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff\xfe not UTF-8", b"[1, 2]", b'{"stream": "yes", "tools": 7}', b"[" * 100_000],
    ids=["missing", "cut off", "not UTF-8", "no object", "wrong types", "too deep"],
)
def test_a_request_that_cannot_be_read_is_answered_and_mended(
    body: bytes, way: Way, plays: Plays, proxy: ProxyProcess, clients: Clients
) -> None:
    plays.add("unread", Play(broken_call(), headers=EVENT_STREAM))
    received = clients.fetch(f"{way.upstream.url}/unread{CHAT}", proxy, body, http2=way.http2)
    assert not received.error
    assert plays.seen["unread"].body == body
    assert arguments_of(received.body) == [MENDED]


@pytest.mark.parametrize("encoding", ["gzip", "zstd", "br"])
def test_a_compressed_request_is_read_and_sent_on_as_it_is(
    encoding: str, plays: Plays, upstream: Upstream, proxy: ProxyProcess, clients: Clients
) -> None:
    name, pack = ENCODINGS[encoding]
    body = pack(request_body())
    plays.add("packed", Play(broken_call(), headers=EVENT_STREAM))
    received = clients.fetch(f"{upstream.url}/packed{CHAT}", proxy, body, headers={"content-encoding": name})
    assert plays.seen["packed"].body == body
    assert arguments_of(received.body) == [MENDED]
    assert len(received.chunks) > 1, "the answer was not streamed: the request was not read"


def test_a_request_with_a_foreign_or_wrong_encoding_is_answered(
    plays: Plays, upstream: Upstream, proxy: ProxyProcess, clients: Clients
) -> None:
    plays.add("strange", Play(broken_call(), headers=EVENT_STREAM))
    for encoding in ("gzip", "compress", "no-such-encoding"):
        received = clients.fetch(f"{upstream.url}/strange{CHAT}", proxy, headers={"content-encoding": encoding})
        assert not received.error
        assert plays.seen["strange"].body == request_body()
        assert arguments_of(received.body) == [MENDED]


# The answer


def test_a_stream_that_is_not_utf_8_passes(way: Way, plays: Plays, proxy: ProxyProcess, clients: Clients) -> None:
    odd = b'data: {"id":"c","choices":[{"index":0,"delta":{"content":"\xff\xc3\xe6"}}]}\n\n'
    start, *call = broken_call()
    plays.add("latin", Play([start, odd, *call], headers=EVENT_STREAM))
    received = clients.fetch(f"{way.upstream.url}/latin{CHAT}", proxy, http2=way.http2)
    assert received.body.startswith(start + odd)
    assert arguments_of(received.body.replace(odd, b"")) == [MENDED]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "body",
    [
        b'{"choices":[{"message":{"content":"\xff","tool_calls":[]}}]}',
        b'{"choices":[{"message":{"tool_calls":[{"function":',
        b"[" * 100_000,
        b"plain text",
        b"<!DOCTYPE html><html><body>tool_calls</body></html>\n",
        b"",
    ],
    ids=["not UTF-8", "cut off", "too deep", "text", "HTML", "empty"],
)
def test_a_document_that_cannot_be_read_passes_as_it_came(
    body: bytes, stream: bool, way: Way, plays: Plays, proxy: ProxyProcess, clients: Clients
) -> None:
    plays.add("unreadable", Play([body], headers=DOCUMENT))
    received = clients.fetch(f"{way.upstream.url}/unreadable{CHAT}", proxy, request_body(stream), http2=way.http2)
    assert not received.error
    assert received.body == body


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "text/html", "application/octet-stream", ""])
def test_a_wrong_content_type_does_not_matter(
    kind: str, plays: Plays, upstream: Upstream, proxy: ProxyProcess, clients: Clients
) -> None:
    plays.add("kind", Play(broken_call(), headers={"content-type": kind} if kind else {}))
    received = clients.fetch(f"{upstream.url}/kind{CHAT}", proxy)
    assert arguments_of(received.body) == [MENDED]
    assert received.headers.get("content-type", "") == kind


def test_a_document_in_the_place_of_a_stream_is_mended(
    way: Way, plays: Plays, proxy: ProxyProcess, clients: Clients
) -> None:
    plays.add("instead", Play(cut(broken_document(), 50), headers=EVENT_STREAM))
    received = clients.fetch(f"{way.upstream.url}/instead{CHAT}", proxy, http2=way.http2)
    choice = json.loads(received.body)["choices"][0]
    assert json.loads(choice["message"]["tool_calls"][0]["function"]["arguments"]) == MENDED
    assert choice["finish_reason"] == "tool_calls"


def test_a_stream_that_was_not_asked_for_is_mended(
    way: Way, plays: Plays, proxy: ProxyProcess, clients: Clients
) -> None:
    plays.add("unasked", Play(broken_call(), headers=EVENT_STREAM))
    received = clients.fetch(f"{way.upstream.url}/unasked{CHAT}", proxy, request_body(False), http2=way.http2)
    assert arguments_of(received.body) == [MENDED]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("status", [400, 429, 500, 502])
def test_an_error_status_passes_with_its_headers(
    status: int, stream: bool, plays: Plays, upstream: Upstream, proxy: ProxyProcess, clients: Clients
) -> None:
    body = broken_document()
    headers = {**DOCUMENT, "retry-after": "7"}
    plays.add("status", Play([body], status, headers, content_length=len(body)))
    received = clients.fetch(f"{upstream.url}/status{CHAT}", proxy, request_body(stream))
    assert (received.status, received.body) == (status, body)
    assert received.headers == {**headers, "content-length": str(len(body))}


def test_an_sdk_sees_the_error_of_the_upstream(way: Way, plays: Plays, proxy: ProxyProcess, clients: Clients) -> None:
    plays.add("overloaded", Play([b'{"error":{"message":"overloaded","code":503}}'], 503, DOCUMENT))
    request = json.loads(request_body())
    base = f"{way.upstream.url}/overloaded/v1"
    answer = clients.ask("chat", base, proxy, http2=way.http2, stream=True, request=request)
    assert "InternalServerError" in answer["error"]
    assert "overloaded" in answer["error"]


# Broken connections


@pytest.mark.parametrize("until_close", [False, True], ids=["broken", "closed"])
def test_an_upstream_that_closes_in_mid_event(
    until_close: bool, plays: Plays, upstream: Upstream, proxy: ProxyProcess, clients: Clients
) -> None:
    whole = chat_event({"content": "all of it"})
    half = chat_event({"content": "half of it"})[:60]
    play = Play([whole, half], headers=EVENT_STREAM, breaks=not until_close, until_close=until_close, pause=0.02)
    plays.add("mid-event", play)
    received = clients.fetch(f"{upstream.url}/mid-event{CHAT}", proxy)
    if until_close:
        assert not received.error
        assert received.body == whole + half
    else:
        assert received.error, "a broken transfer must look broken"
        assert received.body == whole


def test_an_upstream_that_breaks_in_mid_call(way: Way, plays: Plays, proxy: ProxyProcess, clients: Clients) -> None:
    text, *call = broken_call()
    plays.add("mid-call", Play([text, *call[:4]], headers=EVENT_STREAM, breaks=True, pause=0.02))
    received = clients.fetch(f"{way.upstream.url}/mid-call{CHAT}", proxy, http2=way.http2)
    assert received.error
    assert received.body == text, "half a call was sent"
    assert said(proxy, "the connection broke while a tool call was held; it was not delivered.")


def test_an_upstream_that_closes_in_mid_call_has_its_call_refused(
    plays: Plays, upstream: Upstream, proxy: ProxyProcess, clients: Clients
) -> None:
    text = chat_event({"content": "Now."})
    chunks = [text, call_event('{"command": "rm -rf /tmp/', "Bash")]
    plays.add("refused", Play(chunks, headers=EVENT_STREAM, until_close=True, pause=0.02))
    received = clients.fetch(f"{upstream.url}/refused{CHAT}", proxy)
    assert not received.error
    assert received.body.startswith(text)
    assert b"rm -rf" not in received.body
    assert arguments_of(received.body) in ([], [{}])


def test_the_proxy_goes_on_after_a_client_that_leaves_in_mid_call(
    plays: Plays, plain_upstream: Upstream, proxy: ProxyProcess, clients: Clients
) -> None:
    plays.add("left", Play(broken_call(30), headers=EVENT_STREAM, pause=0.02))
    body = request_body()
    head = f"POST {plain_upstream.url}/left{CHAT} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", proxy.port), 10) as connection:
        connection.sendall(head.encode() + body)
        assert connection.recv(65536)
        time.sleep(0.2)
    assert said(proxy, f"/left{CHAT}: the connection broke while a tool call was held")
    received = clients.fetch(f"{plain_upstream.url}/left{CHAT}", proxy)
    assert arguments_of(received.body) == [MENDED]


# Compressed all the same


@pytest.mark.parametrize("size", [1, 5, 4096])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_compressed_stream_is_mended(
    encoding: str, size: int, way: Way, plays: Plays, proxy: ProxyProcess, clients: Clients
) -> None:
    name, pack = ENCODINGS[encoding]
    pieces = cut(pack(b"".join(broken_call())), size)
    plays.add("compressed", Play(pieces, headers={**EVENT_STREAM, "content-encoding": name}))
    received = clients.fetch(f"{way.upstream.url}/compressed{CHAT}", proxy, http2=way.http2)
    assert not received.error
    assert "content-encoding" not in received.headers
    assert received.body.startswith(broken_call()[0])
    assert arguments_of(received.body) == [MENDED]
    assert received.body.endswith(DONE)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_compressed_document_is_mended(
    encoding: str, plays: Plays, upstream: Upstream, proxy: ProxyProcess, clients: Clients
) -> None:
    name, pack = ENCODINGS[encoding]
    plays.add("packed-document", Play([pack(broken_document())], headers={**DOCUMENT, "content-encoding": name}))
    base = f"{upstream.url}/packed-document/v1"
    request = json.loads(request_body(False))
    answer = clients.ask("chat", base, proxy, stream=False, request=request)
    assert [json.loads(call["arguments"]) for call in answer["calls"]] == [MENDED], answer["error"]


@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd"])
def test_a_corrupt_compressed_stream_passes_from_where_it_is_corrupt(
    encoding: str, plays: Plays, upstream: Upstream, proxy: ProxyProcess, clients: Clients
) -> None:
    name, pack = ENCODINGS[encoding]
    good = cut(pack(b"".join(broken_call())), 40)[:2]
    bad = [b"\xff\x00" * 4000, b"\x00\xff" * 4000]
    host = f"corrupt-{name}"
    plays.add(host, Play([*good, *bad], headers={**EVENT_STREAM, "content-encoding": name}, pause=0.02))
    received = clients.fetch(f"{upstream.url}/{host}{CHAT}", proxy)
    assert not received.error, "the client must not hang or see a broken transfer"
    assert received.body.endswith(bad[-1])
    assert said(proxy, f"/{host}{CHAT}: the body is not {name}, although its header says so")
    assert "please report" not in proxy.output


@pytest.mark.parametrize("stream", [False, True])
def test_a_corrupt_compressed_document_passes_as_it_came(
    stream: bool, plays: Plays, upstream: Upstream, proxy: ProxyProcess, clients: Clients
) -> None:
    body = b"\x1f\x8b this is not gzip"
    headers = {**DOCUMENT, "content-encoding": "gzip"}
    plays.add("corrupt-document", Play([body], headers=headers, content_length=len(body)))
    received = clients.fetch(f"{upstream.url}/corrupt-document{CHAT}", proxy, request_body(stream))
    assert not received.error
    assert received.body == body


@pytest.mark.parametrize("encoding", ["compress", "gzip, br", "no-such-encoding"])
@pytest.mark.parametrize("stream", [False, True])
def test_an_encoding_that_nobody_can_undo_passes_with_its_header(
    encoding: str, stream: bool, plays: Plays, upstream: Upstream, proxy: ProxyProcess, clients: Clients
) -> None:
    body = b"".join(broken_call())
    headers = {**EVENT_STREAM, "content-encoding": encoding}
    plays.add("foreign", Play([body], headers=headers, content_length=len(body)))
    received = clients.fetch(f"{upstream.url}/foreign{CHAT}", proxy, request_body(stream))
    assert received.body == body
    assert received.headers == {**headers, "content-length": str(len(body))}
