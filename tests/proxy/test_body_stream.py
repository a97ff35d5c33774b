"""The stream: books, the keep-alive comment, and the doubtful ends of HTTP/2."""

from __future__ import annotations

import json

import pytest

from toolcalls.engine import Response
from toolcalls.proxy.body_stream import KEEP_ALIVE, KEEP_ALIVE_SECONDS, BodyStream
from toolcalls.recording import captured
from toolcalls.recording.captured import CapturedBytes


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def stream(clock: Clock) -> BodyStream:
    return BodyStream(Response("chat"), clock=clock)


def event(delta: dict[str, object], finish: str | None = None) -> bytes:
    return (
        b"data: "
        + json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}).encode()
        + b"\n\n"
    )


def fragment(text: str) -> bytes:
    return event({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "Bash", "arguments": text}}]})


TEXT = event({"content": "x"})
DONE = b"data: [DONE]\n\n"


def test_while_a_call_is_held_the_client_hears_of_us_every_five_seconds_of_arriving_chunks(
    stream: BodyStream, clock: Clock
) -> None:
    heard = []
    for _ in range(121):
        out = stream.feed(fragment(" "))
        heard += [clock.now - 1000.0] if out == [KEEP_ALIVE] else []
        assert out in ([], [KEEP_ALIVE])
        clock.now += 0.25
    assert heard == [5.0, 10.0, 15.0, 20.0, 25.0, 30.0]


def test_the_comment_is_an_event_stream_comment() -> None:
    assert KEEP_ALIVE.startswith(b":")
    assert KEEP_ALIVE.endswith(b"\n\n")


def test_ollama_hears_a_line_for_a_comment_ends_its_clients(clock: Clock) -> None:
    stream = BodyStream(Response("ollama"), clock=clock)
    said = {"role": "assistant", "content": ""}
    call = {"function": {"name": "Bash", "arguments": {}}}
    head = {"model": "m", "created_at": "t", "message": said, "done": False}
    assert stream.feed(json.dumps({**head, "message": {**said, "tool_calls": [call]}}).encode() + b"\n") == []
    clock.now += KEEP_ALIVE_SECONDS
    (line,) = stream.feed(b'{"model"')
    assert (json.loads(line), line[-1:]) == (head, b"\n")


def test_the_comment_is_in_no_book(stream: BodyStream, clock: Clock) -> None:
    stream.feed(fragment('{"command":'))
    clock.now += KEEP_ALIVE_SECONDS
    assert stream.feed(fragment('"ls"}')) == [KEEP_ALIVE]
    out = stream.feed(event({}, "tool_calls")) + stream.feed(DONE) + stream.end(sure=True)
    assert stream.after.joined() == b"".join(out)
    assert KEEP_ALIVE not in stream.after.joined()


def test_text_takes_the_place_of_the_comment(stream: BodyStream, clock: Clock) -> None:
    stream.feed(fragment("{"))
    for _ in range(8):
        clock.now += 3.0
        assert stream.feed(TEXT) == [TEXT]
    clock.now += 3.0
    assert stream.feed(fragment(" ")) == []
    clock.now += 2.0
    assert stream.feed(fragment(" ")) == [KEEP_ALIVE]


def test_there_is_no_comment_where_no_call_is_held(stream: BodyStream, clock: Clock) -> None:
    half = TEXT[:10]
    assert stream.feed(TEXT) == [TEXT]
    clock.now += 100.0
    assert stream.feed(half) == []
    clock.now += 100.0
    assert b"".join(stream.feed(TEXT[10:])) == TEXT


def test_there_is_no_comment_in_a_json_document(stream: BodyStream, clock: Clock) -> None:
    for piece in (b'{"choices": [', b"]", b"}"):
        assert stream.feed(piece) == []
        clock.now += 100.0
    assert b"".join(stream.end(sure=True)) == b'{"choices": []}'


def test_the_longest_hold_is_measured(stream: BodyStream, clock: Clock) -> None:
    stream.feed(fragment("{"))
    clock.now += 70.0
    stream.feed(fragment("}"))
    clock.now += 5.0
    stream.feed(event({}, "tool_calls"))
    stream.feed(DONE)
    clock.now += 500.0
    stream.end(sure=True)
    assert stream.longest_hold == 75.0


def test_an_empty_frame_that_is_surely_none_ends_nothing(stream: BodyStream) -> None:
    stream.feed(fragment('{"command":'))
    assert stream.end(sure=False) == []
    stream.feed(fragment('"ls"}'))
    out = b"".join(stream.feed(event({}, "tool_calls")))
    assert rb"{\"command\":\"ls\"}" in out


def test_a_doubtful_end_is_believed_the_second_time(clock: Clock) -> None:
    stream = BodyStream(Response("chat"), doubtful_end=True, clock=clock)
    stream.feed(fragment('{"command":'))
    assert stream.end(sure=None) == []
    stream.feed(fragment('"ls"}'))
    assert stream.end(sure=None) == []
    assert rb"{\"command\":\"ls\"}" in b"".join(stream.end(sure=None))
    assert stream.end(sure=None) == []


def test_an_end_without_doubt_is_believed_at_once_and_counts_once(stream: BodyStream) -> None:
    stream.feed(fragment('{"command":"ls"}'))
    out = b"".join(stream.end(sure=None))
    assert out.count(b"[DONE]") == 1
    assert stream.end(sure=True) == []


def test_observing_passes_every_chunk_as_it_is(clock: Clock) -> None:
    stream = BodyStream(Response("chat"), observe=True, clock=clock)
    chunks = [TEXT, fragment("{'command': 'ls'}")[:30], fragment("{'command': 'ls'}")[30:], event({}, "stop"), DONE]
    for chunk in chunks:
        clock.now += 60.0
        assert stream.feed(chunk) == [chunk]
    assert stream.end(sure=True) == []
    assert stream.before.joined() == b"".join(chunks)
    assert rb"{\"command\":\"ls\"}" in stream.after.joined()
    assert [outcome.status for outcome in stream.response.outcomes] == ["repaired"]


def test_what_is_kept_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(captured, "MAX_KEPT", 10)
    kept = CapturedBytes()
    kept.add(b"123456", 0.0)
    kept.add(b"789012", 1.0)
    kept.add(b"3", 2.0)
    assert kept.joined() == b"123456"
    assert not kept.complete
