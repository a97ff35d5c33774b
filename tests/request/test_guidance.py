"""`toolfix_retry_guidance=auto`: the call itself does not fit its schema, or its agent refused it; never the words of a program."""

from __future__ import annotations

import json
import re
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
LACKS = "Invalid arguments: missing required field(s): filePath."
MISSING = f"[toolfix] This call failed: {LACKS} {REWRITE}"
FAILED = f"[toolfix] This call failed. {REWRITE}"
UNFIT = f"[toolfix] This call does not fit its schema: {LACKS} If it failed, {REWRITE[0].lower()}{REWRITE[1:]}"
FITS = {"filePath": "/a"}


def chat(content: Any, identity: str = "call_1", given: Any = None, **_: Any) -> dict[str, Any]:
    call = {"id": identity, "type": "function", "function": {"name": "read", "arguments": json.dumps(given or {})}}
    result = {"role": "tool", "tool_call_id": identity, "content": content}
    tools = [{"type": "function", "function": {"name": "read", "parameters": SCHEMA}}]
    return {"tools": tools, "messages": [{"role": "assistant", "content": None, "tool_calls": [call]}, result]}


def messages(content: Any, identity: str = "toolu_1", given: Any = None, **more: Any) -> dict[str, Any]:
    call = {"type": "tool_use", "id": identity, "name": "read", "input": given or {}}
    result = {"type": "tool_result", "tool_use_id": identity, "content": content, **more}
    said = [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return {"tools": [{"name": "read", "input_schema": SCHEMA}], "messages": said}


def responses(content: Any, identity: str = "call_1", given: Any = None, **_: Any) -> dict[str, Any]:
    call = {"type": "function_call", "call_id": identity, "name": "read", "arguments": json.dumps(given or {})}
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


REFUSALS = {
    "Claude Code": "<tool_use_error>InputValidationError: Read failed due to the following issue:\n"
    "The required parameter `file_path` is missing</tool_use_error>",
    "Codex": "failed to parse function arguments: missing field `cmd` at line 1 column 2",
    "opencode's invalid tool": "The arguments provided to the tool are invalid: filePath is missing",
    "qwen-code": "params must have required property 'command'",
    "qwen-code, in a list": "params/todos/0 must have required property 'status', params/todos/1/id must be string\n",
    "pi": 'Validation failed for tool "bash":\n  - command: must have required property\n\nReceived arguments:\n{}',
    "a sub-agent": "Error: Invalid parameters provided. Reason: params must have required property 'command'",
    "the document": LACKS,
}
PRINTED = {
    "nothing": "",
    "a deployment": "Deployment failed due to the following issues:\n- the bucket exists",
    "Terraform": "Error: Missing required argument\n\n  on main.tf line 3",
    "a compiler": "error: invalid argument '-std=c++11' not allowed with 'C'",
    "an import": "Missing required fields: email\n200 rows processed",
    "a script": "Error: Missing required parameter: filePath",
    "a parser": "failed to parse input: line 3",
    "JSON": '{"error": "Invalid parameters"}',
    "a log": "12:00 ERROR the read tool was called with invalid arguments",
    "a log of an agent": f"12:00 start\n{REFUSALS['Claude Code']}",
    "a log that begins with a refusal": f"{REFUSALS['Claude Code']}\n12:01 next",
    "Codex's log": f"{REFUSALS['Codex']}\n12:01 next",
    "a test of a validator": "params must have required property 'x'\n1 failed, 2 passed",
    "pi's first line": 'Validation failed for tool "bash":',
    "another error of Claude Code": "<tool_use_error>File has not been read yet.</tool_use_error>",
    "an agent in words of its own": "The tool execution failed with the following error:\n<error>\n"
    "Missing value for required parameter 'path'. Please retry with complete response.\n</error>",
    "MCP": "MCP error -32602: Invalid arguments for tool read_file: Required",
    "a struct": "-32602: Invalid parameters: missing field `path`",
    "zod": "Error: Invalid arguments for tool read: path: Required",
    "pydantic": "1 validation error for read\npath\n  Field required [type=missing]",
    "argparse": "usage: x.py [-h] path\nx.py: error: the following arguments are required: path",
    "kubectl": 'error: required flag(s) "name" not set',
    "gcloud": "ERROR: (gcloud) Invalid arguments: missing required field(s): filePath",
    "a file": "# Errors\nInvalid arguments: missing required field(s)",
}
ASKED = {
    "opencode": "The read tool was called with invalid arguments: SchemaError(Missing key).\n"
    "Please rewrite the input so it satisfies the expected schema.",
    "the document": f"{LACKS} Please rewrite the input so it satisfies the expected schema.",
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("agent", REFUSALS)
def test_the_refusal_of_an_agent_asks_to_rewrite_the_arguments(protocol: str, agent: str) -> None:
    write, said = PROTOCOLS[protocol], REFUSALS[agent]
    assert up(protocol, write(said)) == write(f"{said}\n\n{MISSING}")
    assert up(protocol, write(said, given=FITS)) == write(f"{said}\n\n{FAILED}", given=FITS)
    assert up(protocol, write(said, given=FITS), retry_guidance=False) is None
    assert up(protocol, write(said), request=False) is None


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("what", PRINTED)
def test_what_a_program_may_print_keeps_its_bytes(protocol: str, what: str) -> None:
    write, said = PROTOCOLS[protocol], PRINTED[what]
    assert up(protocol, write(said, given=FITS)) is None
    assert up(protocol, write(said, given=FITS), retry_guidance=True) is None
    assert up(protocol, write(said)) == write(f"{said}\n\n{UNFIT}" if said else UNFIT), "the call itself says it"
    assert up(protocol, write(said), retry_guidance=True) == write(f"{said}\n\n{MISSING}" if said else MISSING)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("agent", REFUSALS)
def test_a_shell_that_ran_may_print_what_an_agent_says(protocol: str, agent: str) -> None:
    def in_a_shell(**given: Any) -> Any:
        return json.loads(json.dumps(PROTOCOLS[protocol](REFUSALS[agent], **given)).replace("filePath", "command"))

    assert up(protocol, in_a_shell(given=FITS)) is None
    assert up(protocol, in_a_shell()) != in_a_shell(), "the call does not fit"
    assert up(protocol, in_a_shell(given={"filePath": ["ls"]})) != in_a_shell(given={"filePath": ["ls"]})


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("agent", ASKED)
def test_a_result_that_asks_for_it_already_keeps_its_bytes(protocol: str, agent: str) -> None:
    assert up(protocol, PROTOCOLS[protocol](ASKED[agent])) is None


@pytest.mark.parametrize("agent", REFUSALS)
def test_what_the_client_calls_a_success_is_never_called_failed(agent: str) -> None:
    for given in ({}, FITS):
        for option in ("auto", True):
            assert (
                up("messages", messages(REFUSALS[agent], given=given, is_error=False), retry_guidance=option) is None
            )


def test_what_the_client_calls_failed_did_fail() -> None:
    said = PRINTED["Terraform"]
    failed = messages(f"{said}\n\n{MISSING}", is_error=True)
    assert up("messages", messages(said, is_error=True)) == failed
    assert up("messages", messages(said, given=FITS, is_error=True)) is None
    corrected = "[toolfix] This call failed. Correct the arguments and send the call again; "
    [told] = up("messages", messages(said, given=FITS, is_error=True), retry_guidance=True)["messages"][1]["content"]
    assert told["content"].startswith(f"{said}\n\n{corrected}")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_call_of_a_tool_that_is_not_ours_gets_no_guidance(protocol: str) -> None:
    assert up(protocol, PROTOCOLS[protocol]("no"), tools=(re.compile("^write$"),)) is None


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_field_deeper_in_the_arguments_is_not_the_required_one(protocol: str) -> None:
    write, given = PROTOCOLS[protocol], {"options": {"filePath": "/a"}}
    assert up(protocol, write("x", given=given)) == write(f"x\n\n{UNFIT}", given=given)


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
    identity = Ids("seed", safe=protocol == "messages").new("call_x", reason)
    refusals.add(identity, reason)
    write = PROTOCOLS[protocol]
    assert up(protocol, write("no", identity), refusals) == write(f"no\n\n{line}", "call_x")
