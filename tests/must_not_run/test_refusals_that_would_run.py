"""A refused call goes out with `{}` only where the client rejects that: a required field with a default is no reason."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.must_not_run.wires import Said, call, outcomes

ALL = {"type": "boolean", "default": True}
DEPTH = {"type": "integer", "default": 1}
CUT = '{"depth": 5, "all": fal'


def tool(properties: dict[str, Any], required: list[str]) -> list[Any]:
    schema = {"type": "object", "properties": properties, "required": required}
    return [{"type": "function", "function": {"name": "clean", "parameters": schema}}]


def cut(tools: list[Any]) -> Said:
    return Said(calls=(call("clean", CUT),), finish="length", request={"tools": tools})


@pytest.mark.parametrize("finish", ["length", "calls"])
def test_a_tool_whose_required_fields_all_have_defaults_is_not_called(finish: str) -> None:
    for where, client in outcomes(Said(calls=(call("clean", CUT),), finish=finish,
                                       request={"tools": tool({"depth": DEPTH, "all": ALL}, ["depth", "all"])})):  # fmt: skip
        assert [each["name"] for each in client.calls] == ["invalid"], where
        assert client.calls[0]["arguments"]["receivedArgs"] == CUT, where


def test_a_tool_with_a_required_field_that_has_none_gets_empty_arguments() -> None:
    """The near miss: the client rejects them."""
    for where, client in outcomes(cut(tool({"depth": DEPTH, "all": {"type": "boolean"}}, ["depth", "all"]))):
        assert client.calls == [{"name": "clean", "arguments": {}}], where


def test_arguments_that_are_whole_run_with_the_defaults_of_the_client() -> None:
    said = Said(calls=(call("clean", "{}"),), finish="calls", request={"tools": tool({"depth": DEPTH}, ["depth"])})
    for where, client in outcomes(said):
        assert client.calls == [{"name": "clean", "arguments": json.loads("{}")}], where
