"""Freeform calls that lack events: their beginning, or their end."""

from __future__ import annotations

import json

import pytest

from tests.protocols.responses_wire import REQUEST, Json, Upstream, run
from tests.validators.responses import Final, events_of, validate

UNDECLARED: Json = {"model": "gpt-test", "stream": True, "input": "hi"}


def without(upstream: Upstream, *endings: str, of: tuple[int, ...] = (0,)) -> Upstream:
    upstream.events = [
        event
        for event in upstream.events
        if event.get("output_index") not in of or not event["type"].endswith(endings)
    ]
    return upstream


def read(upstream: Upstream, request: Json = REQUEST) -> Final:
    out, subject = run(upstream.bytes(), request=request)
    assert subject.failure is None, subject.failure
    return validate(out)


MISSING = ["item.added", "input.delta", "input.done", "no such"]


@pytest.mark.parametrize("missing", MISSING)
def test_a_freeform_call_without_its_beginning_is_one_call(missing: str) -> None:
    upstream = without(Upstream().custom("apply_patch", "a", "bc").message("Hi").end(), "item.added", missing)
    final = read(upstream)
    assert final.calls() == [("custom_tool_call", "apply_patch", "abc")]
    assert [entry["type"] for entry in final.response["output"]] == ["custom_tool_call", "message"]
    assert final.texts() == ["Hi"]


def ended(upstream: Upstream, request: Json) -> list[Json]:
    """The calls that end with an event of their own, as agents run them, with or without a beginning."""
    out, subject = run(upstream.bytes(), request=request)
    assert subject.failure is None, subject.failure
    events = [json.loads(data) for kind, data in events_of(out) if kind.endswith("item.done")]
    return [event["item"] for event in events if event["item"]["type"].endswith("_call")]


@pytest.mark.parametrize("missing", MISSING)
def test_one_that_nobody_declared_gets_no_beginning_either(missing: str) -> None:
    upstream = without(Upstream().custom("apply_patch", "a", "bc").message("Hi").end(), "item.added", missing)
    assert ended(upstream, UNDECLARED) == upstream.output[:1]


@pytest.mark.parametrize("request_", [UNDECLARED, REQUEST])
def test_a_freeform_call_without_its_beginning_behind_another_is_one_call(request_: Json) -> None:
    upstream = Upstream().call("shell", '{"command":"ls",}').custom("other", "a", "bc").custom("other", "d").end()
    calls = ended(without(upstream, "item.added", of=(1,)), request_)
    assert {call["id"]: call.get("input") for call in calls} == {"fc_0": None, "ctc_1": "abc", "ctc_2": "d"}


@pytest.mark.parametrize("end", [[], None])
def test_calls_without_their_ends_are_not_lost(end: list[Json] | None) -> None:
    upstream = (
        Upstream().call("shell", '{"command":"ls"}').custom("apply_patch", "*** Begin Patch").message("Hi").end()
    )
    if end is not None:
        upstream.events[-1]["response"]["output"] = end
    out, _ = run(without(upstream, ".done", of=(0, 1)).bytes())
    events = [json.loads(data) for _, data in events_of(out)]
    began = [event["output_index"] for event in events if event["type"].endswith("item.added")]
    # How the freeform call goes on is not known before the list, which may lack it; so its calls wait for that.
    assert began == ([2, 0, 1] if end is None else [2, 0])
    assert validate(out).calls()[0] == ("function_call", "shell", '{"command":"ls"}')
