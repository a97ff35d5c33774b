"""A Responses answer as one JSON document gives what its stream would have given."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.protocols.responses_wire import Json, Upstream, compact, run
from tests.validators.responses import validate


def document(upstream: Upstream, **fields: Any) -> Json:
    return {**upstream.events[-1]["response"], **fields}


def mended(response: Json, **policy: Any) -> Json:
    body = compact(response).encode()
    out, subject = run(body, range(0, len(body), 7), **policy)
    assert subject.failure is None, subject.failure
    result: Json = json.loads(out)
    return result


CASES = [
    lambda up: up.message("a").call("shell", '{"command":"ls"}'),
    lambda up: up.reasoning("hm").call("shell", "{'command': 'ls'}").message("b"),
    lambda up: up.call("now", "").call("shell", '{"command":"x",}'),
    lambda up: up.call("now", "{broken"),
    lambda up: up.call("apply_patch", json.dumps({"patch": "*** Begin Patch\n*** End Patch"})),
    lambda up: up.call("mcp__node_repl.js", '{"code":"1"}').custom("apply_patch", "*** x").search(),
]


@pytest.mark.parametrize("make", CASES)
@pytest.mark.parametrize("end", ["completed", "incomplete"])
def test_the_document_has_the_calls_of_the_stream(make: Any, end: str) -> None:
    upstream = make(Upstream()).end(end)
    out, streamed = run(upstream.bytes())
    final = validate(out)
    body, subject = run(compact(document(upstream)).encode())
    result = json.loads(body)
    assert [outcome.as_json() for outcome in subject.outcomes] == [o.as_json() for o in streamed.outcomes]
    keys = ("type", "name", "namespace", "call_id", "arguments", "input")
    told = [[item.get(key) for key in keys] for item in final.response["output"]]
    assert [[item.get(key) for key in keys] for item in result["output"]] == told
    assert result["status"] == end


@pytest.mark.parametrize("indent", [None, 2])
def test_a_healthy_document_keeps_its_bytes(indent: int | None) -> None:
    upstream = Upstream(echo=True).reasoning("hm").message("a").call("shell", '{"command":"ls"}').search().end()
    body = json.dumps(document(upstream), indent=indent).encode()
    assert run(body)[0] == body


@pytest.mark.parametrize(
    "body",
    [
        b'{"error":{"message":"no","type":"x"}}',
        b"[]",
        b'{"output":"x"}',
        b'{"id":"r","status":"queued","output":[]}',
        b"{",
    ],
)
def test_what_is_no_finished_response_passes(body: bytes) -> None:
    assert run(body)[0] == body


def test_missing_fields_are_filled() -> None:
    output: list[Json] = [
        {"type": "reasoning", "id": "rs_1"},
        {"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": "a"}]},
        {"type": "function_call", "name": "shell", "arguments": {"command": "ls"}},
    ]
    result = mended({"id": "resp_1", "object": "response", "status": "completed", "output": output})
    assert result["output"][0]["summary"] == []
    assert result["output"][1]["role"] == "assistant"
    assert result["output"][2]["arguments"] == '{"command":"ls"}'
    assert result["output"][2]["call_id"] and result["output"][2]["id"]


def test_call_ids_that_repeat_become_unique() -> None:
    upstream = Upstream().call("shell", '{"command":"a"}').call("shell", '{"command":"b"}').end()
    for item in upstream.output:
        item["call_id"] = "call_x"
    result = mended(document(upstream))
    assert len({item["call_id"] for item in result["output"]}) == 2


def test_a_failed_response_keeps_its_failure_and_no_unfinished_call() -> None:
    upstream = (
        Upstream().call("shell", '{"command":"ls"}').call("shell", '{"command":"l').end("failed", error={"code": "x"})
    )
    result = mended(document(upstream))
    assert result["status"] == "failed"
    assert [item["arguments"] for item in result["output"]] == ['{"command":"ls"}']
