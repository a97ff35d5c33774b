"""Messages answers that come as one JSON document give what the stream would have given."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.protocols.messages_wire import REQUEST, Run, begin, event, mended, start, stop
from tests.validators import messages as strict
from toolcalls.ids import restore

READ_A = {"type": "tool_use", "id": "toolu_01", "name": "Read", "input": {"file_path": "/a"}}


def answer(*content: Any, why: str | None = "tool_use", **more: Any) -> dict[str, Any]:
    return {
        "id": "msg_01", "type": "message", "role": "assistant", "model": "glm-5", "content": list(content),
        "stop_reason": why, "stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 7}, **more,
    }  # fmt: skip


def through(said: dict[str, Any], **policy: Any) -> dict[str, Any]:
    return json.loads(mended(json.dumps(said).encode(), **policy)[0])


def streamed(said: dict[str, Any]) -> strict.Message:
    """The same answer as a stream that has the whole of each block in its start."""
    blocks = b"".join(start(at, **block) + stop(at) for at, block in enumerate(said["content"]))
    told = {"stop_reason": said["stop_reason"], "stop_sequence": None}
    tail = event({"type": "message_delta", "delta": told, "usage": {"output_tokens": 7}}) + event(
        {"type": "message_stop"}
    )
    return strict.read(Run().whole(begin() + blocks + tail))


@pytest.mark.parametrize(
    "said",
    [
        answer({"type": "text", "text": "Done."}, why="end_turn"),
        answer({"type": "text", "text": "So."}, READ_A),
        answer({**READ_A, "caller": {"type": "direct"}}, {**READ_A, "id": "t2", "input": {}, "name": "TaskList"}),
        answer({"type": "thinking", "thinking": "Hm", "signature": "Eq=="}, READ_A, why="max_tokens"),
        answer({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": "x"}, why="tool_use"),
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
        {"content": "no list"},
        {"id": "msg_1", "object": "thread.message", "content": [{"type": "text", "text": {"value": "Hi"}}]},
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_a_healthy_body_stays_the_same_bytes(said, indent):
    body = json.dumps(said, indent=indent, ensure_ascii=True).encode()
    assert mended(body)[0] == body


@pytest.mark.parametrize("body", [b"{not json", b"[1, 2]", b'{"content": []', b"  ", b'{"type":"message"}'])
def test_a_body_that_is_none_of_ours_passes(body):
    assert mended(body)[0] == body


@pytest.mark.parametrize(
    "given",
    ['{"file_path": "/a"}', [{"file_path": "/a"}], "{'file_path': '/a'}", {"file_path": "/a"}],
    ids=["string", "list", "Python", "object"],
)
@pytest.mark.parametrize("why", ["tool_use", "end_turn", None])
def test_an_input_becomes_an_object_and_the_reason_tool_use(given, why):
    said = answer({**READ_A, "input": given}, why=why)
    out = through(said)
    assert out["content"] == [READ_A]
    assert out["stop_reason"] == "tool_use"
    assert streamed(said).calls == [("Read", {"file_path": "/a"})]
    assert streamed(said).stop_reason == "tool_use"


@pytest.mark.parametrize("given", [{}, [], "", None, "{}"])
def test_nothing_is_an_empty_object(given):
    said = answer({**READ_A, "name": "TaskList", "input": given})
    assert through(said)["content"][0]["input"] == {}
    assert streamed(said).calls == [("TaskList", {})]


def test_a_missing_input_is_added():
    block = {"type": "tool_use", "id": "toolu_01", "name": "TaskList"}
    assert through(answer(block))["content"] == [{**block, "input": {}}]


@pytest.mark.parametrize("given", [{}, "", '{"file_path": "/sr'])
def test_a_body_cut_off_in_its_last_call_does_not_run_it(given):
    _, outcomes = mended(
        json.dumps(answer(READ_A, {**READ_A, "id": "t2", "input": given}, why="max_tokens")).encode()
    )
    assert [outcome.status for outcome in outcomes] == ["valid", "refused"]


def test_a_call_without_arguments_that_others_follow_was_not_cut_off():
    empty = {"type": "tool_use", "id": "t0", "name": "TaskList", "input": {}}
    said = answer(empty, {**READ_A, "input": '{"file_path": "/sr'}, why="max_tokens")
    _, outcomes = mended(json.dumps(said).encode())
    assert [outcome.status == "refused" for outcome in outcomes] == [False, True]
    assert streamed(said).calls == [("TaskList", {}), ("Read", {})]


def test_tool_use_without_a_call_becomes_end_turn():
    assert through(answer({"type": "text", "text": "Done."}))["stop_reason"] == "end_turn"


def test_missing_usage_is_filled():
    said = answer({"type": "text", "text": "Done."}, why="end_turn")
    del said["usage"]
    assert through(said)["usage"] == {"input_tokens": 0, "output_tokens": 0}


def test_illegal_and_repeated_ids_are_replaced():
    out = through(answer({**READ_A, "id": "read:0"}, READ_A, {**READ_A, "input": {"file_path": "/b"}}))
    first, second, third = (block["id"] for block in out["content"])
    assert (restore(first), second, restore(third)) == ("read:0", "toolu_01", "toolu_01")


def test_a_refused_call_that_would_run_on_nothing_goes_to_the_invalid_tool_declared_or_not():
    out = through(answer(READ_A, {**READ_A, "id": "t2", "name": "TaskList", "input": "{'a': "}))
    assert out["content"][0] == READ_A
    sent = out["content"][1]
    assert (sent["name"], sent["input"]["tool"], sent["input"]["receivedArgs"]) == ("invalid", "TaskList", "{'a': ")
    assert out["stop_reason"] == "tool_use"


def test_a_refused_call_goes_to_the_invalid_tool_where_it_is_declared():
    request = {**REQUEST, "tools": [*REQUEST["tools"], {"name": "invalid", "input_schema": {"type": "object"}}]}
    body = json.dumps(answer({**READ_A, "input": "nonsense"})).encode()
    [block] = json.loads(mended(body, request)[0])["content"]
    assert block["name"] == "invalid"
    assert block["input"]["tool"] == "Read"


def test_with_the_original_as_fallback_the_input_stays_as_it_came():
    said = answer({**READ_A, "input": "nonsense"})
    assert through(said, fallback="original")["content"][0]["input"] == "nonsense"


def test_a_text_around_calls_stays_one_block_as_in_a_stream():
    call = '<tool_call>\n{"name": "Read", "arguments": {"file_path": "/a"}}\n</tool_call>'
    foreign = '<tool_call>\n{"name": "Nope", "arguments": {}}\n</tool_call>'
    said = answer({"type": "text", "text": f"I do it.\n{foreign}\n{call}\n"}, why="end_turn")
    text, found = through(said)["content"]
    assert text == {"type": "text", "text": f"I do it.\n{foreign}\n"}
    assert (found["type"], found["name"], found["input"]) == ("tool_use", "Read", {"file_path": "/a"})


def test_a_call_without_input_stays_as_it_came_where_arguments_are_not_mended():
    body = json.dumps(answer({"type": "tool_use", "id": "toolu_01", "name": "Read"})).encode()
    assert mended(body, arguments=False, fallback="original")[0] == body
