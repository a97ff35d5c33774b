"""Deltas like the last one are told by a few bytes, the same ones however many of them come together."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.dialects.responses_wire import Upstream
from tests.splits import feed
from toolcalls.calls import Ids
from toolcalls.dialects.responses.dialect import Responses
from toolcalls.dialects.responses.events import IncomingEvent
from toolcalls.dialects.responses.steady import Steady
from toolcalls.engine import Response
from toolcalls.mend.call import Mender
from toolcalls.policy import Policy
from toolcalls.request.request import Request, read_request
from toolcalls.tools.declared import Tools
from toolcalls.wire.sse import read_event

Json = dict[str, Any]
KIND = "response.output_text.delta"


def delta(number: int, text: str = "a", item: str = "msg_1", kind: str = KIND, end: str = "\n\n") -> bytes:
    data = json.dumps({"type": kind, "sequence_number": number, "item_id": item, "delta": text})
    return f"event: {kind}\ndata: {data}{end}".encode()


def steady(raw: bytes) -> Steady:
    return Steady(IncomingEvent(raw, KIND, "", {"item_id": "msg_1"}))


def counted(look: Steady, block: bytes) -> bool:
    """The rule itself: as many heads as there are events, by the lines that one has, and in each the item."""
    lines = block.count(b"\n")
    events = (b"\n" + block).split(b"\n" + look.head)[1:]
    if not block.startswith(look.head) or look.item not in block:
        return False
    return lines == look.lines or (lines == look.lines * len(events) and all(look.item in event for event in events))


_EVENT = st.builds(
    delta,
    st.sampled_from([5, 99, 100, 12345]),
    st.sampled_from(["a", '"item_id": "msg_1"', "\n"]),
    st.sampled_from(["msg_1", "msg_2"]),
    st.sampled_from([KIND, "response.output_text.done"]),
    st.sampled_from(["\n\n", "\r\n\r\n", "\r\r", "\n\r", "\r\r\n", "\n: x\n\n"]),
)


@given(_EVENT, st.lists(st.lists(_EVENT, min_size=1, max_size=3).map(b"".join), min_size=1, max_size=5))
def test_what_is_covered_is_what_counting_says(first: bytes, blocks: list[bytes]) -> None:
    look = steady(first)
    dialect = Responses(Request(), Policy(), Mender(Request().tools, Policy(), Ids(""), lambda _: None))
    dialect._speech.steady = look
    for block in blocks:
        assert look.covers(block) == dialect.try_pass(block) == counted(look, block)


@pytest.mark.parametrize("number", [9, 10, 99, 100, 1000])
def test_a_longer_number_moves_the_item_and_nothing_else(number: int) -> None:
    look = steady(delta(8))
    assert look.covers(delta(9)) and look.covers(delta(number)) and look.covers(delta(9) + delta(number))
    assert not look.covers(delta(number, item="msg_2"))


def test_an_item_that_is_named_behind_its_text_is_still_told_from_another() -> None:
    """Events that are numbered before their text may vary behind it, but not in the item that they belong to."""

    def said(number: int, item: str) -> bytes:
        data = {"type": KIND, "sequence_number": number, "delta": " It is so.", "item_id": item, "output_index": 0}
        return f"event: {KIND}\ndata: {json.dumps({**data, 'content_index': 0})}\n\n".encode()

    tools = Tools.read({"tools": [{"type": "function", "name": "Bash", "parameters": {}}]})
    question = Request(tools=tools)
    dialect = Responses(question, Policy(), Mender(tools, Policy(), Ids(""), lambda _: None))
    for number in range(10, 13):
        dialect.read(read_event(said(number, "msg_1")))
    assert dialect.try_pass(said(13, "msg_1")) and dialect.try_pass(said(14, "msg_1"))
    assert not dialect.try_pass(said(15, "msg_2"))


@pytest.mark.parametrize("form", ["data: {data}\nevent: {kind}\n\n", "event: {kind}\rdata: {data}\n\n"])
@pytest.mark.parametrize("declared", [[], [{"name": "Read"}]])
def test_events_that_do_not_begin_with_a_line_of_their_own_are_read(form: str, declared: list[Json]) -> None:
    upstream = Upstream().message("Hi", " there", " you").call("Read", '{"file_path":', '"/a.py"}').end()
    events = [form.format(data=json.dumps(event), kind=event["type"]).encode() for event in upstream.events]
    question = read_request({"tools": declared, "stream": True})
    outs = set()
    for at in range(len(events)):
        answer = Response("responses", question, seed="s")
        outs.add(feed(answer, [*events[:at], b"".join(events[at:])]))
        assert len(answer.outcomes) == 1
    assert len(outs) == 1
