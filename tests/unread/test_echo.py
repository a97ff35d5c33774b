"""Events that repeat their form are read without being parsed, and mean what they would have meant."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.splits import mend
from toolcalls.unread.echo import Echo


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


# Padding: the last string of the event varies too


def padded(arguments: str, padding: str, key: str = "obfuscation", named: bool = False) -> bytes:
    call = {"index": 0, "function": {"arguments": arguments}}
    chunk = {"id": "x", "choices": [{"index": 0, "delta": {"tool_calls": [call]}}], key: padding}
    line = "event: e\n" if named else ""
    return f"{line}data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode()


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("padding", ["", "b", "aX8kq2" * 9, "渐 +/="])
def test_padding_may_vary(padding: str, named: bool) -> None:
    echo = learned(padded("first", "aX8", named=named), "first")
    assert echo.match(padded('a "b"', padding, named=named)) == 'a "b"'


@pytest.mark.parametrize(
    "other",
    [
        padded("x", 'a"b'),
        padded("x", "a\\b"),
        padded("x", "a\nb"),
        padded("x", "P").replace(b'"P"', b'"a\tb"'),
        padded("x", "P").replace(b'"P"', b'"","error":""'),
        padded("x", "P").replace(b'"P"', b'"a","choices":"b"'),
        padded("x", "P").replace(b'"P"', b"null"),
        padded("x", "P").replace(b'"P"', b'"a\n\ndata: b"'),
        padded("x", "P").replace(b'"obfuscation"', b'"usage"'),
        padded("x", "P").replace(b'"x"', b'"x", "name": "Read"'),
        padded("x", "P")[:-1],
    ],
)
def test_what_is_no_padding_beyond_doubt_is_not_matched(other: bytes) -> None:
    assert learned(padded("first", "aX8"), "first").match(other) is None


@pytest.mark.parametrize("key", ["error", "usage", "type", "index", "delta"])
def test_a_string_that_is_read_is_no_padding(key: str) -> None:
    echo = learned(padded("first", "a", key), "first")
    assert echo.match(padded("x", "b", key)) is None
    assert echo.match(padded("x", "a", key)) == "x"


def test_a_string_of_a_value_in_the_event_is_no_padding() -> None:
    echo = learned(event("first", id="call_1"), "first")
    assert echo.match(event("x", id="call_2")) is None
    nested = event("first").replace(b'"finish_reason": null}]}', b'"a": {"b": "c"}}]}')
    assert learned(nested, "first").match(nested.replace(b'"c"', b'"d"')) is None


_BYTES = st.text('ab"\\:,{}[] \n\u0001é', max_size=12)
_VALUE = st.recursive(_BYTES | st.none() | st.integers(), lambda inner: st.dictionaries(_BYTES, inner, max_size=2))
_KEYS = st.sampled_from(["id", "p", "obfuscation", "error", "usage", "z,", 'q":"'])


@given(
    st.tuples(_BYTES, st.dictionaries(_KEYS, _VALUE, max_size=3)),
    st.lists(st.tuples(_BYTES, st.dictionaries(_KEYS, _VALUE, max_size=3)), min_size=1, max_size=3),
    st.booleans(),
)
def test_what_is_matched_is_what_json_reads(
    first: tuple[str, dict[str, Any]], others: list[tuple[str, dict[str, Any]]], alike: bool
) -> None:
    """All but the arguments and one string that nobody reads is the same in an event that matches."""

    def written(arguments: str, rest: dict[str, Any]) -> bytes:
        return f"data: {json.dumps({'choices': [{'arguments': arguments}], **rest}, ensure_ascii=False)}\n\n".encode()

    echo = Echo("arguments")
    raw = written(*first)
    if not echo.learn(raw, first[0]):
        return
    for arguments, rest in others:
        varied = {**first[1], **{key: value for key, value in rest.items() if key in first[1]}} if alike else rest
        found = echo.match(written(arguments, varied))
        if found is None:
            continue
        assert found == arguments
        assert varied.keys() == first[1].keys()
        differing = [key for key in varied if varied[key] != first[1][key]]
        assert len(differing) <= 1
        assert all(isinstance(varied[key], str) and key not in ("error", "usage") for key in differing)


@given(st.binary(max_size=40), st.binary(max_size=20))
def test_whatever_bytes_stand_there_a_match_is_json(inside: bytes, padding: bytes) -> None:
    echo = learned(padded("first", "PAD"), "first")
    raw = padded("first", "PAD").replace(b"first", inside).replace(b"PAD", padding)
    found = echo.match(raw)
    if found is not None:
        read = json.loads(raw[6:-2].decode("utf-8", "replace"))
        assert read["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"] == found
        assert read.keys() == {"id", "choices", "obfuscation"}


@pytest.mark.parametrize(("protocol", "end"), [("chat", "\n\n"), ("messages", "\n\n"), ("messages", "\r\n\r\n")])
def test_a_padded_call_is_gathered_in_every_split(protocol: str, end: str) -> None:
    whole = json.dumps({"text": 'a "quoted" word, 渐 and\nmore' * 3})
    pieces = [whole[at : at + 7] for at in range(0, len(whole), 7)]
    if protocol == "chat":
        start = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "Write", "arguments": ""}}
        deltas: list[dict[str, Any]] = [{"tool_calls": [start]}]
        deltas += [{"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in pieces]
        said: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
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
