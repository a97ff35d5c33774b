"""Arguments in a list of one object, and a second defect inside a text: one rule for every protocol."""

from __future__ import annotations

import json

import pytest

from tests.must_not_run.wires import Said, call, outcomes, runnable

TODO = {
    "type": "object",
    "properties": {"content": {"type": "string"}, "status": {"enum": ["pending", "done"]}},
    "required": ["content", "status"],
    "additionalProperties": False,
}
PARAMETERS = {"type": "object", "properties": {"todos": {"type": "array", "items": TODO}}, "required": ["todos"]}
TOOLS = [{"type": "function", "function": {"name": "TodoWrite", "parameters": PARAMETERS}}]


@pytest.mark.parametrize(
    "arguments",
    [
        '[{"command":"ls"}]',
        ' [ {"command":"ls"} ]\n',
        '[{"command":"ls",}]',
        '"[{\\"command\\":\\"ls\\"}]"',
    ],
)
def test_a_list_of_one_object_is_that_object(arguments: str) -> None:
    for where, calls in runnable(Said(calls=(call("Bash", arguments[:4], arguments[4:]),), finish="calls")):
        assert calls == [{"name": "Bash", "arguments": {"command": "ls"}}], where


@pytest.mark.parametrize(
    "arguments",
    ['[{"command":"ls"},{"command":"rm"}]', '[{"command":"ls"},{"command":"ls"}]', '["ls"]', '[[{"command":"ls"}]]',
     '[{"command":"ls"},"-la"]', '["ls",{"command":"ls"}]', "[{'command': 'ls'}]"],
)  # fmt: skip
def test_any_other_list_is_refused(arguments: str) -> None:
    for where, calls in runnable(Said(calls=(call("Bash", arguments),), finish="calls")):
        assert calls == [], where


@pytest.mark.parametrize(
    ("item", "mended"),
    [
        ({"content": "x", "status": "Done"}, {"content": "x", "status": "done"}),
        ({"Content": "x", "status": "done"}, {"content": "x", "status": "done"}),
        ({"content": "x", "status": "done", "why": "y"}, None),
        ({"content": "x", "status": "nearly"}, None),
    ],
)
def test_a_list_as_text_with_a_second_defect_is_mended_or_refused(item: object, mended: object) -> None:
    arguments = json.dumps({"todos": json.dumps([item])})
    said = Said(calls=(call("TodoWrite", arguments),), finish="calls", request={"tools": TOOLS})
    for where, client in outcomes(said):
        [made] = client.calls
        assert made["arguments"] == ({"todos": [mended]} if mended else {}), where
