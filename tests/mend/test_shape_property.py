"""Generated schemas, generated arguments: valid ones are never changed, damaged ones come back."""

from __future__ import annotations

import json
import os
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.mend.schemas import Place, calls, objects, places, replaced
from toolcalls.mend.shape import mend_shape
from toolcalls.tools.declared import Tool

SETTINGS = settings(
    max_examples=int(os.environ.get("TOOLFIX_EXAMPLES", "20")),
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)


def errors(schema: dict[str, Any], value: Any) -> int:
    return sum(1 for _ in Draft202012Validator(schema).iter_errors(value))


def text(value: Any) -> str:
    return json.dumps(value)


def comes_back(schema: dict[str, Any], original: dict[str, Any], damaged: dict[str, Any]) -> None:
    mended = mend_shape(damaged, Tool("t", schema))
    assert text(mended.value) == text(original), mended.steps
    assert mended.steps


def pick(data: st.DataObject, found: list[Place]) -> Place:
    assume(found)
    return data.draw(st.sampled_from(found))


@SETTINGS
@given(calls())
def test_valid_arguments_are_never_changed(call: tuple[dict[str, Any], dict[str, Any]]) -> None:
    schema, value = call
    before = text(value)
    mended = mend_shape(value, Tool("t", schema), drop_empty=frozenset({"pages"}))
    # JSON Schema calls 3.0 an integer; the generator writes integers without a fraction.
    assert mended.value is value
    assert mended.steps == ()
    assert text(value) == before


@SETTINGS
@given(calls(), st.data())
def test_a_container_sent_as_a_string_comes_back(
    call: tuple[dict[str, Any], dict[str, Any]], data: st.DataObject
) -> None:
    schema, value = call
    place = pick(data, [p for p in places(schema, value, schema) if isinstance(p.value, (dict, list))])
    comes_back(schema, value, replaced(value, place.path, json.dumps(place.value)))


@SETTINGS
@given(calls(), st.data())
def test_a_number_or_boolean_sent_as_a_string_comes_back(
    call: tuple[dict[str, Any], dict[str, Any]], data: st.DataObject
) -> None:
    schema, value = call
    place = pick(data, [p for p in places(schema, value, schema) if isinstance(p.value, (bool, int, float))])
    written = json.dumps(place.value)
    if isinstance(place.value, bool) and data.draw(st.booleans()):
        written = written.capitalize()
    comes_back(schema, value, replaced(value, place.path, written))


@SETTINGS
@given(calls(), st.data())
def test_an_integer_sent_as_a_float_comes_back(
    call: tuple[dict[str, Any], dict[str, Any]], data: st.DataObject
) -> None:
    schema, value = call
    found = [
        p
        for p in places(schema, value, schema)
        if p.schema.get("type") == "integer" and p.value is not None and abs(p.value) <= 2**53
    ]
    place = pick(data, found)
    comes_back(schema, value, replaced(value, place.path, float(place.value)))


@SETTINGS
@given(calls(), st.data())
def test_a_single_item_in_place_of_an_array_comes_back(
    call: tuple[dict[str, Any], dict[str, Any]], data: st.DataObject
) -> None:
    schema, value = call
    found = [
        p
        for p in places(schema, value, schema)
        if isinstance(p.value, list) and len(p.value) == 1 and _has_one_reading(p.value[0])
    ]
    place = pick(data, found)
    comes_back(schema, value, replaced(value, place.path, place.value[0]))


def _has_one_reading(item: Any) -> bool:
    """A string may hold a list or be a container as text; an object without a declared key proves nothing."""
    if isinstance(item, str):
        return bool(item.strip()) and not set(item) & set(",;\n\r\t") and item.lstrip()[0] not in "[{\"'`"
    return not isinstance(item, dict) or any(key not in ("undeclared", "x.y") for key in item)


@SETTINGS
@given(calls(), st.data())
def test_an_enum_member_in_another_case_comes_back(
    call: tuple[dict[str, Any], dict[str, Any]], data: st.DataObject
) -> None:
    schema, value = call
    place = pick(data, [p for p in places(schema, value, schema) if "enum" in p.schema and p.value is not None])
    change = data.draw(st.sampled_from([str.upper, str.title, lambda s: s.replace("_", " "), _spaced]))
    damaged = change(place.value)
    assume(damaged not in place.schema["enum"])
    comes_back(schema, value, replaced(value, place.path, damaged))


def _spaced(member: str) -> str:
    return member.replace("-", "_").replace("_", "-").capitalize()


