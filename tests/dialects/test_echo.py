"""Events that repeat their form are read without being parsed, and mean what they would have meant."""

from __future__ import annotations

import json

import pytest

from tests.splits import mend
from toolcalls.dialects.echo import Echo


def event(arguments: str, **more: object) -> bytes:
    call = {"index": 0, "function": {"arguments": arguments}, **more}
    chunk = {"id": "x", "choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": None}]}
    return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode()


def learned(raw: bytes, value: str) -> Echo:
    echo = Echo("arguments")
    assert echo.learn(raw, value)
    return echo


@pytest.mark.parametrize("text", ["abc", "", 'a "quoted" \\ word', "\n\t", "渐 🎉", "\ud83d", '"arguments":"'])
def test_the_string_is_what_json_reads(text: str) -> None:
    raw = event("first").replace(b'"first"', json.dumps(text).encode())
    assert learned(event("first"), "first").match(raw) == text


@pytest.mark.parametrize(
    "other",
    [
        event("x", id="call_2"),
        event("x").replace(b'"finish_reason": null', b'"finish_reason": "stop"'),
        event("x").replace(b'"x"', b'"x", "name": "Read"'),
        event("x").replace(b'"x"', b'{"a": 1}'),
        event("x").replace(b'"x"', b'"x'),
        event("x").replace(b'"x"', b'"a\tb"'),
        event("x").replace(b'"x"', b'"'),
        event("x").replace(b"\n\n", b"\r\n\r\n"),
        event("x")[:-1],
        b"data: [DONE]\n\n",
        b"",
    ],
)
def test_another_form_is_not_matched(other: bytes) -> None:
    assert learned(event("first"), "first").match(other) is None


def test_a_form_with_two_such_keys_or_an_object_is_not_learned() -> None:
    twice = event("x").replace(b'"x"', b'"x", "old": {"arguments": "x"}')
    assert not Echo("arguments").learn(twice, "x")
    assert not Echo("arguments").learn(event("x").replace(b'"x"', b'{"a": "x"}'), '{"a":"x"}')
    assert not Echo("arguments").learn(event("x"), "y")


def test_a_server_that_varies_its_events_is_given_up_on() -> None:
    echo = Echo("arguments")
    tries = [echo.learn(event("x", nonce=number), "x") for number in range(20)]
    assert tries[0] and not tries[-1]


def test_two_calls_that_take_turns_are_kept_apart() -> None:
    pieces = [event("{", id="a"), event('"k":', id="a"), event("{", index=1, id="b"), event('"k":', index=1, id="b")]
    pieces += [event("1", id="a"), event("2", index=1, id="b"), event("}", id="a"), event("}", index=1, id="b")]
    done = b'data: {"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n'
    _, answer = mend(b"".join(pieces) + done)
    assert [outcome.arguments for outcome in answer.outcomes] == ['{"k":1}', '{"k":2}']


@pytest.mark.parametrize("end", ["\n\n", "\r\n\r\n", "\r\r"])
def test_the_last_line_feed_of_done_survives_every_cut(end: str) -> None:
    call = event('{"a":1}', id="a").decode().replace("\n\n", end)
    out, _ = mend(call + f"data: [DONE]{end}")
    assert out.endswith(f"data: [DONE]{end}".encode())
