"""A bracket is added, and a quote inside a text is guessed, only if the tool can take the arguments that this makes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.must_not_run.wires import Said, call, runnable

REFUSED = {
    "fragments in another order, and a key that nobody declared": '{"des6}cription":1,"command":"ls"',
    "the arguments of another call in the place of a value": '{"command":"ls","timeout":{"file_path":"a"}',
    "a field of another call": '{"command":"ls","file_path":"a"',
    "a required field is missing": '{"description":"List"',
    "another type": '{"command":["ls","-l"',
    "a text that was taken for keys": '{"command":"echo "a": "b", "c": "d""',
}
MENDED: dict[str, tuple[str, Any]] = {
    "a bracket": ('{"timeout":1,"command":"ls"', {"command": "ls", "timeout": 1}),
    "a bracket, and the shape": ('{"command":"ls","timeout":"1"', {"command": "ls", "timeout": 1}),
    "a bracket, and the name of a key": ('{"cmd":"ls"', {"command": "ls"}),
    "quotes inside a text": ('{"command":"echo "a" "b""}', {"command": 'echo "a" "b"'}),
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_a_repair_that_the_tool_cannot_take_is_refused(text: str) -> None:
    middle = len(text) // 2
    said = Said(calls=(call("Bash", text[:middle], text[middle:]),), finish="calls")
    assert [made for _, calls in runnable(said) for made in calls] == []


@pytest.mark.parametrize(("text", "value"), MENDED.values(), ids=MENDED)
def test_a_repair_that_the_tool_can_take_is_made(text: str, value: Any) -> None:
    said = Said(calls=(call("Bash", text),), finish="calls")
    assert [made["arguments"] for _, calls in runnable(said) for made in calls] == [value] * 6


def test_a_tool_without_a_schema_takes_anything() -> None:
    said = Said(calls=(call("some_tool", '{"a}b":1,"command":"ls"'),), finish="calls")
    assert [made["arguments"] for _, calls in runnable(said) for made in calls] == [{"command": "ls", "a}b": 1}] * 6


def test_valid_arguments_that_the_tool_cannot_take_stay_a_call() -> None:
    """What is wrong with them is for the client to say."""
    said = Said(calls=(call("Bash", '{"command":"ls","file_path":"a"}'),), finish="calls")
    assert len([made for _, calls in runnable(said) for made in calls]) == 6
