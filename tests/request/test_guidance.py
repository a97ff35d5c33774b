"""`toolfix_retry_guidance=auto`: a result that says that arguments are missing or invalid gets the sentence, no other."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolcalls.ids import Ids
from toolcalls.policy import Policy
from toolcalls.request.mend import mend_request
from toolcalls.request.refusals import Refusals
from toolcalls.request.request import decode

SCHEMA = {"type": "object", "properties": {"filePath": {"type": "string"}}, "required": ["filePath"]}
REWRITE = (
    "Rewrite the input so that it satisfies the expected schema and send the call again; "
    "do not repeat it unchanged and do not give up."
)
MISSING = f"[toolfix] This call failed: Invalid arguments: missing required field(s): filePath. {REWRITE}"


def chat(content: Any, identity: str = "call_1", **_: Any) -> dict[str, Any]:
    call = {"id": identity, "type": "function", "function": {"name": "read", "arguments": "{}"}}
    result = {"role": "tool", "tool_call_id": identity, "content": content}
    tools = [{"type": "function", "function": {"name": "read", "parameters": SCHEMA}}]
    return {"tools": tools, "messages": [{"role": "assistant", "content": None, "tool_calls": [call]}, result]}


def messages(content: Any, identity: str = "toolu_1", **more: Any) -> dict[str, Any]:
    call = {"type": "tool_use", "id": identity, "name": "read", "input": {}}
    result = {"type": "tool_result", "tool_use_id": identity, "content": content, **more}
    said = [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return {"tools": [{"name": "read", "input_schema": SCHEMA}], "messages": said}


def responses(content: Any, identity: str = "call_1", **_: Any) -> dict[str, Any]:
    call = {"type": "function_call", "call_id": identity, "name": "read", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": identity, "output": content}
    return {"tools": [{"type": "function", "name": "read", "parameters": SCHEMA}], "input": [call, result]}


PROTOCOLS = {"chat": chat, "messages": messages, "responses": responses}


def up(protocol: str, sent: dict[str, Any], refusals: Refusals | None = None, **options: Any) -> Any:
    """What goes up instead, the same when it comes again; None where the bytes are those that came."""
    body = json.dumps(sent).encode()
    changed = mend_request(protocol, body, decode(body), Policy(**options), refusals or Refusals())
    if changed is None:
        return None
    assert mend_request(protocol, changed.body, decode(changed.body), Policy(**options), Refusals()) is None
    return json.loads(changed.body)


BLAMING = {
    "Claude Code": "<tool_use_error>InputValidationError: Read failed due to the following issue:\n"
    "The required parameter `file_path` is missing</tool_use_error>",
    "Codex": "failed to parse function arguments: missing field `cmd` at line 1 column 2",
    "opencode": "The read tool was called with invalid arguments: SchemaError(Missing key",
    "opencode's invalid tool": "The arguments provided to the tool are invalid: filePath is missing",
    "qwen-code": "params must have required property 'command'",
    "pi": 'Validation failed for tool "bash":\n  - command: must have required property',
    "the document": "Invalid arguments: missing required field(s): filePath.",
    "an error before it": "Error: Missing required parameter: filePath",
}
FINE = {
    "a file": "# Errors\nInvalid arguments: missing required field(s)",
    "a log": "12:00 ERROR the read tool was called with invalid arguments",
    "another failure": "Error: no such file or directory",
    "nothing": "",
    "already asked": "Invalid arguments: missing required field(s): filePath. "
    "Please rewrite the input so it satisfies the expected schema.",
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("agent", BLAMING)
def test_a_result_that_blames_the_arguments_says_what_is_missing_and_to_rewrite_them(
    protocol: str, agent: str
) -> None:
    write, said = PROTOCOLS[protocol], BLAMING[agent]
    assert up(protocol, write(said)) == write(f"{said}\n\n{MISSING}")
    assert up(protocol, write(said), retry_guidance=False) is None
    assert up(protocol, write(said), request=False) is None


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("what", FINE)
def test_any_other_result_keeps_its_bytes(protocol: str, what: str) -> None:
    assert up(protocol, PROTOCOLS[protocol](FINE[what])) is None


def test_a_result_that_is_marked_as_an_error_may_blame_them_further_in() -> None:
    said = "The tool could not run. Missing required parameter: filePath"
    assert up("messages", messages(said)) is None
    assert up("messages", messages(said, is_error=True)) == messages(f"{said}\n\n{MISSING}", is_error=True)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("reason", "line"),
    [
        ("Invalid arguments: missing required field(s): filePath", MISSING),
        ("two different objects", f"[toolfix] This call failed: two different objects. {REWRITE}"),
        ("it was cut off", "[toolfix] This call was refused: it was cut off; send the call again."),
        (
            "Unknown tool requested by the model: x",
            "[toolfix] This call was refused: Unknown tool requested by the model: x; send the call again.",
        ),
    ],
)
def test_a_refusal_of_ours_asks_to_rewrite_where_it_was_the_arguments(protocol: str, reason: str, line: str) -> None:
    refusals = Refusals()
    identity = Ids("seed").fresh("call_x", "toolu" if protocol == "messages" else "call", reason)
    refusals.add(identity, reason)
    write = PROTOCOLS[protocol]
    assert up(protocol, write("no", identity), refusals) == write(f"no\n\n{line}", "call_x")
