"""The validator against the `jsonschema` package, and against schemas that want to hurt it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.pace import quick
from toolcalls.mend.shape import mend_shape
from toolcalls.tools.check import Check, Exhausted
from toolcalls.tools.declared import Tool
from toolcalls.tools.schema import prepare

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 12),
    st.sampled_from([0.5, 1.0, 2.5]),
    st.sampled_from(["", "a", "A", "ab", "1", "x-1", "[1]", '{"a": 1}', "True", "2.0"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["a", "b", "c", "x-1"]), inner, max_size=3),
    ),
    max_leaves=6,
)
TYPES = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])


def _wild(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    several = st.lists(inner, min_size=1, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.one_of(TYPES, st.lists(TYPES, min_size=1, max_size=3, unique=True)),
            "enum": st.lists(SCALARS, min_size=1, max_size=3),
            "const": VALUES,
            "properties": st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3),
            "required": st.lists(st.sampled_from(["a", "b"]), unique=True, max_size=2),
            "additionalProperties": st.one_of(st.booleans(), inner),
            "patternProperties": st.dictionaries(st.sampled_from(["^x-", "b", "(a+)+$"]), inner, max_size=1),
            "propertyNames": st.just({"maxLength": 2}),
            "items": inner,
            "prefixItems": several,
            "contains": inner,
            "uniqueItems": st.booleans(),
            "minItems": st.integers(0, 2),
            "maxItems": st.integers(0, 2),
            "minLength": st.integers(0, 2),
            "maxLength": st.integers(0, 2),
            "pattern": st.sampled_from(["^a", "b$", "^[0-9]+$", "(a+)+$", "(?=a)"]),
            "minimum": st.integers(0, 5),
            "exclusiveMaximum": st.integers(0, 5),
            "multipleOf": st.sampled_from([2, 0.5]),
            "minProperties": st.integers(0, 2),
            "maxProperties": st.integers(0, 2),
            "dependentRequired": st.just({"a": ["b"]}),
            "allOf": several,
            "anyOf": several,
            "oneOf": several,
            "not": inner,
            "if": inner,
            "then": inner,
            "else": inner,
            "$ref": st.sampled_from(["#/$defs/one", "#/$defs/two", "#/$defs/a~1b"]),
        },
    ).map(lambda schema: dict(list(schema.items())[:5]))


WILD = st.recursive(st.one_of(st.booleans(), TYPES.map(lambda t: {"type": t})), _wild, max_leaves=8)


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(WILD, WILD, VALUES)
def test_what_it_is_certain_of_is_what_the_jsonschema_package_says(schema: Any, other: Any, value: Any) -> None:
    whole = {
        "allOf": [schema],
        "$defs": {
            "one": {"type": ["string", "object"]},
            "two": {"type": "array", "items": {"$ref": "#/$defs/one"}},
            "a/b": other if "$ref" not in str(other) else {},
        },
    }
    verdict = Check().admits(prepare(whole), value)
    if verdict is not None:
        assert verdict is Draft202012Validator(whole).is_valid(value)


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.dictionaries(st.sampled_from(["a", "b", "c"]), WILD, min_size=1, max_size=3),
    st.booleans(),
    st.dictionaries(st.sampled_from(["a", "b", "c", "A", "a.b", "args"]), VALUES, max_size=3),
)
def test_against_any_schema_the_valid_stays_and_the_broken_gets_no_worse(
    properties: dict[str, Any], closed: bool, value: dict[str, Any]
) -> None:
    schema = {
        "type": "object",
        "properties": properties,
        "required": ["a"],
        "additionalProperties": not closed,
        "$defs": {
            "one": {"type": "string"},
            "two": {"type": ["array", "integer"]},
            "a/b": {"enum": ["a", "b"]},
        },
    }
    validator = Draft202012Validator(schema)
    before = len(list(validator.iter_errors(value)))
    mended = mend_shape(value, Tool("t", schema))
    if not before:
        assert all(step.startswith("integer from a float") for step in mended.steps)
        assert mended.value == value
    assert len(list(validator.iter_errors(mended.value))) <= before


@pytest.mark.parametrize(
    ("schema", "value", "count"),
    [
        ({"type": "object", "required": ["a", "b"]}, {}, 2),
        ({"properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}, {"a": 1, "b": "x"}, 2),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 1, 1),
        ({"additionalProperties": False}, {"a": 1, "b": 2}, 1),
        ({"items": {"enum": ["x"]}}, ["x", "y", "z"], 2),
        ({"type": "integer"}, True, 1),
        ({"propertyNames": {"maxLength": 2}}, {"abc": 1, "b": 2, "cde": 3}, 2),
        ({"enum": [1]}, True, 1),
        ({"enum": [1]}, 1.0, 0),
        ({"const": {"a": [1, {"b": None}]}}, {"a": [1.0, {"b": None}]}, 0),
    ],
)
def test_violations_are_counted_as_the_jsonschema_package_counts_them(
    schema: dict[str, Any], value: Any, count: int
) -> None:
    assert Check().violations(prepare(schema), value) == count
    assert len(list(Draft202012Validator(schema).iter_errors(value))) == count


def test_beside_a_reference_of_draft_7_nothing_counts() -> None:
    schema: dict[str, Any] = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {"a": {"$ref": "#/definitions/s", "minLength": 5}},
        "definitions": {"s": {"type": "string"}},
    }
    assert Check().admits(prepare(schema), {"a": "x"}) is True
    assert Check().admits(prepare({**schema, "$schema": "none"}), {"a": "x"}) is False


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "dict"},
        {"type": 5},
        {"$ref": "other.json"},
        {"$ref": "#/$defs/nowhere"},
        {"$ref": 7},
        {"unevaluatedProperties": False},
        {"properties": {"a": "string"}},
        {"properties": {"a": None}},
        {"pattern": "(", "type": "object"},
        {"anyOf": "nothing"},
        {"required": "a"},
        {"required": True},
        {"enum": "a"},
        {"items": 5},
    ],
)
def test_what_is_not_understood_is_never_a_violation(schema: dict[str, Any]) -> None:
    assert Check().violations(prepare(schema), {"a": "x"}) == 0


def test_upper_case_types_are_types() -> None:
    assert Check().admits(prepare({"type": "STRING"}), 1) is False


def test_a_nullable_place_admits_null_even_beside_an_enum() -> None:
    node = prepare({"type": "string", "enum": ["a"], "nullable": True})
    assert Check().admits(node, None) is True
    assert Check().admits(node, "b") is False


def _chain(length: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(length):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


HOSTILE: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("a catastrophic pattern", {"properties": {"a": {"pattern": "^(a+)+$"}}}, {"a": "a" * 5000 + "!"}),
    ("many optionals", {"properties": {"a": {"pattern": "^" + "a?" * 100 + "a" * 100}}}, {"a": "a" * 99}),
    ("an exponent", {"properties": {"a": {"pattern": "^(a|aa)+$"}}}, {"a": "a" * 3000 + "!"}),
    ("a polynomial", {"properties": {"a": {"pattern": "a*a*a*a*a*a*b"}}}, {"a": "a" * 3000}),
    ("empty choices", {"properties": {"a": {"pattern": "(|a?)" * 40 + "b"}}}, {"a": ""}),
    ("nested optionals", {"properties": {"a": {"pattern": "(a?)?" * 40 + "b"}}}, {"a": ""}),
    ("a long pattern", {"properties": {"a": {"pattern": "(" * 3000 + ")" * 3000}}}, {"a": "x"}),
    ("itself", {"$ref": "#"}, {"a": "1"}),
    ("itself twice", {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}, {"a": "1"}),
    ("itself in all", {"allOf": [{"$ref": "#"}, {"$ref": "#"}], "required": ["b"]}, {"a": "1"}),
    ("itself in one", {"oneOf": [{"$ref": "#"}] * 30, "properties": {"a": {"type": "integer"}}}, {"a": "1"}),
    ("itself negated", {"not": {"$ref": "#"}}, {"a": "1"}),
    ("a deep schema", _chain(5000), {"a": {"a": "1"}}),
    (
        "a wide union",
        {"properties": {"a": {"anyOf": [{"type": "integer", "minimum": n} for n in range(3000)]}}},
        {"a": "5"},
    ),
    ("a huge schema", {"properties": {f"p{n}": {"type": "integer"} for n in range(30_000)}}, {"p1": "1"}),
    (
        "a long chain",
        {"$ref": "#/$defs/n0", "$defs": {f"n{n}": {"$ref": f"#/$defs/n{n + 1}"} for n in range(3000)}},
        {"a": "1"},
    ),
    (
        "a recursive tree",
        {"properties": {"a": {"$ref": "#"}, "b": {"type": "integer"}}},
        {"a": {"a": {"b": "1"}}},
    ),
]


@pytest.mark.parametrize(("schema", "value"), [(s, v) for _, s, v in HOSTILE], ids=[name for name, _, _ in HOSTILE])
def test_a_hostile_schema_neither_stalls_nor_raises(schema: dict[str, Any], value: dict[str, Any]) -> None:
    with quick(3):
        mend_shape(value, Tool("t", schema), drop_empty=frozenset({"pages"}))


def test_a_deep_value_neither_stalls_nor_raises() -> None:
    value: Any = "1"
    for _ in range(5000):
        value = {"a": value}
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#"}, "b": {"type": "integer"}},
        "required": ["b"],
    }
    mend_shape(value, Tool("t", schema))
    assert mend_shape({"c": value}, Tool("t", {"enum": [{"c": 1}]})).steps == ()


def test_the_budget_ends_the_work() -> None:
    with pytest.raises(Exhausted):
        Check(10).violations(prepare({"items": {"type": "string"}}), ["x"] * 20)


@pytest.mark.parametrize(
    ("pattern", "text", "admitted"),
    [
        ("^[0-9]+(-[0-9]+)?$", "1-5", None),
        ("^[0-9]+(-[0-9]+)?$", "", False),
        (r"^\d+(,\d+)*$", "", False),
        ("^a?$", "", True),
        ("(?!x)a", "", False),
        ("(a?)?" * 40 + "b", "", None),
        ("[", "", None),
        ("^https?://", "http://x", None),
    ],
)
def test_a_pattern_is_foreign_code_and_run_on_the_empty_text_alone(
    pattern: str, text: str, admitted: bool | None
) -> None:
    assert Check().admits(prepare({"pattern": pattern}), text) is admitted
