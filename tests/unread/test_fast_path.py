"""Events of a learnt template go to their receiver, once; everything else is read, and the answer is the same."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.dialects.responses_wire import Upstream
from tests.splits import feed, mend
from toolcalls.engine import Response
from toolcalls.request.request import read_request
from toolcalls.unread.fast_path import PASSING_TEXT, PATIENCE, CallFragments, FastPath, Lesson
from toolcalls.wire.events import PASS, Hold, Pass

Json = dict[str, Any]


def event(text: str, **more: object) -> bytes:
    return f"data: {json.dumps({'content': text, **more})}\n\n".encode()


class Refusing:
    """A receiver that takes no text with an `x`."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []

    def receive(self, literal: bytes, raw: bytes) -> Pass | None:
        self.asked.append(literal)
        return None if b"x" in literal else PASS


def test_nothing_is_known_before_a_lesson() -> None:
    assert FastPath().take(event("a")) is None


def test_the_receiver_is_asked_once_an_event_and_only_about_events_of_the_template() -> None:
    path, receiver = FastPath(), Refusing()
    path.learn(event("a"), Lesson("content", "a", receiver))
    assert path.take(event("b")) is PASS
    assert path.take(event("x")) is None
    assert path.take(event("c", more=1)) is None
    assert path.take(event("d") + event("e")) is None
    assert receiver.asked == [b"b", b"x"]


def test_an_event_without_a_lesson_ends_the_last_one() -> None:
    path = FastPath()
    path.learn(event("a"), Lesson("content", "a", PASSING_TEXT))
    path.learn(event("b"), None)
    assert path.take(event("c")) is None
    path.learn(event("d"), Lesson("content", "d", PASSING_TEXT))
    assert path.take(event("e")) is PASS


def test_a_lesson_that_is_not_what_the_event_says_teaches_nothing() -> None:
    path = FastPath()
    path.learn(event("a"), Lesson("content", "b", PASSING_TEXT))
    assert path.take(event("a")) is None


def test_a_server_that_varies_its_events_is_given_up_on() -> None:
    path = FastPath()
    for number in range(PATIENCE):
        path.learn(event("a", nonce=number), Lesson("content", "a", PASSING_TEXT))
    path.learn(event("a", nonce="last"), Lesson("content", "a", PASSING_TEXT))
    assert path.take(event("b", nonce="last")) is None


def test_one_that_varies_them_now_and_then_is_not() -> None:
    path = FastPath()
    for number in range(3 * PATIENCE):
        path.learn(event("a", created=number), Lesson("content", "a", PASSING_TEXT))
        assert path.take(event("b", created=number)) is PASS


def test_a_fragment_is_decoded_and_one_that_is_no_json_is_read() -> None:
    taken: list[str] = []
    receiver = CallFragments(taken.append, Hold("call"))
    assert receiver.receive(b'{\\"a\\":\\u00e9', b"") == Hold("call")
    assert receiver.receive(b"\\q", b"") is None
    assert receiver.receive(b"a\tb", b"") is None
    assert taken == ['{"a":é']


# Through the dialects


def fragment(arguments: str, **more: object) -> bytes:
    call = {"index": 0, "function": {"arguments": arguments}, **more}
    chunk = {"id": "x", "choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": None}]}
    return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode()


def test_two_calls_that_take_turns_are_kept_apart() -> None:
    pieces = [fragment("{", id="a"), fragment('"k":', id="a")]
    pieces += [fragment("{", index=1, id="b"), fragment('"k":', index=1, id="b")]
    pieces += [fragment("1", id="a"), fragment("2", index=1, id="b")]
    pieces += [fragment("}", id="a"), fragment("}", index=1, id="b")]
    done = b'data: {"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n'
    _, answer = mend(b"".join(pieces) + done)
    assert [outcome.arguments for outcome in answer.outcomes] == ['{"k":1}', '{"k":2}']


@pytest.mark.parametrize("end", ["\n\n", "\r\n\r\n", "\r\r"])
def test_the_last_line_feed_of_done_survives_every_cut(end: str) -> None:
    call = fragment('{"a":1}', id="a").decode().replace("\n\n", end)
    out, _ = mend(call + f"data: [DONE]{end}")
    assert out.endswith(f"data: [DONE]{end}".encode())


