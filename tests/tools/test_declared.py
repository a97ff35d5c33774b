"""Reading the declared tools, in every wire shape and in bad ones."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolcalls.tools import declared as tools_module
from toolcalls.tools.declared import Tool, Tools

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


@pytest.mark.parametrize(
    "request_body",
    [
        {"tools": [{"type": "function", "function": {"name": "read", "parameters": SCHEMA}}]},
        {"tools": [{"function": {"name": "read", "parameters": SCHEMA}}]},
        {"functions": [{"name": "read", "parameters": SCHEMA}]},
        {"tools": [{"name": "read", "input_schema": SCHEMA}]},
        {"tools": [{"type": "custom", "name": "read", "input_schema": SCHEMA}]},
        {"tools": [{"type": "function", "name": "read", "parameters": SCHEMA, "strict": True}]},
        {
            "input": [
                {
                    "type": "additional_tools",
                    "tools": [{"type": "function", "name": "read", "parameters": SCHEMA}],
                }
            ]
        },
    ],
    ids=["chat", "chat without type", "functions", "messages", "messages custom", "responses", "additional"],
)
def test_every_wire_shape_gives_the_same_tool(request_body: dict[str, Any]) -> None:
    tools = Tools.read(request_body)
    assert list(tools) == [Tool("read", SCHEMA)]
    assert len(tools) == 1
    tool = tools.get("read")
    assert tool is not None
    assert tool.view is not None
    assert (tool.kind, tool.namespace, tool.view.required) == ("function", None, ("path",))


def test_a_freeform_tool_is_custom() -> None:
    for entry in (
        {"type": "custom", "name": "apply_patch", "format": {}},
        {"type": "custom", "custom": {"name": "apply_patch"}},
    ):
        tool = Tools.read({"tools": [entry]}).get("apply_patch")
        assert tool is not None
        assert (tool.kind, tool.schema, tool.view) == ("custom", None, None)


def test_a_tool_of_the_server_has_its_type_as_name() -> None:
    tools = Tools.read({"tools": [{"type": "web_search"}, {"type": "web_search_20250305", "name": "search"}]})
    assert [(tool.name, tool.kind) for tool in tools] == [("web_search", "server"), ("search", "function")]


def test_namespaces_are_kept_with_their_tools() -> None:
    js = {"type": "function", "name": "js", "parameters": SCHEMA}
    space = {"type": "namespace", "name": "mcp__node_repl", "tools": [js]}
    for body in ({"tools": [space]}, {"input": [{"type": "additional_tools", "tools": [space]}]}):
        tools = Tools.read(body)
        tool = tools.get("js", "mcp__node_repl")
        assert tool is not None
        assert tool.namespace == "mcp__node_repl"
        assert tools.get("js") is tool
        assert tools.get("js", "other") is None
        assert len(tools) == 1


def test_a_name_in_two_namespaces_needs_one() -> None:
    tools = Tools([Tool("a", namespace="x"), Tool("a", namespace="y")])
    assert tools.get("a") is None
    assert tools.get("a", "y") == Tool("a", namespace="y")
    assert len(tools) == 2


def test_a_later_declaration_replaces_an_earlier_one() -> None:
    first = {"type": "function", "name": "a", "parameters": {"type": "object"}}
    later = {"type": "additional_tools", "tools": [{"type": "function", "name": "a", "parameters": SCHEMA}]}
    tool = Tools.read({"tools": [first], "input": [later]}).get("a")
    assert tool is not None
    assert tool.schema == SCHEMA


@pytest.mark.parametrize(
    "request_body",
    [
        None,
        [],
        "text",
        {},
        {"tools": None},
        {"tools": {}},
        {
            "tools": [
                None,
                5,
                "x",
                [],
                {},
                {"name": ""},
                {"name": 5},
                {"type": "function"},
                {"function": None},
            ]
        },
        {"tools": [{"type": "namespace"}, {"type": "namespace", "name": 5, "tools": 5}]},
        {"input": "text"},
        {"input": [None, {"type": "additional_tools"}, {"type": "additional_tools", "tools": {}}]},
        {"tools": [{"type": 5}, {"type": {}}, {"type": "function", "function": {"name": None}}]},
    ],
)
def test_what_is_not_understood_is_left_out(request_body: Any) -> None:
    assert len(Tools.read(request_body)) == 0


def test_a_name_counts_even_if_its_schema_is_odd() -> None:
    for schema in (None, "x", [], 5):
        tool = Tools.read({"tools": [{"name": "a", "input_schema": schema}]}).get("a")
        assert tool is not None
        assert tool.view is None
        assert tool.view is None


def test_the_same_schema_is_prepared_once_for_all_requests() -> None:
    def node() -> object:
        tool = Tools.read({"tools": [{"name": "a", "input_schema": {**SCHEMA, "title": "once"}}]}).get("a")
        assert tool is not None
        return tool.view

    assert node() is node()


@pytest.mark.parametrize(
    ("schema", "shell"),
    [
        ({"properties": {"command": {"type": "string"}}}, True),
        ({"properties": {"cmd": {"type": "string"}}}, True),
        ({"properties": {"command": {"type": ["string", "null"]}}}, True),
        ({"properties": {"command": {"type": "array", "items": {"type": "string"}}}}, True),
        ({"properties": {"command": {"oneOf": [{"type": "array", "items": {"type": "string"}}]}}}, True),
        ({"properties": {"command": {"anyOf": [{"type": "string"}, {"type": "array"}]}}}, True),
        (
            {"properties": {"command": {"$ref": "#/$defs/c"}}, "$defs": {"c": {"type": ["array", "string"]}}},
            True,
        ),
        ({"properties": {"command": {"type": "array"}}}, False),
        ({"properties": {"command": {"type": "array", "items": {"type": "integer"}}}}, False),
        ({"properties": {"command": {"anyOf": [{"type": "object"}, {"type": "null"}]}}}, False),
        ({"properties": {"command": {}}}, False),
        ({"properties": {"path": {"type": "string"}}}, False),
        (None, False),
    ],
)
def test_shell_like_has_a_string_or_strings_called_command_or_cmd(schema: Any, shell: bool) -> None:
    assert Tool("t", schema).shell_like is shell


def test_there_are_no_tools_in_the_empty_one() -> None:
    assert list(Tools()) == []
    assert Tools().get("a") is None


def declared(number: object) -> dict[str, Any]:
    """A request as it was read from its bytes, whose one tool takes this number."""
    schema = {"type": "object", "properties": {"count": {"const": number}}}
    body = {"tools": [{"type": "function", "function": {"name": "Read", "parameters": schema}}]}
    request: dict[str, Any] = json.loads(json.dumps(body))
    return request


def test_requests_that_declare_the_same_tools_share_them() -> None:
    assert Tools.read(declared(1)) is Tools.read(declared(1))


def test_tools_that_differ_in_no_more_than_the_type_of_a_number_are_not_shared() -> None:
    one, true, real = (Tools.read(declared(number)) for number in (1, True, 1.0))
    assert len({id(one), id(true), id(real)}) == 3


def test_no_more_than_the_tools_of_the_last_requests_are_kept() -> None:
    first = Tools.read(declared(0))
    for number in range(1, 200):
        Tools.read(declared(number))
    assert Tools.read(declared(0)) is not first
    assert len(tools_module._recent) <= 8


def test_tools_nested_too_deep_to_be_recognised_are_read_all_the_same() -> None:
    schema: dict[str, Any] = {}
    for _ in range(100_000):
        schema = {"not": schema}
    assert Tools.read({"tools": [{"name": "Read", "input_schema": schema}]}).get("Read") is not None
