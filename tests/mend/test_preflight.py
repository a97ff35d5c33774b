"""Preflight: which required fields are missing, and what the invalid tool is told."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolcalls.call import Call
from toolcalls.ids import Ids
from toolcalls.mend.mender import Mender
from toolcalls.policy import Policy
from toolcalls.tools.declared import Tool, Tools

READ = Tool(
    "read",
    {"type": "object", "properties": {"filePath": {"type": "string"}, "limit": {}}, "required": ["filePath"]},
)


def test_an_empty_object_lacks_what_is_required() -> None:
    assert READ.missing({}) == ("filePath",)
    assert READ.missing({"limit": 5}) == ("filePath",)
    assert READ.missing({"filePath": None}) == ()
    assert READ.missing("text") == ("filePath",)


def test_fields_come_in_the_declared_order_and_from_references() -> None:
    schema: dict[str, Any] = {
        "$ref": "#/$defs/Edit",
        "$defs": {"Edit": {"allOf": [{"required": ["b", "a"]}], "required": ["c"]}},
    }
    assert Tool("t", schema).missing({"a": 1}) == ("c", "b")


def test_a_required_field_with_a_default_is_left_to_the_client() -> None:
    schema = {"properties": {"n": {"type": "integer", "default": 5}, "m": {}}, "required": ["n", "m"]}
    assert Tool("t", schema).missing({}) == ("m",)


@pytest.mark.parametrize(
    "schema",
    [
        None,
        {},
        {"required": []},
        {"required": "a"},
        {"required": True},
        {"required": [1]},
        {"anyOf": [{"required": ["a"]}]},
    ],
)
def test_nothing_is_missing_where_nothing_is_surely_required(schema: dict[str, Any] | None) -> None:
    assert Tool("t", schema).missing({}) == ()


def test_free_text_has_no_fields() -> None:
    assert Tool("t", {"required": ["a"]}, "custom").missing({}) == ()


def test_the_invalid_tool_is_the_declared_one_or_the_one_of_the_option() -> None:
    assert Tools([READ]).invalid("") is None
    assert Tools([READ, Tool("invalid")]).invalid("") == "invalid"
    assert Tools([READ, Tool("invalid")]).invalid("broken") == "broken"
    assert Tools().invalid("invalid") == "invalid"


def test_the_payload_has_the_name_as_it_came_one_sentence_and_what_came() -> None:
    mender = Mender(Tools([READ, Tool("invalid")]), Policy(), Ids())
    assert json.loads(mender.decide(Call(name="read", arguments="{}")).arguments) == {
        "tool": "read",
        "error": "Invalid arguments: missing required field(s): filePath.",
        "receivedArgs": {},
    }
    broken = mender.decide(Call(name="read", arguments="raw"))
    assert json.loads(broken.arguments)["receivedArgs"] == "raw"


@pytest.mark.parametrize(
    ("name", "arguments", "begins"),
    [
        ("read", "{}", "Invalid arguments: missing"),
        ("x", "{}", "Unknown tool requested by the model: x"),
        ("⚙", "{}", "Not a tool name: ⚙"),
        ("", "{}", "Not a tool name: empty"),
        ("read", '{"filePath": "a', "Invalid arguments: they could not be read"),
    ],
)
def test_what_the_invalid_tool_is_told_is_one_sentence(name: str, arguments: str, begins: str) -> None:
    mender = Mender(Tools([READ, Tool("invalid")]), Policy(), Ids())
    sentence = json.loads(mender.decide(Call(name=name, arguments=arguments)).arguments)["error"]
    assert sentence.startswith(begins) and sentence.endswith(".") and sentence.count(".") == 1
