"""Written names become declared ones, raw values the types that the schema declares."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.textcalls.declared import tool
from toolcalls.textcalls.held import FoundCall
from toolcalls.textcalls.known import WrittenTools, arguments_of
from toolcalls.textcalls.search import Search
from toolcalls.tools.declared import Tool, Tools

NAMES = WrittenTools(Tools([tool("Bash"), tool("read_file"), tool("list-tabs"), tool("ListTabs"), tool("mcp__a__b")]))


@pytest.mark.parametrize(
    ("written", "declared"),
    [
        ("Bash", "Bash"),
        ("bash", "Bash"),
        (" BASH ", "Bash"),
        ("functions.Bash:0", "Bash"),
        ("functions.read_file:12", "read_file"),
        ("default_api.read_file", "read_file"),
        ("ReadFile", "read_file"),
        ("read-file", "read_file"),
        ("mcp__a__b", "mcp__a__b"),
        ("list-tabs", "list-tabs"),
        ("list_tabs", None),  # two tools fold to this
        ("nope", None),
        ("", None),
        ("functions.", None),
    ],
)
def test_a_name_is_exact_or_unique_after_folding(written: str, declared: str | None) -> None:
    tool = NAMES.resolve(written)
    assert (tool.name if tool else None) == declared


def test_a_name_is_decided_among_all_declared_tools_and_counts_if_it_is_searched_for() -> None:
    for written, expected in (("BASH", "Bash"), ("bash2", None), ("Bash2", None)):
        scanner = Search(Tools([tool("Bash")]), declared=Tools([tool("Bash"), tool("Bash2")]))
        scanner.feed(f'<tool_call>{{"name": "{written}", "arguments": {{}}}}</tool_call>')
        found = [part.name for part in scanner.close() if isinstance(part, FoundCall)]
        assert found == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("raw", "schema", "value"),
    [
        ("42", {"type": "string"}, "42"),
        ("42", {"type": "integer"}, 42),
        ("42", None, "42"),
        ("42", {}, "42"),
        (" 42\n", {"type": "integer"}, 42),
        ("4.5", {"type": "number"}, 4.5),
        ("4.5", {"type": "integer"}, "4.5"),
        ("nan", {"type": "number"}, "nan"),
        ("inf", {"type": "number"}, "inf"),
        ("1e999", {"type": "number"}, "1e999"),
        ("true", {"type": "boolean"}, True),
        ("True", {"type": "boolean"}, True),
        ("true", {"type": ["string", "boolean"]}, True),
        ("null", {"type": ["string", "null"]}, None),
        ("null", {"type": "string"}, "null"),
        ("none", {"type": ["integer", "null"]}, "none"),
        ("[1, 2]", {"type": "array"}, [1, 2]),
        ("[1, 2", {"type": "array"}, "[1, 2"),
        ('{"a": 1}', {"type": "object"}, {"a": 1}),
        ('{"a": 1}', {"type": "string"}, '{"a": 1}'),
        ("3", {"enum": [1, 2, 3]}, 3),
        ("3", {"enum": ["1", "3"]}, "3"),
        ("3", {"anyOf": [{"type": "null"}, {"type": "integer"}]}, 3),
        ("x &amp; y", {"type": "string"}, "x &amp; y"),
    ],
)
def test_a_raw_value_is_typed_by_its_schema(raw: str, schema: Any, value: Any) -> None:
    result = typed(raw, schema)
    assert result == value and type(result) is type(value)


def typed(raw: str, schema: Any, **root: Any) -> Any:
    declared = {"type": "object", "properties": {"x": schema} if schema is not None else {}, **root}
    return json.loads(arguments_of(Tool("f", declared), {"x": raw}))["x"]


def test_a_reference_in_the_schema_is_followed() -> None:
    assert typed("3", {"$ref": "#/$defs/count"}, **{"$defs": {"count": {"type": "integer"}}}) == 3
