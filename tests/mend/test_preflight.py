"""Preflight: which required fields are missing, and what the invalid tool is told."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolcalls.call import Call
from toolcalls.ids import Ids
from toolcalls.mend.mender import Mender
from toolcalls.policy import Policy
from toolcalls.reasons import missing_sentence, not_a_name_sentence, unknown_sentence, unreadable_sentence
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


def test_every_sentence_is_one() -> None:
    for sentence in (
        missing_sentence(("a", "b")),
        unknown_sentence("x"),
        not_a_name_sentence("⚙"),
        not_a_name_sentence(""),
        unreadable_sentence("cut off inside a value."),
    ):
        assert sentence.endswith(".")
        assert sentence.count(".") == 1