@pytest.mark.parametrize(("protocol", "end"), [("chat", "\n\n"), ("messages", "\n\n"), ("messages", "\r\n\r\n")])
def test_a_padded_call_is_gathered_in_every_split(protocol: str, end: str) -> None:
    whole = json.dumps({"text": 'a "quoted" word, 渐 and\nmore' * 3})
    pieces = [whole[at : at + 7] for at in range(0, len(whole), 7)]
    if protocol == "chat":
        start = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "Write", "arguments": ""}}
        deltas: list[Json] = [{"tool_calls": [start]}]
        deltas += [{"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in pieces]
        said: list[Json] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
        said.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    else:
        usage = {"input_tokens": 1, "output_tokens": 1}
        block = {"type": "tool_use", "id": "toolu_1", "name": "Write", "input": {}}
        said = [{"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [], "usage": usage}}]
        said.append({"type": "content_block_start", "index": 0, "content_block": block})
        said += [
            {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": piece}}
            for piece in pieces
        ]
        said.append({"type": "content_block_stop", "index": 0})
        said.append({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": usage})
        said.append({"type": "message_stop"})
    body = "".join(
        f"{'event: ' + event['type'] + end[: len(end) // 2] if protocol == 'messages' else ''}"
        f"data: {json.dumps({**event, 'p': 'x' * (number % 5)})}{end}"
        for number, event in enumerate(said)
    )
    _, answer = mend(body, protocol=protocol)
    assert [(outcome.name, outcome.arguments) for outcome in answer.outcomes] == [("Write", whole)]


@pytest.mark.parametrize(
    "broken",
    ['"a\tb"', '"C:\\dir"', '"a\\u12"', '"cut', '"a" "b"', '"a",'],
    ids=["tab", "escape", "u", "cut", "two", "comma"],
)
@pytest.mark.parametrize("declared", [[], [{"name": "Read", "input_schema": {}}]])
def test_a_broken_event_of_a_chat_answer_without_a_call_goes_on_as_it_came(broken: str, declared: list[Json]) -> None:
    def said(literal: str) -> bytes:
        return (
            f'data: {{"choices":[{{"index":0,"delta":{{"content":{literal}}},"finish_reason":null}}]}}\n\n'.encode()
        )

    events = [said('"Hi"'), said('" there"'), said(broken), said('" you"'), said(broken), b"data: [DONE]\n\n"]
    question = read_request({"tools": declared, "stream": True})
    for chunks in (events, [b"".join(events)]):
        assert feed(Response("chat", question), chunks) == b"".join(events)


@pytest.mark.parametrize("form", ["data: {data}\nevent: {kind}\n\n", "event: {kind}\rdata: {data}\n\n"])
@pytest.mark.parametrize("declared", [[], [{"name": "Read"}]])
def test_events_of_an_odd_form_give_the_same_in_every_split(form: str, declared: list[Json]) -> None:
    upstream = Upstream().message("Hi", " there", " you").call("Read", '{"file_path":', '"/a.py"}').end()
    events = [form.format(data=json.dumps(event), kind=event["type"]).encode() for event in upstream.events]
    question = read_request({"tools": declared, "stream": True})
    outs = set()
    for at in range(len(events)):
        answer = Response("responses", question, seed="s")
        outs.add(feed(answer, [*events[:at], b"".join(events[at:])]))
        assert len(answer.outcomes) == 1
    assert len(outs) == 1


def test_deltas_of_another_item_are_told_apart_wherever_the_item_is_named() -> None:
    kind = "response.output_text.delta"

    def said(number: int, item: str) -> bytes:
        data = {"type": kind, "sequence_number": number, "delta": " It is so.", "item_id": item, "output_index": 0}
        return f"event: {kind}\ndata: {json.dumps({**data, 'content_index': 0})}\n\n".encode()

    path = FastPath()
    path.learn(said(10, "msg_1"), Lesson("delta", " It is so.", PASSING_TEXT))
    assert path.take(said(13, "msg_1")) is PASS
    assert path.take(said(15, "msg_2")) is None


def test_a_delta_of_a_held_call_that_nobody_can_read_does_not_reach_the_client() -> None:
    upstream = Upstream().call("Read", '{"file_path":', ' "/a', '.py"}').end()
    events = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in upstream.events]
    at = next(number for number, event in enumerate(events) if b'".py' in event or b".py" in event)
    events[at] = events[at].replace(b'"delta": ', b'"delta: ')
    answer = Response("responses", read_request({"tools": [{"name": "Read"}], "stream": True}))
    assert b'"delta: ' not in feed(answer, events)
    assert [outcome.arguments for outcome in answer.outcomes] == ['{"file_path": "/a.py"}']
