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


@pytest.mark.parametrize("request_", [UNDECLARED, REQUEST])
@pytest.mark.parametrize("missing", ["item.added", "input.delta", "input.done", "no such"])
@pytest.mark.parametrize("name", ["other", "apply_patch"])
def test_a_freeform_call_without_its_beginning_is_one_call(name: str, missing: str, request_: Json) -> None:
    upstream = without(Upstream().custom(name, "a", "bc").message("Hi").end(), "item.added", missing)
    final = read(upstream, request_)
    assert final.calls() == [("custom_tool_call", name, "abc")]
    assert [entry["type"] for entry in final.response["output"]] == ["custom_tool_call", "message"]
    assert final.texts() == ["Hi"]


@pytest.mark.parametrize("request_", [UNDECLARED, REQUEST])
def test_a_freeform_call_without_its_beginning_behind_another_is_one_call(request_: Json) -> None:
    upstream = Upstream().call("shell", '{"command":"ls",}').custom("other", "a", "bc").custom("other", "d").end()
    final = read(without(upstream, "item.added", of=(1,)), request_)
    assert final.calls()[1:] == [("custom_tool_call", "other", "abc"), ("custom_tool_call", "other", "d")]


@pytest.mark.parametrize("end", [[], None])
def test_calls_without_their_ends_go_before_what_follows(end: list[Json] | None) -> None:
    upstream = (
        Upstream().call("shell", '{"command":"ls"}').custom("apply_patch", "*** Begin Patch").message("Hi").end()
    )
    if end is not None:
        upstream.events[-1]["response"]["output"] = end
    out, _ = run(without(upstream, ".done", of=(0, 1)).bytes())
    events = [json.loads(data) for _, data in events_of(out)]
    began = [event["output_index"] for event in events if event["type"].endswith("item.added")]
    # How the freeform call goes on is not known before the list, which may lack it.
    assert began == ([0, 2, 1] if end is None else [0, 2])
    assert validate(out).calls()[0] == ("function_call", "shell", '{"command":"ls"}')
