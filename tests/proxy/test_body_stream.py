"""The stream: books, the keep-alive event, and the empty frames of HTTP/2."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.faults.streams import BROKEN, PROTOCOLS, RIGHT
from tests.faults.streams import event as wire_event
from tests.splits import cut
from toolcalls.engine import Response, mend_whole
from toolcalls.policy import make_policy, read_options
from toolcalls.proxy.body_stream import KEEP_ALIVE_SECONDS, BodyStream
from toolcalls.recording import record, store
from toolcalls.recording.record import Captured
from toolcalls.request.request import decode, read_request
from toolcalls.wire import sse

RECORDINGS = Path(__file__).parents[2] / "recordings"


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


KEEP_ALIVE = b'data: {"choices":[{"index":0,"finish_reason":null,"delta":{}}]}\n\n'


def test_while_a_call_is_held_the_client_hears_of_us_every_two_seconds_of_arriving_chunks(
    stream: BodyStream, clock: Clock
) -> None:
    heard = []
    for _ in range(41):
        out = stream.feed(fragment(" "))
        heard += [clock.now - 1000.0] if out == [KEEP_ALIVE] else []
        assert out in ([], [KEEP_ALIVE])
        clock.now += 0.25
    assert heard == [2.0, 4.0, 6.0, 8.0, 10.0]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_the_client_hears_is_an_event_of_its_protocol_that_changes_nothing(protocol: str, clock: Clock) -> None:
    """With it and without it a client ends up with the same calls, and the books know nothing of it."""
    events = PROTOCOLS[protocol].write("", BROKEN)
    stream = BodyStream(PROTOCOLS[protocol].answer(), clock=clock)
    out: list[bytes] = []
    for said in events:
        clock.now += KEEP_ALIVE_SECONDS
        out += stream.feed(said)
    body = b"".join([*out, *stream.end()])
    plain = mend_whole(PROTOCOLS[protocol].answer(), b"".join(events))
    assert stream.exchange.after.joined() == plain
    kept = [raw for raw in sse.split(body) if raw not in sse.split(plain)]
    assert kept
    assert all(sse.read_event(raw).data for raw in kept), "an event with data"
    calls = PROTOCOLS[protocol].calls(body)
    assert calls == PROTOCOLS[protocol].calls(plain)
    assert [json.loads(arguments) for _, arguments in calls] == [RIGHT]


def test_ollama_hears_a_line_for_a_comment_ends_its_clients(clock: Clock) -> None:
    stream = BodyStream(Response("ollama"), clock=clock)
    said = {"role": "assistant", "content": ""}
    call = {"function": {"name": "Bash", "arguments": {}}}
    head = {"model": "m", "created_at": "t", "message": said, "done": False}
    assert stream.feed(json.dumps({**head, "message": {**said, "tool_calls": [call]}}).encode() + b"\n") == []
    clock.now += KEEP_ALIVE_SECONDS
    (line,) = stream.feed(b'{"model"')
    assert (json.loads(line), line[-1:]) == (head, b"\n")


def test_a_response_is_told_again_with_its_own_id_without_what_echoes_the_request(clock: Clock) -> None:
    created = {
        "id": "r",
        "created_at": 1,
        "object": "response",
        "instructions": "x" * 1000,
        "tools": [{"name": "y" * 1000}],
        "model": "m",
    }
    item = {"id": "f", "type": "function_call", "call_id": "c", "name": "Bash", "arguments": ""}
    stream = BodyStream(PROTOCOLS["responses"].answer(), clock=clock)
    stream.feed(wire_event("response.created", response=created, sequence_number=7))
    stream.feed(wire_event("response.output_item.added", output_index=0, item=item, sequence_number=8))
    clock.now += KEEP_ALIVE_SECONDS
    (said,) = stream.feed(
        wire_event(
            "response.function_call_arguments.delta", item_id="f", output_index=0, delta="{", sequence_number=9
        )
    )
    told = json.loads(sse.read_event(said).data or "")
    assert sse.read_event(said).type == told["type"] == "response.in_progress"
    assert told["sequence_number"] == 7, "what follows keeps its own number"
    assert told["response"] == {
        "id": "r",
        "created_at": 1,
        "object": "response",
        "instructions": None,
        "tools": [],
        "output": [],
        "model": "m",
        "status": "in_progress",
    }


def test_a_response_that_nobody_announced_has_an_event_too(clock: Clock) -> None:
    item = {"id": "f", "type": "function_call", "call_id": "c", "name": "Bash", "arguments": ""}
    stream = BodyStream(PROTOCOLS["responses"].answer(), clock=clock)
    stream.feed(wire_event("response.output_item.added", output_index=0, item=item, sequence_number=0))
    clock.now += KEEP_ALIVE_SECONDS
    (said,) = stream.feed(
        wire_event("response.function_call_arguments.delta", item_id="f", output_index=0, delta="{")
    )
    assert json.loads(sse.read_event(said).data or "")["type"] == "keepalive"


def test_comments_of_the_upstream_take_nobodys_place(stream: BodyStream, clock: Clock) -> None:
    """A client that counts events hears nothing of them."""
    stream.feed(fragment("{"))
    heard = 0
    for _ in range(5):
        clock.now += KEEP_ALIVE_SECONDS / 2
        out = stream.feed(b": processing\n\n" + fragment(" "))
        assert out[0] == b": processing\n\n"
        heard += out[1:] == [KEEP_ALIVE]
    assert heard == 2


def test_text_takes_the_place_of_the_event(stream: BodyStream, clock: Clock) -> None:
    stream.feed(fragment("{"))
    for _ in range(8):
        clock.now += 1.5
        assert stream.feed(TEXT) == [TEXT]
    clock.now += 1.5
    assert stream.feed(fragment(" ")) == []
    clock.now += 0.5
    assert stream.feed(fragment(" ")) == [KEEP_ALIVE]


def test_there_is_no_such_event_where_no_call_is_held(stream: BodyStream, clock: Clock) -> None:
    half = TEXT[:10]
    assert stream.feed(TEXT) == [TEXT]
    clock.now += 100.0
    assert stream.feed(half) == []
    clock.now += 100.0
    assert b"".join(stream.feed(TEXT[10:])) == TEXT


def test_there_is_no_such_event_in_a_json_document(stream: BodyStream, clock: Clock) -> None:
    for piece in (b'{"choices": [', b"]", b"}"):
        assert stream.feed(piece) == []
        clock.now += 100.0
    assert b"".join(stream.end()) == b'{"choices": []}'


def test_the_longest_hold_is_measured(stream: BodyStream, clock: Clock) -> None:
    stream.feed(fragment("{"))
    clock.now += 70.0
    stream.feed(fragment("}"))
    clock.now += 5.0
    stream.feed(event({}, "tool_calls"))
    stream.feed(DONE)
    clock.now += 500.0
    stream.end()
    assert stream.hold.longest == 75.0


class ResponseData:
    """Stands for mitmproxy's event of this name."""


