"""Chat, not streamed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolcalls.engine import Response, mend_whole
from toolcalls.policy import Policy
from toolcalls.request.request import Request, read_request


def body(message: Any, finish: str | None = "tool_calls", **more: Any) -> bytes:
    answer = {
        "id": "c",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }
    return json.dumps({**answer, **more}, ensure_ascii=False, indent=1).encode()


def call(arguments: Any, name: str = "Bash", identity: Any = "a") -> dict[str, Any]:
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def mended(raw: bytes, question: Request | None = None, policy: Policy | None = None) -> Any:
    outputs = {mend_whole(Response("chat", question, policy), raw, size) for size in (0, 1, 7, 100)}
    assert len(outputs) == 1
    return json.loads(outputs.pop())["choices"][0]


def test_a_valid_body_stays_as_it_is() -> None:
    raw = body({"role": "assistant", "content": None, "tool_calls": [call('{"command": "ls"}')]})
    assert mend_whole(Response("chat"), raw) == raw


def test_a_body_without_calls_stays_as_it_is() -> None:
    raw = body({"role": "assistant", "content": "hello"}, "stop")
    assert mend_whole(Response("chat"), raw) == raw


@pytest.mark.parametrize(
    "raw", [b"{", b"[]", b"{}", b'{"choices": null}', b'{"error": {"message": "x"}, "choices": []}', b"[1"]
)
def test_what_is_no_answer_passes(raw: bytes) -> None:
    assert mend_whole(Response("chat"), raw) == raw


def test_an_object_becomes_one_json_string_and_empty_content_null() -> None:
    choice = mended(body({"role": "assistant", "content": "", "tool_calls": [call({"a": [1, "ä"]})]}, None))
    assert choice["message"]["tool_calls"][0]["function"]["arguments"] == '{"a":[1,"ä"]}'
    assert choice["message"]["content"] is None
    assert choice["finish_reason"] == "tool_calls"


def test_a_python_dict_is_mended_and_text_is_kept() -> None:
    choice = mended(
        body({"role": "assistant", "content": "Let me look.", "tool_calls": [call("{'a': True}")]}, "stop")
    )
    assert choice["message"]["tool_calls"][0]["function"]["arguments"] == '{"a":true}'
    assert choice["message"]["content"] == "Let me look."
    assert choice["finish_reason"] == "tool_calls"


def test_null_content_drops_the_text() -> None:
    raw = body({"role": "assistant", "content": "Let me look.", "tool_calls": [call("{}")]})
    assert mended(raw, policy=Policy(null_content=True))["message"]["content"] is None


def test_missing_ids_and_types_are_filled() -> None:
    bare = {"function": {"name": "Bash", "arguments": "{}"}}
    calls = [bare, call('{"command":"a"}', identity="x"), call('{"command":"b"}', identity="x")]
    choice = mended(body({"role": "assistant", "tool_calls": calls}))
    made = choice["message"]["tool_calls"]
    assert len({entry["id"] for entry in made}) == 3
    assert {entry["type"] for entry in made} == {"function"}


@pytest.mark.parametrize("reason", ["tool_calls", "TOOL_CALLS", "tool_use"])
def test_a_reason_that_promises_calls_becomes_stop_without_one(reason: str) -> None:
    choice = mended(body({"role": "assistant", "content": "x", "tool_calls": []}, reason))
    assert choice["finish_reason"] == "stop"


def test_an_entry_that_says_nothing_is_no_call() -> None:
    choice = mended(body({"role": "assistant", "content": "x", "tool_calls": [{}]}, None))
    assert choice == {"index": 0, "message": {"role": "assistant", "content": "x"}, "finish_reason": "stop"}


def test_an_old_function_call_becomes_a_tool_call_where_tools_were_declared() -> None:
    message = {"role": "assistant", "function_call": {"name": "Bash", "arguments": "{'a': 1}"}}
    choice = mended(body(message, "function_call"), read_request({"tools": [{"function": {"name": "Bash"}}]}))
    assert choice["message"]["tool_calls"][0]["function"] == {"name": "Bash", "arguments": '{"a":1}'}
    assert "function_call" not in choice["message"]
    assert choice["finish_reason"] == "tool_calls"
    legacy = mended(body(message, "function_call"), read_request({"functions": [{"name": "Bash"}]}))
    assert legacy["message"]["function_call"] == {"name": "Bash", "arguments": '{"a":1}'}


def test_calls_in_another_choice_move_to_the_first() -> None:
    raw = json.dumps(
        {
            "choices": [
                {"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"},
                {
                    "index": 1,
                    "message": {"role": "assistant", "tool_calls": [call("{}")]},
                    "finish_reason": "tool_calls",
                },
            ]
        }
    ).encode()
    answer = json.loads(mend_whole(Response("chat", read_request({"n": 1})), raw))
    assert [choice["message"].get("content") for choice in answer["choices"]] == ["ok", None]
    assert "tool_calls" not in answer["choices"][1]["message"]
    assert answer["choices"][0]["message"]["tool_calls"][0]["id"] == "a"
    assert answer["choices"][0]["finish_reason"] == "tool_calls"
    assert mend_whole(Response("chat", read_request({"n": 2})), raw).count(b'"index"') == 2


def test_a_refused_call_never_runs() -> None:
    asked = read_request({"tools": [{"function": {"name": "Bash", "parameters": {"required": ["command"]}}}]})
    choice = mended(body({"role": "assistant", "tool_calls": [call('{"command": "rm -rf /')]}, "length"), asked)
    assert choice["message"]["tool_calls"][0]["function"]["arguments"] == "{}"
    assert choice["finish_reason"] == "length"


def test_empty_content_beside_valid_calls_stays() -> None:
    raw = body({"role": "assistant", "content": "", "tool_calls": [call('{"command": "ls"}')]})
    assert mend_whole(Response("chat"), raw) == raw


def test_a_document_without_choices_passes_with_its_usage() -> None:
    raw = json.dumps({"object": "response", "output": [], "usage": {"total_tokens": 3}}).encode()
    assert mend_whole(Response("chat"), raw) == raw


def test_an_entry_whose_function_is_no_object_is_no_failure() -> None:
    entry = {"id": "a", "function": "Bash", "name": "Bash", "arguments": "{'a': 1}"}
    choice = mended(body({"role": "assistant", "tool_calls": [entry]}))
    assert choice["message"]["tool_calls"][0]["function"] == {"name": "Bash", "arguments": '{"a":1}'}