@SETTINGS
@given(calls(), st.data(), st.sampled_from([None, ""]))
def test_an_optional_null_or_forbidden_empty_string_is_dropped(
    call: tuple[dict[str, Any], dict[str, Any]], data: st.DataObject, nothing: str | None
) -> None:
    schema, value = call
    place = pick(data, list(objects(schema, value, schema)))
    absent = [
        (name, part)
        for name, part in place.schema["properties"].items()
        if name not in place.value and name not in place.schema.get("required", [])
    ]
    assume(absent)
    name, part = data.draw(st.sampled_from(absent))
    whole = {"$defs": schema.get("$defs", {}), **part}
    assume(not Draft202012Validator(whole).is_valid(nothing))
    if nothing == "":  # an empty list or object is another reading of it
        assume(not Draft202012Validator(whole).is_valid([]))
        assume(not any(t in json.dumps(_target(part, schema)) for t in ('"array"', '"object"')))
    comes_back(schema, value, replaced(value, place.path, {**place.value, name: nothing}))


def _target(part: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    from tests.mend.schemas import undisguised

    return undisguised(part, root)


@SETTINGS
@given(calls(), st.data())
def test_a_drifted_parameter_name_comes_back(
    call: tuple[dict[str, Any], dict[str, Any]], data: st.DataObject
) -> None:
    schema, value = call
    found = [
        p
        for p in places(schema, value, schema)
        if p.parent is not None and p.path[-1] in p.parent.get("required", [])
    ]
    place = pick(data, found)
    name = str(place.path[-1])
    drifted = data.draw(st.sampled_from([name.upper(), name.replace("_", "-") + "_", name.title()]))
    assume(drifted not in place.parent["properties"])  # type: ignore[index]
    holder = value
    for step in place.path[:-1]:
        holder = holder[step]  # type: ignore[index]
    damaged = {(drifted if key == name else key): item for key, item in holder.items()}
    comes_back(schema, value, replaced(value, place.path[:-1], damaged))


@SETTINGS
@given(calls(), st.data())
def test_dotted_keys_come_back(call: tuple[dict[str, Any], dict[str, Any]], data: st.DataObject) -> None:
    schema, value = call
    found = [
        p
        for p in places(schema, value, schema)
        if p.parent is not None
        and isinstance(p.value, dict)
        and p.value
        and set(p.value) <= set(p.schema["properties"])
        and (p.path[-1] in p.parent.get("required", []) or not p.parent.get("additionalProperties", True))
    ]
    place = pick(data, found)
    holder = value
    for step in place.path[:-1]:
        holder = holder[step]  # type: ignore[index]
    assume("x.y" not in holder)
    damaged: dict[str, Any] = {}
    for key, item in holder.items():
        if key == place.path[-1]:
            damaged.update({f"{key}.{inner}": part for inner, part in place.value.items()})
        else:
            damaged[key] = item
    comes_back(schema, value, replaced(value, place.path[:-1], damaged))


@SETTINGS
@given(calls(), st.data())
def test_wrapped_arguments_come_back(call: tuple[dict[str, Any], dict[str, Any]], data: st.DataObject) -> None:
    schema, value = call
    key = data.draw(st.sampled_from(["arguments", "input", "parameters", "args", "raw_arguments"]))
    damaged: Any = {key: json.dumps(value) if data.draw(st.booleans()) else value}
    assume(not Draft202012Validator(schema).is_valid(damaged))
    assume(not value or any(name in schema["properties"] for name in value))
    comes_back(schema, value, damaged)


NOISE = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.sampled_from(["", "42", "TRUE", "[1]", '{"alpha": "1"}', "Pending", "[", "a,b", "In Progress"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["alpha", "Beta_Two", "gamma_ray", "alpha.epsilon", "args", "zeta9", "path"]),
            inner,
        ),
    ),
    max_leaves=8,
)


@SETTINGS
@given(calls(), NOISE, st.data())
def test_whatever_comes_the_result_is_no_worse_and_mending_it_again_changes_nothing(
    call: tuple[dict[str, Any], dict[str, Any]], noise: Any, data: st.DataObject
) -> None:
    schema, value = call
    place = data.draw(st.sampled_from([Place((), schema, value, None), *places(schema, value, schema)]))
    damaged = replaced(value, place.path, noise)
    assume(isinstance(damaged, dict))
    before = text(damaged)
    mended = mend_shape(damaged, Tool("t", schema), drop_empty=frozenset({"pages"}))
    assert text(damaged) == before
    assert errors(schema, mended.value) <= errors(schema, damaged)
    assert bool(mended.steps) == (text(mended.value) != before)
    again = mend_shape(mended.value, Tool("t", schema), drop_empty=frozenset({"pages"}))
    assert again.steps == ()
