"""Aggregation off: fragments flow while they are a strict prefix; the rest of a broken call is held and mended."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.protocols.responses_wire import Upstream, answer, run, written
from tests.validators.responses import Final, events_of, validate


def read(body: bytes, **policy: Any) -> Final:
    whole, subject = run(body, aggregate=False, **policy)
    assert subject.failure is None, subject.failure
    assert run(body, range(len(body)), aggregate=False, **policy)[0] == whole
    return validate(whole, one_delta=False)


def test_a_healthy_call_in_pieces_is_byte_identical() -> None:
    body = Upstream(echo=True).message("One").call("shell", '{"comm', 'and":', '"ls"}').end().bytes()
    assert run(body, aggregate=False)[0] == body
    read(body)


def test_each_fragment_leaves_in_the_callback_in_which_it_came() -> None:
    subject = answer(aggregate=False)
    for event in Upstream().call("shell", '{"comm', 'and":', '"ls"}').end().events:
        # The announcement goes with the first fragment.
        assert b"".join(subject.feed(written([event]))) or not event["type"].endswith("delta")


def test_the_rest_of_a_broken_call_is_held_and_mended() -> None:
    upstream = Upstream().call("shell", '{"command":', '"ls",', '"n":True', ",}").end()
    final = read(upstream.bytes())
    assert final.calls() == [("function_call", "shell", '{"command":"ls","n":true}')]
    assert "".join(final.items[0].deltas[:2]) == '{"command":"ls"', "a comma waits for what follows it"


def test_what_cannot_be_continued_is_refused_and_is_no_json() -> None:
    final = read(Upstream().call("shell", '{"command":"l', "s").end("incomplete").bytes())
    assert final.terminal == "response.incomplete"
    assert final.calls() == [("function_call", "shell", '{"command":"ls')]
    assert final.items[0].done and final.items[0].done["status"] == "incomplete"


def test_arguments_only_in_done_come_as_one_delta() -> None:
    upstream = Upstream().call("shell", '{"command":"ls"}').end()
    upstream.events = [event for event in upstream.events if not event["type"].endswith("arguments.delta")]
    assert read(upstream.bytes()).calls() == [("function_call", "shell", '{"command":"ls"}')]


def test_a_freeform_tool_answered_as_a_function_is_still_retyped() -> None:
    final = read(Upstream().call("apply_patch", '{"input":', '"*** Begin Patch"}').end().bytes())
    assert final.calls() == [("custom_tool_call", "apply_patch", "*** Begin Patch")]


def test_names_are_left_as_they_came_for_they_would_need_the_whole_call() -> None:
    final = read(Upstream().call("mcp__node_repl.js", '{"code":', '"1"}').end().bytes())
    assert final.calls() == [("function_call", "mcp__node_repl.js", '{"code":"1"}')]


@pytest.mark.parametrize("kind", ["failed", "error", "nothing"])
def test_before_an_error_an_unfinished_call_gets_no_end(kind: str) -> None:
    upstream = Upstream().call("shell", '{"command":"rm -rf /tmp/a')
    upstream.events = upstream.events[:-2]
    if kind == "failed":
        upstream.end("failed", output=[])
    elif kind == "error":
        upstream.say("error", code="x", message="y", param=None)
    final = read(upstream.bytes())
    assert final.calls() == []
    assert final.terminal in ("response.failed", "error")


ARGUMENTS = [
    '{"command":"ls"}',
    "{'command': 'ls'}",
    '{"command":"ls","n":None,}',
    '{"a":[1,2',
    '{"a":tru',
    "{}{}",
    "",
]


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(ARGUMENTS), st.sets(st.integers(0, 30), max_size=5), st.sampled_from(["completed", "incomplete"])
)
def test_what_was_sent_stays_a_prefix_or_the_call_is_refused(text: str, cuts: set[int], end: str) -> None:
    places = [0, *sorted(cut for cut in cuts if cut < len(text)), len(text)]
    pieces = [text[a:b] for a, b in itertools.pairwise(places)]
    body = Upstream().call("shell", *pieces).message("after").end(end).bytes()
    whole, subject = run(body, aggregate=False)
    final = validate(whole, one_delta=False)
    assert final.texts() == ["after"]
    assert len(subject.outcomes) == 1
    deltas = [data for kind, data in events_of(whole) if kind.endswith("arguments.delta")]
    assert deltas
