"""A call written as JSON in the text counts only if every member of its object can be read: one that cannot may say no."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.splits import mend
from toolcalls.request.request import read_request

COMMAND = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
REQUEST = read_request(
    {"model": "m", "tools": [{"type": "function", "function": {"name": "Bash", "parameters": COMMAND}}]}
)
CALL = '"name": "Bash", "arguments": {"command": "rm x"}'
FAULTS = (
    '"execute" = "no"',
    '"execute"："no"',
    '"example" => "only"',
    '"execute" "no"',
    "(do not run this)",
    "# an example",
)
AROUND = ("<tool_call>{}</tool_call>", "[TOOL_CALLS][{}]", "```tool_call\n{}\n```", "{}")


def calls_of(text: str) -> list[Any]:
    deltas: list[tuple[dict[str, str], str | None]] = [({"content": text}, None), ({}, "stop")]
    events = [{"choices": [{"index": 0, "delta": delta, "finish_reason": why}]} for delta, why in deltas]
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
    return [outcome.arguments for outcome in mend(body, question=REQUEST)[1].outcomes]


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_member_that_cannot_be_read_keeps_the_call_text(fault: str, around: str) -> None:
    assert calls_of(around.replace("{}", "{" + f"{CALL}, {fault}" + "}")) == []


@pytest.mark.parametrize("around", AROUND)
def test_arguments_behind_a_colon_that_is_none_are_not_lost(around: str) -> None:
    assert calls_of(around.replace("{}", '{"name": "Bash", "arguments"： {"command": "rm x"}}')) == []


@pytest.mark.parametrize("around", AROUND[:3])
@pytest.mark.parametrize("written", ["{" + CALL + "}", "{" + CALL + ",}", '{"id": "c1", ' + CALL + "}"])
def test_a_call_whose_members_can_all_be_read_is_a_call(written: str, around: str) -> None:
    assert [json.loads(arguments) for arguments in calls_of(around.replace("{}", written))] == [{"command": "rm x"}]
