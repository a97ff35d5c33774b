"""The event stream on bytes: framing, fields, splits."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.splits import cut, splits
from toolcalls.wire import sse

BODY = (
    b"\xef\xbb\xbf: comment\n\n"
    b"data: one\n\n"
    b"data:no space\r\n\r\n"
    b"event: message\rdata: a\rdata: b\r\r"
    b"data\n\n"
    b"id\nretry: 10\n\n"
    b"\n\n\ndata: after blank lines\n\n"
    b"event: ping\ndata: {}\n\n"
    b"data: last \xe6\xb8\x90"
)


def cut_into_events(pieces: list[bytes]) -> list[bytes]:
    """The bytes of each event, and the rest without a blank line, if there is any."""
    events: list[bytes] = []
    rest, searched = bytearray(), 0
    for piece in pieces:
        rest += piece
        complete, end = sse.cut(rest, searched)
        searched = max(0, len(rest) - 3) if end < 0 else 0
        events += complete
        del rest[: max(end, 0)]
    return [*events, bytes(rest)] if rest else events


def read_all(pieces: list[bytes]) -> list[tuple[str | None, str]]:
    events = map(sse.read_event, cut_into_events(pieces))
    return [(event.data, event.type) for event in events if event.data is not None]


EXPECTED = [
    ("one", ""),
    ("no space", ""),
    ("a\nb", "message"),
    ("", ""),
    ("after blank lines", ""),
    ("{}", "ping"),
    ("last 渐", ""),
]


def test_every_oddity_of_the_standard_is_read() -> None:
    assert read_all([BODY]) == EXPECTED


def test_the_events_do_not_depend_on_the_cuts() -> None:
    for pieces in splits(BODY):
        assert read_all(pieces) == EXPECTED


@given(st.lists(st.sampled_from([b"data: x", b"\n", b"\r", b"\r\n", b":c", b"data:y", b"event: e"]), max_size=30))
def test_no_byte_is_lost_and_no_split_matters(parts: list[bytes]) -> None:
    body = b"".join(parts)
    whole = cut_into_events([body])
    assert b"".join(whole) == body
    for size in (1, 2, 3):
        assert cut_into_events(cut(body, size)) == whole


BLANK_LINE = re.compile(rb"\r\r|(?>\r\n|\n)(?>\r\n|\n|\r)")
"""An LF behind a second CR belongs to the next event: it may arrive when this one is already sent."""
LINES = st.lists(
    st.sampled_from([b"data: x", b"\n", b"\r", b"\r\n", b"\n\n", b"\r\n\r\n", b"event: e\r\n", b"y" * 500]),
    max_size=14,
)


@given(LINES)
def test_whatever_the_line_ends_a_block_ends_with_its_last_blank_line(parts: list[bytes]) -> None:
    block = b"".join(parts)
    # After an LF a CR is half of a CRLF: without its LF the event is not complete.
    most = len(block) - block.endswith(b"\n\r")
    ends = [match.end() for match in BLANK_LINE.finditer(block)]
    assert sse.cut(block)[1] == max((end for end in ends if end <= most), default=-1)


@given(LINES)
def test_whatever_the_line_ends_a_block_is_cut_behind_each_blank_line(parts: list[bytes]) -> None:
    block = b"".join(parts)
    ends = [0, *(match.end() for match in BLANK_LINE.finditer(block)), len(block)]
    assert sse.split(block) == [block[start:end] for start, end in pairwise(ends) if start < end]


@pytest.mark.parametrize("run", range(2, 9))
def test_of_a_run_of_line_feeds_the_odd_one_belongs_to_the_next_event(run: int) -> None:
    body = b"data: a" + b"\n" * run
    assert sse.cut(body)[1] == len(body) - run % 2


def test_a_lone_surrogate_is_written_as_its_escape() -> None:
    assert sse.write('{"a":"\ud83d"}') == b'data: {"a":"\\ud83d"}\n\n'


def test_invalid_utf8_is_replaced_and_not_raised() -> None:
    assert sse.read_event(b"data: \xff\xfe\n\n").data == "\ufffd\ufffd"


@given(st.lists(st.sampled_from([b"data: x", b"\n", b"event: e\n", b"y" * 500]), max_size=12))
def test_a_block_is_split_at_its_blank_lines_and_nowhere_else(parts: list[bytes]) -> None:
    block = b"".join(parts) + b"\n\n"
    events = sse.split(block)
    assert b"".join(events) == block
    assert events == [match[0] for match in re.finditer(rb"(?s).*?(?:\n\n|\Z)", block) if match[0]]


@pytest.mark.parametrize(
    ("raw", "kind", "data"),
    [
        (b'data: data: {"a":1}\n\n', "", '{"a":1}'),
        (b'data:data:{"a":1}\n\n', "", '{"a":1}'),
        (b'data: data: data: {"a":1}\n\n', "", '{"a":1}'),
        (b"data: data: [DONE]\n\n", "", "[DONE]"),
        (b'event: ping\ndata: data: {"a":1}\n\n', "ping", '{"a":1}'),
        (b'data: event: ping\ndata: data: {"a":1}\n\n', "ping", '{"a":1}'),
        (b"data: data: a\ndata: data: b\n\n", "", "a\nb"),
    ],
)
def test_an_event_wrapped_as_data_is_unwrapped(raw: bytes, kind: str, data: str) -> None:
    event = sse.unwrapped(sse.read_event(raw))
    assert (event.type, event.data) == (kind, data)
    assert sse.read_event(event.raw) == event


@pytest.mark.parametrize(
    "raw", [b'data: {"a":"data: {}"}\n\n', b"event: data:\ndata: x\n\n", b"data: event: x\n\n", b": c\n\n"]
)
def test_what_is_no_event_inside_stays_as_it_is(raw: bytes) -> None:
    event = sse.read_event(raw)
    assert sse.unwrapped(event) is event


@pytest.mark.parametrize("tail", [b"", b"\n", b"\r", b"\r\n", b"\n\n", b"\r\n\r\n", b"\r\r"])
def test_an_event_is_ended_once(tail: bytes) -> None:
    raw = sse.ended(b"data: x" + tail)
    assert sse.split(raw) == [raw] and raw.startswith(b"data: x" + tail)
    assert sse.ended(raw) == raw


def test_an_error_line_of_llama_cpp_is_data_of_an_error_event() -> None:
    assert sse.read_event(b'error: {"code":500}\n\n')[1:] == ('{"code":500}', "error")
    assert sse.read_event(b"error: x\ndata: y\n\n")[1:] == ("y", "")


@given(st.lists(st.sampled_from([b"", b"data: x", b"data: " + b"y" * 600, b"event: e\ndata: {}"]), min_size=1))
def test_long_and_short_events_are_cut_at_the_same_places(said: list[bytes]) -> None:
    block = b"\n\n".join([*said, b""])
    assert sse.split(block) == [one + b"\n\n" for one in said]
