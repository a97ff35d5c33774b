"""A call without a name in the history: hosts refuse it for ever, so it gets one, and its result stays its result."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolcalls.policy import Policy
from toolcalls.request.mend import mend_request
from toolcalls.request.refusals import Refusals
from toolcalls.request.request import decode

SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
ABSENT = object()
NAMES = [ABSENT, "", " ", "⚙", None]


def _named(entry: dict[str, Any], name: object) -> dict[str, Any]:
    return entry if name is ABSENT else {**entry, "name": name}


def _chat(name: object, arguments: dict[str, Any]) -> dict[str, Any]:
    call = {"id": "call_1", "type": "function", "function": _named({"arguments": json.dumps(arguments)}, name)}
    result = {"role": "tool", "tool_call_id": "call_1", "content": "no such tool", "name": name}
    tools = [{"type": "function", "function": {"name": "bash", "parameters": SCHEMA}}]
    said = {"role": "assistant", "content": None, "tool_calls": [call]}
    if name is ABSENT:
        result["name"] = None
    return {"tools": tools, "messages": [{"role": "user", "content": "Go."}, said, result]}


def _messages(name: object, arguments: dict[str, Any]) -> dict[str, Any]:
    call = _named({"type": "tool_use", "id": "toolu_1", "input": arguments}, name)
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "no such tool", "is_error": True}
    said = [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    tools = [{"name": "bash", "input_schema": SCHEMA}]
    return {"tools": tools, "messages": [{"role": "user", "content": "Go."}, *said]}


def _responses(name: object, arguments: dict[str, Any]) -> dict[str, Any]:
    call = _named({"type": "function_call", "call_id": "call_1", "arguments": json.dumps(arguments)}, name)
    result = {"type": "function_call_output", "call_id": "call_1", "output": "no such tool"}
    tools = [{"type": "function", "name": "bash", "parameters": SCHEMA}]
    return {"tools": tools, "input": [{"role": "user", "content": "Go."}, call, result]}


PROTOCOLS = {"chat": _chat, "messages": _messages, "responses": _responses}


def _up(protocol: str, sent: dict[str, Any], **options: Any) -> Any:
    body = json.dumps(sent).encode()
    changed = mend_request(protocol, body, decode(body), Policy(**options), Refusals())
    return json.loads(changed.body) if changed else None


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", NAMES)
def test_it_gets_the_name_of_the_one_tool_that_its_arguments_fit(protocol: str, name: object) -> None:
    write = PROTOCOLS[protocol]
    expected = json.dumps(write("bash", {"command": "ls"}), sort_keys=True)
    up = _up(protocol, write(name, {"command": "ls"}))
    assert json.dumps(up, sort_keys=True) == expected
    assert _up(protocol, up) is None, "what was mended is mended again"


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("arguments", [{}, {"zzz": 1}])
def test_it_gets_the_name_of_the_invalid_tool_where_it_is_none(
    protocol: str, name: object, arguments: dict[str, Any]
) -> None:
    write = PROTOCOLS[protocol]
    for options, good in (({}, "invalid"), ({"invalid_tool": "bad_call"}, "bad_call")):
        assert _up(protocol, write(name, arguments), **options) == write(good, arguments)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_without_declared_tools_it_gets_the_name_of_the_invalid_tool(protocol: str) -> None:
    request = PROTOCOLS[protocol]("", {"command": "ls"})
    del request["tools"]
    named = PROTOCOLS[protocol]("invalid", {"command": "ls"})
    del named["tools"]
    assert _up(protocol, request) == named


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_named_call_and_a_request_that_is_not_to_be_mended_keep_their_bytes(protocol: str) -> None:
    assert _up(protocol, PROTOCOLS[protocol]("bash", {"command": "ls"})) is None
    assert _up(protocol, PROTOCOLS[protocol]("", {}), request=False) is None


def test_the_old_form_of_chat_gets_a_name_too() -> None:
    said = {"role": "assistant", "content": None, "function_call": {"name": "", "arguments": '{"command": "ls"}'}}
    request = {"functions": [{"name": "bash", "parameters": SCHEMA}], "messages": [said]}
    assert _up("chat", request)["messages"][0]["function_call"]["name"] == "bash"