def test_an_empty_frame_in_mid_stream_ends_nothing(stream: BodyStream) -> None:
    stream.feed(fragment('{"command":'))

    def as_mitmproxy_calls(event: ResponseData) -> list[bytes]:
        return stream.feed(b"")

    assert as_mitmproxy_calls(ResponseData()) == []
    stream.feed(fragment('"ls"}'))
    out = b"".join(stream.feed(event({}, "tool_calls")))
    assert rb"{\"command\":\"ls\"}" in out


def test_the_end_counts_once(stream: BodyStream) -> None:
    stream.feed(fragment('{"command":"ls"}'))
    out = b"".join(stream.feed(b""))
    assert out.count(b"[DONE]") == 1
    assert stream.end() == []


def test_observing_passes_every_chunk_as_it_is(clock: Clock) -> None:
    stream = BodyStream(Response("chat"), observe=True, clock=clock)
    chunks = [TEXT, fragment("{'command': 'ls'}")[:30], fragment("{'command': 'ls'}")[30:], event({}, "stop"), DONE]
    for chunk in chunks:
        clock.now += 60.0
        assert stream.feed(chunk) == [chunk]
    assert stream.end() == []
    assert stream.exchange.before.joined() == b"".join(chunks)
    assert rb"{\"command\":\"ls\"}" in stream.exchange.after.joined()
    assert [outcome.status for outcome in stream.response.outcomes] == ["repaired"]


