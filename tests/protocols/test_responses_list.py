"""The list of all items at the end: what was mended is written anew, and nothing else that the server lists is lost."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.protocols.responses_wire import Json, Upstream, compact, run
from tests.validators.responses import events_of

BROKEN = '{"command":"ls",}'


def listed(upstream: Upstream) -> list[Json]:
    out, subject = run(upstream.bytes())
    assert subject.failure is None, subject.failure
    last: Json = json.loads(events_of(out)[-1][1])
    return list(last["response"]["output"])


def lacking(upstream: Upstream, index: int, *endings: str) -> Upstream:
    """Without the events of an item that end so."""
    upstream.events = [
        event
        for event in upstream.events
        if event.get("output_index") != index or not event["type"].endswith(endings)
    ]
    return upstream


@pytest.mark.parametrize("end", ["completed", "incomplete", "failed"])
@pytest.mark.parametrize("missing", ["item.done", ""])
@pytest.mark.parametrize("kind", ["reasoning", "search", "message"])
def test_an_item_without_its_end_stays_in_the_list(kind: str, missing: str, end: str) -> None:
    upstream = Upstream()
    first: Any = getattr(upstream, kind)
    upstream = lacking(first(*(["Hi"] if kind == "message" else [])).call("shell", BROKEN).end(end), 0, missing)
    wanted = upstream.output[0]
    assert listed(upstream)[0] == wanted
    assert len(listed(upstream)) == 2


@pytest.mark.parametrize("end", ["completed", "failed"])
@pytest.mark.parametrize("missing", ["item.done", "no such"])
def test_an_item_under_another_id_is_listed_once(missing: str, end: str) -> None:
    upstream = lacking(Upstream().reasoning().message("Hi").call("shell", BROKEN).end(end), 0, missing)
    for entry in upstream.events[-1]["response"]["output"]:
        entry["id"] += "x"
    got = listed(upstream)
    assert [entry["type"] for entry in got] == ["reasoning", "message", "function_call"]
    assert got[0]["encrypted_content"] == upstream.output[0]["encrypted_content"]


@pytest.mark.parametrize("end", ["completed", "failed"])
@pytest.mark.parametrize("place", [0, 1, 2, 3])
@pytest.mark.parametrize("kind", ["reasoning", "web_search_call", "custom_tool_call", "new_kind"])
def test_an_item_that_only_the_list_has_stays_in_its_place(kind: str, place: int, end: str) -> None:
    upstream = Upstream().reasoning().call("shell", BROKEN).search().end(end)
    only = {"id": "only", "type": kind, "call_id": "call_x", "encrypted_content": "g", "summary": []}
    output = upstream.events[-1]["response"]["output"]
    output.insert(place, only)
    got = listed(upstream)
    assert [entry["id"] for entry in got] == [entry["id"] for entry in output]
    assert got[place] == only


def test_an_item_that_only_the_list_has_stays_beside_a_call_of_another_id() -> None:
    upstream = Upstream().reasoning().call("shell", BROKEN).call("now", "{}").end()
    output = upstream.events[-1]["response"]["output"]
    output.insert(2, {"id": "only", "type": "reasoning", "summary": []})
    output[1]["id"] = "fc_other"
    assert [entry["id"] for entry in listed(upstream)] == ["rs_0", "fc_1", "only", "fc_2"]


@pytest.mark.parametrize("end", ["incomplete", "failed"])
@pytest.mark.parametrize("status", ["incomplete", "completed"])
def test_a_mended_call_without_its_end_has_the_status_of_the_list(status: str, end: str) -> None:
    upstream = Upstream().call("shell", BROKEN).end(end)
    document = upstream.events[-1]["response"]
    document["output"][0]["status"] = status
    assert [entry["status"] for entry in listed(lacking(upstream, 0, ".done"))] == [status]
    out, _ = run(compact(document).encode())
    assert [entry["status"] for entry in json.loads(out)["output"]] == [status]


@pytest.mark.parametrize("status", ["completed", "in_progress", "incomplete"])
@pytest.mark.parametrize("end", ["completed", "incomplete", "failed"])
def test_a_valid_call_in_a_document_keeps_its_status(end: str, status: str) -> None:
    upstream = Upstream().call("shell", '{"command":"ls"}').call("now", "{}", status=status).end(end)
    document = upstream.events[-1]["response"]
    document["output"][0]["arguments"] = BROKEN
    document["output"][1]["status"] = status
    out, _ = run(compact(document).encode())
    got = json.loads(out)["output"]
    assert got[0]["arguments"] == '{"command":"ls"}'
    assert got[1] == document["output"][1]
