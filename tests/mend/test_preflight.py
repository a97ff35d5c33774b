"""Preflight: which required fields are missing, and what the invalid tool is told."""

from __future__ import annotations

from typing import Any

import pytest

from toolcalls.mend.shape.preflight import (
    invalid_payload,
    invalid_tool,
    missing_required,
    missing_sentence,
    not_a_name_sentence,
    unknown_sentence,
    unreadable_sentence,
)
from toolcalls.tools.declared import Tool, Tools

READ = Tool(
    "read",
    {"type": "object", "properties": {"filePath": {"type": "string"}, "limit": {}}, "required": ["filePath"]},
)


def test_an_empty_object_lacks_what_is_required() -> None:
    assert missing_required({}, READ) == ("filePath",)
    assert missing_required({"limit": 5}, READ) == ("filePath",)
    assert missing_required({"filePath": None}, READ) == ()
    assert missing_required("text", READ) == ("filePath",)


def test_fields_come_in_the_declared_order_and_from_references() -> None:
    schema: dict[str, Any] = {
        "$ref": "#/$defs/Edit",
        "$defs": {"Edit": {"allOf": [{"required": ["b", "a"]}], "required": ["c"]}},
    }
    assert missing_required({"a": 1}, Tool("t", schema)) == ("c", "b")


def test_a_required_field_with_a_default_is_left_to_the_client() -> None:
    schema = {"properties": {"n": {"type": "integer", "default": 5}, "m": {}}, "required": ["n", "m"]}
    assert missing_required({}, Tool("t", schema)) == ("m",)


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
    assert missing_required({}, Tool("t", schema)) == ()


def test_free_text_has_no_fields() -> None:
    assert missing_required({}, Tool("t", {"required": ["a"]}, "custom")) == ()


def test_the_invalid_tool_is_the_declared_one_or_the_one_of_the_option() -> None:
    assert invalid_tool("", Tools([READ])) is None
    assert invalid_tool("", Tools([READ, Tool("invalid")])) == "invalid"
    assert invalid_tool("broken", Tools([READ, Tool("invalid")])) == "broken"
    assert invalid_tool("invalid", Tools()) == "invalid"


def test_the_payload_has_the_name_as_it_came_one_sentence_and_what_came() -> None:
    payload = invalid_payload("read", missing_sentence(("filePath",)), {})
    assert payload == {
        "tool": "read",
        "error": "Invalid arguments: missing required field(s): filePath.",
        "receivedArgs": {},
    }
    assert invalid_payload("x", unknown_sentence("x"), "raw")["receivedArgs"] == "raw"


def test_every_sentence_is_one() -> None:
    for sentence in (
        missing_sentence(("a", "b")),
        unknown_sentence("x"),
        not_a_name_sentence("⚙"),
        not_a_name_sentence(""),
        unreadable_sentence(),
        unreadable_sentence("cut off inside a value."),
    ):
        assert sentence.endswith(".")
        assert sentence.count(".") == 1