def test_what_is_kept_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "MAX_KEPT", 10)
    kept = Captured()
    kept.add(b"123456", 0.0)
    kept.add(b"789012", 1.0)
    kept.add(b"3", 2.0)
    assert kept.joined() == b"123456"
    assert not kept.complete


SAID = 'data: {"choices":[{"index":0,"delta":{"content":"%s"}}]}'
CALLED = 'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"Bash","arguments":"{}"}}]}}]}'
BODIES = {
    "text": [SAID % word for word in ("a", "b", "c", "d")] + ["data: [DONE]"],
    "comments": [": ping", SAID % "a", ": ping", SAID % "b"],
    "a call": [
        SAID % "a",
        CALLED,
        'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
        "data: [DONE]",
    ],
    "wrapped": [SAID % "a", "data: " + SAID % "b", SAID % "c"],
    "an opener": [SAID % "a", SAID % "<tool_", SAID % "box>", SAID % "b"],
    "a document": ['{"choices":[{"message":{"content":"a"}}]}'],
    "a page": ["<html>", "no events"],
    "lines alone": [SAID % "a" + "\n \n" + SAID % "b"],
}


@pytest.mark.parametrize("end", ["\n\n", "\r\n\r\n", "\r\r", "\n"])
@pytest.mark.parametrize("name", BODIES)
def test_what_was_kept_is_at_every_moment_what_arrived_and_what_was_sent(name: str, end: str, clock: Clock) -> None:
    """A stream that breaks off is recorded too, and in the middle of an event some bytes are not sent yet."""
    body = end.join([*BODIES[name], ""]).encode()
    tools = [{"type": "function", "function": {"name": "Bash", "parameters": {"type": "object"}}}]
    for cut_off in (len(body), len(body) - 7):
        for pieces in [[body[:cut_off]], *(cut(body[:cut_off], size) for size in (1, 3, 50, 71))]:
            for looked_at in (False, True):
                stream = BodyStream(Response("chat", read_request({"tools": tools, "stream": True})), clock=clock)
                arrived = sent = b""
                for piece in pieces:
                    arrived += piece
                    sent += b"".join(stream.feed(piece))
                    if looked_at:
                        assert (stream.exchange.before.joined(), stream.exchange.after.joined()) == (
                            arrived,
                            sent,
                        )
                sent += b"".join(stream.end())
                assert (stream.exchange.before.joined(), stream.exchange.after.joined()) == (arrived, sent)


@pytest.mark.parametrize("directory", store.find(RECORDINGS), ids=lambda directory: directory.name)
def test_only_a_call_is_said_to_be_held(directory: Path) -> None:
    """A stop reason waits too, and the end of a text or a JSON answer may."""
    recording = store.load(directory)
    if recording.suffix == ".jsonl" or recording.status >= 400:
        return
    options = {str(name): str(text) for name, text in recording.flow.get("policy", {}).items()}
    policy = make_policy(read_options(options))
    question = read_request(decode(recording.request), recording.protocol)
    found: list[None] = []
    stream = BodyStream(
        Response(recording.protocol, question, policy, seed=recording.seed), found=lambda: found.append(None)
    )
    for piece in recording.pieces():
        stream.feed(piece)
    stream.end()
    assert not found or stream.response.outcomes
