"""An event matches a template if it differs from the learnt one in nothing but the string, and means what JSON says."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcalls.unread.template import Template, decoded

Json = dict[str, Any]


def event(arguments: str, **more: object) -> bytes:
    call = {"index": 0, "function": {"arguments": arguments}, **more}
    chunk = {"id": "x", "choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": None}]}
    return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode()


def learnt(raw: bytes, value: str, key: str = "arguments") -> Template:
    template = Template.learn(raw, key, value)
    assert template is not None
    return template


def matched(template: Template, raw: bytes) -> str | None:
    literal = template.match(raw)
    return None if literal is None else decoded(literal)


TEXTS = ["abc", "", 'a "quoted" \\ word', "\n\t", "渐 🎉", "\ud83d", '"arguments":"', "C:\\", '\\"' * 9, "x" * 3000]


@pytest.mark.parametrize("ascii", [True, False])
@pytest.mark.parametrize("text", TEXTS)
def test_the_string_is_what_json_reads(text: str, ascii: bool) -> None:
    literal = json.dumps(text, ensure_ascii=ascii).encode("utf-8", "backslashreplace")
    raw = event("first").replace(b'"first"', literal)
    assert matched(learnt(event("first"), "first"), raw) == text


@pytest.mark.parametrize("size", [1, 2000])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"index": 0, "function"', b'"index": 1, "function"'),
        (b'"finish_reason": null', b'"finish_reason": "stop"'),
        (b'"@"', b'"@", "name": "Read"'),
        (b'"@"', b'"@\\\\", "name": "Read"'),
        (b'"@"', b'"\\"@", "name": "\\"Read"'),
        (b'"@"', b'{"a": 1}'),
        (b'"@"', b'"@'),
        (b'"@"', b'"@\\"'),
        (b'"@"', b'"a\nb"'),
        (b'"@"', b'"a\rb"'),
        (b'"@"', b'"a\n\ndata: b"'),
        (b'"@"', b'"'),
        (b"\n\n", b"\r\n\r\n"),
        (b"}\n\n", b"}\n"),
        (b"}\n\n", b"}\n\n: ping\n\n"),
    ],
)
def test_another_event_is_not_matched(old: bytes, new: bytes, size: int) -> None:
    raw = event("@").replace(old, new).replace(b"@", b"x" * size)
    assert learnt(event("first"), "first").match(raw) is None


def test_several_events_are_no_event() -> None:
    template = learnt(event("first"), "first")
    assert template.match(event("a") + event("b")) is None
    assert template.match(b"") is None
    assert template.match(b"data: [DONE]\n\n") is None


def test_where_head_and_tail_overlap_nothing_is_matched() -> None:
    template = learnt(b'data: {"a":"x","b":"","c":""}\n\n', "x", "a")
    assert template.match(b'data: {"a":"","b":"","c":""}\n\n') == b""
    assert template.match(b'data: {"a":","b":"","c":""}\n\n') is None


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (event("x").replace(b'"x"', b'"x", "old": {"arguments": "x"}'), "x"),
        (event("x").replace(b'"x"', b'"x", "old": {"arguments": 1}'), "x"),
        (event("x").replace(b'"x"', b'{"a": "x"}'), '{"a":"x"}'),
        (event("x"), "y"),
        (event("x").replace(b"\n\n", b"\r\r"), "x"),
        (event("x").replace(b'"x"', b'\n"x"'), "x"),
        (event("x").replace(b"data: ", b"data: data: "), "x"),
        (b": ping\n" + event("x"), "x"),
        (b"\xef\xbb\xbf" + event("x"), "x"),
        (b"id: 1\n" + event("x"), "x"),
        (event("x") + event("y"), "x"),
        (event("x").replace(b'"x"', b'"a\\qb"'), "a\\qb"),
    ],
)
def test_what_is_no_such_event_is_not_learnt(raw: bytes, value: str) -> None:
    assert Template.learn(raw, "arguments", value) is None


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n"])
def test_a_named_event_is_learnt_with_its_line(end: bytes) -> None:
    def named(text: str, name: bytes = b"delta") -> bytes:
        return b"event: " + name + end[: len(end) // 2] + event(text).replace(b"\n\n", end)

    template = learnt(named("a"), "a")
    assert template.match(named("b")) == b"b"
    assert template.match(named("b", b"done")) is None
    assert template.match(event("b").replace(b"\n\n", end)) is None


# Numbers


def numbered(number: str, text: str, *, behind: bool = False, item: str = "m") -> bytes:
    count, said = f'"sequence_number": {number}', f'"delta": {json.dumps(text)}'
    first, second = (said, count) if behind else (count, said)
    return f'event: e\ndata: {{"type": "e", {first}, "item_id": "{item}", {second}}}\n\n'.encode()


@pytest.mark.parametrize("behind", [False, True])
def test_a_number_may_vary(behind: bool) -> None:
    template = learnt(numbered("7", "a", behind=behind), "a", "delta")
    for number in ("8", "9", "10", "0", "99", "100", "123456789", "11"):
        assert template.match(numbered(number, 'x "y"', behind=behind)) == b'x \\"y\\"'
    for number in ("", "-1", "1.5", "007", "1e3", "null", '"8"', "8, 9", "1234567890123"):
        assert template.match(numbered(number, "b", behind=behind)) is None, number
    assert template.match(numbered("8", "b", behind=behind, item="n")) is None
    assert template.match(numbered("8", "b", behind=not behind)) is None
    assert template.match(numbered("8", "b", behind=behind)) == b"b"


# Padding


def padded(arguments: str, padding: str, key: str = "obfuscation", number: int = 7) -> bytes:
    chunk = {"sequence_number": number, "choices": [{"arguments": arguments}], key: padding}
    return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode()


@pytest.mark.parametrize("padding", ["", "b", "aX8kq2" * 9, "渐 +/="])
@pytest.mark.parametrize("key", ["obfuscation", "p"])
def test_padding_may_vary(padding: str, key: str) -> None:
    template = learnt(padded("first", "aX8", key), "first")
    assert matched(template, padded('a "b"', padding, key, number=12)) == 'a "b"'
    assert matched(template, padded(f'"{key}": "x"', padding, key)) == f'"{key}": "x"'


@pytest.mark.parametrize(
    "other",
    [
        padded("x", 'a"b'),
        padded("x", "a\\b"),
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
    assert learnt(padded("first", "aX8"), "first").match(other) is None


def ollama(text: str, time: str) -> bytes:
    message = {"role": "assistant", "content": text}
    line = {"model": "m", "created_at": time, "message": message, "done": False}
    return json.dumps(line, separators=(",", ":")).encode() + b"\n"


def test_a_line_of_json_is_learnt_and_its_time_may_vary() -> None:
    template = learnt(ollama("first", "2026-08-21T10:00:00.123456789Z"), "first", "content")
    for time in (
        "2026-08-21T10:00:00.123456790Z",
        "2026-08-21T10:00:00.12Z",
        "2026-08-21T12:00:00.1234567+02:00",
        "Z",
    ):
        assert matched(template, ollama("next <", time)) == "next <"
    for other in (
        ollama("next", '2026","done":true,"model":"'),
        ollama("next", "yesterday"),
        ollama("next", "1" * 60),
        ollama("next", "Z").replace(b"false", b"true"),
        ollama("next", "Z") + ollama("more", "Z"),
        ollama("next", "Z")[:-1],
    ):
        assert matched(template, other) is None


@pytest.mark.parametrize("key", ["error", "usage", "type", "index", "delta", "id"])
def test_a_last_string_of_another_name_is_no_padding(key: str) -> None:
    template = learnt(padded("first", "a", key), "first")
    assert template.match(padded("x", "b", key)) is None
    assert template.match(padded("x", "a", key)) == b"x"


def test_a_string_of_a_value_in_the_event_is_no_padding() -> None:
    nested = event("first").replace(b'"finish_reason": null}]}', b'"p": "c"}]}')
    assert learnt(nested, "first").match(nested.replace(b'"c"', b'"d"')) is None


# As JSON reads it

_BYTES = st.text('ab"\\:,{}[] \n\u0001é', max_size=12)
_VALUE = st.recursive(_BYTES | st.none() | st.integers(), lambda inner: st.dictionaries(_BYTES, inner, max_size=2))
_KEYS = st.sampled_from(["id", "p", "obfuscation", "sequence_number", "error", "usage", "z,", 'q":"'])
_REST = st.dictionaries(_KEYS, _VALUE, max_size=3)
_VARY = ("p", "obfuscation", "sequence_number")


@given(st.tuples(_BYTES, _REST), st.lists(st.tuples(_BYTES, _REST), min_size=1, max_size=3), st.booleans())
def test_what_is_matched_is_what_json_reads(
    first: tuple[str, Json], others: list[tuple[str, Json]], alike: bool
) -> None:
    """All but the string, a number and the padding is the same in an event that matches."""

    def written(arguments: str, rest: Json) -> bytes:
        return f"data: {json.dumps({'choices': [{'arguments': arguments}], **rest}, ensure_ascii=False)}\n\n".encode()

    template = Template.learn(written(*first), "arguments", first[0])
    if template is None:
        return
    assert matched(template, written(*first)) == first[0]
    for arguments, rest in others:
        varied = {**first[1], **{key: value for key, value in rest.items() if key in first[1]}} if alike else rest
        raw = written(arguments, varied)
        if (literal := template.match(raw)) is not None:
            assert decoded(literal) == arguments
            assert list(varied) == list(first[1])
            assert all(key in _VARY for key in varied if varied[key] != first[1][key])


@given(st.binary(max_size=40), st.binary(max_size=20))
def test_whatever_bytes_stand_there_a_match_that_can_be_decoded_is_json(inside: bytes, padding: bytes) -> None:
    template = learnt(padded("first", "PAD"), "first")
    raw = padded("first", "PAD").replace(b"first", inside).replace(b"PAD", padding)
    literal = template.match(raw)
    text = None if literal is None else decoded(literal)
    if text is not None:
        read = json.loads(raw[6:-2].decode("utf-8", "replace"), strict=False)
        assert read["choices"] == [{"arguments": text}]
        assert read.keys() == {"sequence_number", "choices", "obfuscation"}


@given(st.text('ab"\\\n\t/u0', max_size=30).map(str.encode))
def test_bytes_are_decoded_as_json_decodes_them_or_not_at_all(literal: bytes) -> None:
    for strict in (True, False):
        try:
            expected = json.loads(b'"' + literal + b'"', strict=strict)
        except ValueError:
            expected = None
        assert decoded(literal, strict=strict) == expected


def test_the_tokens_that_gemini_counts_may_vary() -> None:
    def event(text: str, tokens: str, total: str) -> bytes:
        usage = f'{{"promptTokenCount": 5,"candidatesTokenCount": {tokens},"totalTokenCount": {total}}}'
        candidate = f'{{"content": {{"parts": [{{"text": "{text}"}}],"role": "model"}},"index": 0}}'
        return f'data: {{"candidates": [{candidate}],"usageMetadata": {usage}}}\r\n\r\n'.encode()

    template = Template.learn(event("a", "7", "12"), "text", "a")
    assert template is not None
    assert template.match(event("b c", "1234", "1239")) == b"b c"
    for tokens, total in (("x", "12"), ("07", "12"), ("7", '"12"'), ("", "12"), ("7.5", "12"), ("7", "12,1")):
        assert template.match(event("b", tokens, total)) is None
