"""`toolfix_schemas=widen`: what hosts reject in a declaration leaves, nothing is narrowed, and names come back."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcalls.engine import Response, mend_whole
from toolcalls.policy import Policy
from toolcalls.request.mend import Changed, mend_request
from toolcalls.request.refusals import Refusals
from toolcalls.request.request import decode, read_request
from toolcalls.tools.schema.widened import widened
from toolcalls.tools.short_names import short_name

Json = dict[str, Any]
LONG = "mcp__" + "a_very_long_server_name__" * 3 + "search"
DOTTED = "files.read"
REJECTED = (
    "$ref",
    "$defs",
    "not",
    "exclusiveMinimum",
    "pattern",
    "multipleOf",
    "const",
    "$schema",
    "patternProperties",
)


def chat_request(*names: str, schema: Json | None = None, **more: Any) -> bytes:
    parameters = schema or {"type": "object", "properties": {"a": {"type": "string"}}}
    tools = [{"type": "function", "function": {"name": name, "parameters": parameters}} for name in names]
    return json.dumps(
        {"model": "m", "tools": tools, "messages": [{"role": "user", "content": "Go."}], **more}
    ).encode()


def up(body: bytes, protocol: str = "chat", policy: Policy | None = None) -> Changed | None:
    return mend_request(protocol, body, decode(body), policy or Policy(schemas="widen"), Refusals())


@pytest.mark.parametrize(
    ("schema", "wide"),
    [
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}}, {"type": "object"}),
        (
            {"items": {"$ref": "#/definitions/b"}, "definitions": {"b": {"type": "string"}}},
            {"items": {"type": "string"}},
        ),
        ({"$ref": "https://example.com/schema", "description": "x"}, {"description": "x"}),
        ({"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {}}}),
        ({"type": "string", "pattern": "^\\d+$", "maxLength": 100_000}, {"type": "string"}),
        ({"type": "integer", "exclusiveMinimum": 0, "not": {"const": 7}}, {"type": "integer", "minimum": 0}),
        ({"exclusiveMaximum": 9, "maximum": 5, "exclusiveMinimum": True}, {"maximum": 5}),
        ({"const": "x"}, {"enum": ["x"]}),
        ({"type": "integer", "enum": [1, 2]}, {"type": "integer"}),
        ({"oneOf": [{"const": "a"}, {"type": "null"}]}, {"anyOf": [{"enum": ["a"]}, {"type": "null"}]}),
        (
            {"patternProperties": {"^x": {}}, "additionalProperties": False, "properties": {"a": {}}},
            {"properties": {"a": {}}},
        ),
    ],
)
def test_what_servers_choke_on_is_widened(schema: Json, wide: Json) -> None:
    assert widened(schema) == wide


def test_a_schema_that_refers_to_itself_ends() -> None:
    node: Json = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}
    wide = widened({"$ref": "#/$defs/node", "$defs": {"node": node}})
    assert wide == {"type": "object", "properties": {"next": {}}}
    many = {
        "$defs": {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 8} for n in range(20)},
        "$ref": "#/$defs/d0",
    }
    assert len(json.dumps(widened(many))) < 1_000_000


leaves: Any = st.sampled_from(
    [
        {},
        {"type": "string"},
        {"type": "integer", "exclusiveMinimum": 1},
        {"type": "number", "multipleOf": 2, "maximum": 8},
        {"type": "string", "pattern": "^a", "maxLength": 2},
        {"const": "a"},
        {"const": 1},
        {"enum": ["a", 1, None]},
        {"enum": ["a", "b"]},
        {"not": {"type": "string"}},
        {"$ref": "#/$defs/d"},
        {"$ref": "#/$defs/loop"},
        {"type": "array", "uniqueItems": True, "maxItems": 2000},
        {"type": "array", "contains": {"type": "string"}},
        {"type": "object", "patternProperties": {"^a": {"type": "string"}}, "additionalProperties": False},
        {"type": "object", "propertyNames": {"pattern": "^a"}, "required": ["a"]},
        True,
    ]
)
schemas = st.recursive(
    leaves,
    lambda inner: (
        st.builds(
            lambda key, some: {key: some},
            st.sampled_from(["anyOf", "oneOf", "allOf"]),
            st.lists(inner, min_size=1, max_size=3),
        )
        | st.builds(
            lambda one, two, closed: {
                "type": "object",
                "properties": {"a": one, "b": two},
                "additionalProperties": closed,
            },
            inner,
            inner,
            st.booleans(),
        )
        | st.builds(lambda one: {"type": "array", "items": one}, inner)
        | st.builds(lambda one, two: {"if": one, "then": two, "else": {"type": "object"}}, inner, inner)
    ),
    max_leaves=8,
)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 9) | st.sampled_from(["a", "ab", "b", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=400, deadline=None)
@given(schemas, values)
def test_whatever_the_original_admits_the_widened_one_admits(inner: Any, value: Any) -> None:
    definitions = {
        "d": {"type": "object", "properties": {"a": {"const": "a"}}, "required": ["a"]},
        "loop": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/$defs/loop"}}]},
    }
    schema = {"properties": {"x": inner}, "$defs": definitions}
    wide = widened(schema)
    assert widened(wide) is wide, "nothing is left to widen"
    if jsonschema.Draft202012Validator(schema).is_valid({"x": value}):
        assert jsonschema.Draft202012Validator(wide).is_valid({"x": value})
    text = json.dumps(wide)
    assert not any(f'"{word}"' in text for word in REJECTED)


def test_it_is_off_unless_somebody_wants_it_and_sound_tools_keep_their_bytes() -> None:
    body = chat_request(LONG, schema={"$ref": "#/$defs/a", "$defs": {"a": {}}})
    assert up(body, policy=Policy()) is None
    assert up(body, policy=Policy(schemas="widen", request=False)) is None
    assert up(chat_request("read", "files-2_x")) is None


def test_a_long_name_is_short_wherever_it_stands_in_the_request() -> None:
    call = {"id": "c", "type": "function", "function": {"name": LONG, "arguments": "{}"}}
    history = [
        {"role": "user", "content": f"Use {LONG}."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "name": LONG, "content": LONG},
    ]
    choice = {"type": "function", "function": {"name": LONG}}
    changed = up(chat_request(LONG, DOTTED, "read", messages=history, tool_choice=choice))
    assert changed is not None
    after = json.loads(changed.body)
    assert [tool["function"]["name"] for tool in after["tools"]] == [short_name(LONG), short_name(DOTTED), "read"]
    assert after["tool_choice"]["function"]["name"] == short_name(LONG)
    assert after["messages"][1]["tool_calls"][0]["function"]["name"] == short_name(LONG)
    assert after["messages"][2]["name"] == short_name(LONG)
    assert after["messages"][0] == history[0], "what people say is theirs"
    assert after["messages"][2]["content"] == LONG
    assert changed.steps == {"name shortened": 2}
    assert up(changed.body) is None


def test_messages_and_responses_too() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "exclusiveMinimum": 0}}}
    use = {"type": "tool_use", "id": "a", "name": LONG, "input": {}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": "ok"}
    sent = {
        "tools": [{"name": LONG, "input_schema": schema}],
        "tool_choice": {"type": "tool", "name": LONG},
        "messages": [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}],
    }
    changed = up(json.dumps(sent).encode(), "messages")
    assert changed is not None
    after = json.loads(changed.body)
    assert after["tools"][0]["input_schema"]["properties"]["n"] == {"type": "integer", "minimum": 0}
    assert LONG not in changed.body.decode()
    item = {"type": "function_call", "call_id": "a", "name": LONG, "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "a", "output": "ok"}
    body = json.dumps({"tools": [{"type": "function", "name": LONG, "parameters": schema}], "input": [item, output]})
    changed = up(body.encode(), "responses")
    assert changed is not None
    assert LONG not in changed.body.decode()
    assert changed.steps == {"schema widened": 1, "name shortened": 1}


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(min_size=1, max_size=90).filter(str.strip), min_size=1, max_size=4, unique=True))
def test_names_come_back_in_their_long_form(names: list[str]) -> None:
    names = [name for name in names if any(character.isalnum() for character in name)]
    body = chat_request(*names)
    changed = up(body)
    sent = json.loads(changed.body if changed else body)
    declared = [tool["function"]["name"] for tool in sent["tools"]]
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in declared)
    for name, short in zip(names, declared, strict=True):
        call = {"id": "c", "type": "function", "function": {"name": short, "arguments": "{}"}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        reply = json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}).encode()
        answer = Response("chat", read_request(decode(body)), Policy(schemas="widen"))
        got = json.loads(mend_whole(answer, reply))["choices"][0]["message"]["tool_calls"][0]["function"]["name"]
        assert got == name


def test_the_schema_of_the_client_stays_the_measure_of_a_call() -> None:
    schema = {"type": "object", "properties": {"kind": {"$ref": "#/$defs/k"}}, "$defs": {"k": {"const": "Full"}}}
    body = chat_request("read", schema=schema)
    assert up(body) is not None
    call = {"id": "c", "type": "function", "function": {"name": "read", "arguments": '{"kind": "full"}'}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    reply = json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}).encode()
    answer = Response("chat", read_request(decode(body)), Policy(schemas="widen"))
    mend_whole(answer, reply)
    assert json.loads(answer.outcomes[0].arguments) == {"kind": "Full"}
