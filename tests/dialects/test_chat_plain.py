"""Chat events that cannot concern us are told by their look, and by the look never more of them than by the marks."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcalls.dialects.chat.plain import Plain, unmarked

PIECES = st.sampled_from(
    [
        "a word", "usage", '"usage"', ':', 'data:', 'data: {', "{", "'", "{'", "_", "_call", 'tool_calls":[', '_calls":null',
        'finish_reason":"', "finish_reason", '"', '\\"', "\\", "sensitive", '"sensitive"', '"choices"', "\n", "\n\n",
        '"}}]}', "data: [DONE]", "\r",
    ]
)  # fmt: skip
ENDS = [
    "",
    ',"usage":null',
    ',"tool_calls":null',
    ',"finish_reason":"stop"',
    ',"finish_reason":null',
    ',"x":"data: y"',
]


def event(text: str, end: str = "", head: str = "") -> bytes:
    return f'data: {{{head}"choices":[{{"delta":{{"content":"{text}"{end}}}}}]{end}}}\n\n'.encode()


@given(
    st.lists(PIECES, max_size=5).map("".join),
    st.lists(st.lists(PIECES, max_size=5).map("".join), min_size=1, max_size=6),
    st.sampled_from(ENDS),
    st.sampled_from(["", '"usage":null,', '"usage":{},', '"a":"data:",']),
)
def test_the_look_says_what_the_marks_say(first: str, texts: list[str], end: str, head: str) -> None:
    plain = Plain()
    plain.passes(event("a", end, head))
    for text in [first, *texts]:
        block = event(text, end, head)
        assert plain.passes(block) == unmarked(block), block


@given(st.lists(st.lists(PIECES, max_size=4).map("".join), min_size=1, max_size=8))
def test_blocks_of_several_events_too(texts: list[str]) -> None:
    plain = Plain()
    plain.passes(event("a"))
    block = b"".join(event(text) for text in texts)
    assert plain.passes(block) == unmarked(block)


@pytest.mark.parametrize("text", ["hello", "it's", 'say \\"hi\\"', "a_b", "if (x) { y }", "see: this"])
def test_an_event_that_repeats_the_look_is_not_searched_as_a_whole(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    plain = Plain()
    assert plain.passes(event("a"))
    monkeypatch.setattr("toolcalls.dialects.chat.plain.unmarked", lambda _: pytest.fail("searched"))
    assert plain.passes(event(text))


def test_a_server_that_varies_its_events_is_given_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Plain()
    for number in range(20):
        assert plain.passes(event("a", f',"pad":{number}'))
    monkeypatch.setattr(Plain, "_look_at", lambda *_: pytest.fail("looked at"))
    assert plain.passes(event("a", ',"pad":"end"'))


def test_one_that_varies_them_now_and_then_is_not() -> None:
    plain = Plain()
    for number in range(100):
        for _ in range(2):
            assert plain.passes(event("a", f',"created":{number}'))
    assert plain._before == event("", ',"created":99').partition(b'""')[0] + b'"'


@pytest.mark.parametrize("end", ["", ',"usage":null'])
def test_what_it_passes_has_no_call(end: str) -> None:
    plain = Plain()
    assert plain.passes(event("a", end))
    for text in ('x","tool_calls":[{"index":0}],"y":"', 'x","function_call":{"name":"a"},"y":"'):
        assert json.loads(event(text, end)[6:])
        assert not plain.passes(event(text, end))


@pytest.mark.parametrize("blank", ["\n", "\n\n", "\n\n\n", "\r\n", ": ping\n\n\n"])
def test_a_blank_line_too_many_before_the_first_text_hides_no_call(blank: str) -> None:
    call = event("", ',"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]')
    assert not Plain().passes(blank.encode() + call)
