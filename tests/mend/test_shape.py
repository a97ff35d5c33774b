"""Shape repair, class by class: what is mended, and the same bytes where they are legitimate."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from toolcalls.mend.finish import Finish
from toolcalls.mend.shape import ShapeMended, mend_shape
from toolcalls.tools.declared import Tool

STRING = {"type": "string"}
INTEGER = {"type": "integer"}
NUMBER = {"type": "number"}
BOOLEAN = {"type": "boolean"}
STRINGS = {"type": "array", "items": STRING}
STATUS = {"type": "string", "enum": ["pending", "in_progress", "completed"]}
TODO = {
    "type": "object",
    "properties": {"content": STRING, "status": STATUS},
    "required": ["content", "status"],
    "additionalProperties": False,
}
TODOS = {"type": "array", "items": TODO}
PAGES = frozenset({"pages"})


def schema_of(properties: dict[str, Any], required: list[str] | None = None, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required or [], **more}


def mend(value: dict[str, Any], schema: dict[str, Any], **options: Any) -> ShapeMended:
    options.setdefault("drop_empty", PAGES)
    before = json.dumps(value)
    mended = mend_shape(value, Tool("t", schema), **options)
    assert json.dumps(value) == before, "the value that came in was changed"
    validator = Draft202012Validator(schema)
    assert len(list(validator.iter_errors(mended.value))) <= len(list(validator.iter_errors(value)))
    if not mended.steps:
        assert mended.value is value
    return mended


def becomes(value: dict[str, Any], expected: dict[str, Any], schema: dict[str, Any], *steps: str) -> None:
    mended = mend(value, schema)
    assert json.dumps(mended.value) == json.dumps(expected)
    assert mended.steps
    if steps:
        assert mended.steps == steps


def stays(value: dict[str, Any], schema: dict[str, Any], **options: Any) -> None:
    mended = mend(value, schema, **options)
    assert mended.value is value
    assert mended.steps == ()


class TestContainerAsAString:
    def test_an_array_in_a_string_is_an_array(self) -> None:
        becomes(
            {"todos": '[{"content":"x","status":"pending"}]'},
            {"todos": [{"content": "x", "status": "pending"}]},
            schema_of({"todos": TODOS}, ["todos"]),
            "array from a string at `todos`",
        )

    def test_an_object_in_a_string_is_an_object(self) -> None:
        becomes(
            {"options": ' {"depth": 2}\n'},
            {"options": {"depth": 2}},
            schema_of({"options": {"type": "object", "properties": {"depth": INTEGER}}}),
            "object from a string at `options`",
        )

    def test_an_argv_in_a_string_is_an_array(self) -> None:
        becomes({"command": '["ls", "-la"]'}, {"command": ["ls", "-la"]}, schema_of({"command": STRINGS}))

    def test_it_is_found_in_items_and_behind_references(self) -> None:
        schema = schema_of(
            {"groups": {"type": "array", "items": {"$ref": "#/$defs/Group"}}},
            ["groups"],
            **{"$defs": {"Group": {"anyOf": [{"$ref": "#/$defs/Tags"}, {"type": "null"}]}, "Tags": STRINGS}},
        )
        becomes({"groups": ['["a"]', None, ["b"]]}, {"groups": [["a"], None, ["b"]]}, schema)

    def test_a_string_inside_the_string_is_followed(self) -> None:
        schema = schema_of({"a": schema_of({"b": {"type": "array", "items": INTEGER}}, ["b"])}, ["a"])
        becomes({"a": '{"b": "[1, 2]"}'}, {"a": {"b": [1, 2]}}, schema)

    def test_a_container_that_was_encoded_twice_is_a_container(self) -> None:
        becomes({"v": json.dumps("[1, 2]")}, {"v": [1, 2]}, schema_of({"v": {"type": "array", "items": INTEGER}}))
        becomes({"v": json.dumps('["a"]')}, {"v": ["a"]}, schema_of({"v": STRINGS}))

    def test_a_string_typed_property_keeps_its_json_text(self) -> None:
        stays({"content": '[{"a": 1}]'}, schema_of({"content": STRING}, ["content"]))

    @pytest.mark.parametrize("union", ["anyOf", "oneOf"])
    def test_a_union_with_string_keeps_its_json_text(self, union: str) -> None:
        stays({"value": "[1]"}, schema_of({"value": {union: [STRING, {"type": "array"}]}}))
        stays({"value": "[1]"}, schema_of({"value": {"type": ["array", "string"]}}))

    def test_a_place_without_a_type_keeps_its_text(self) -> None:
        stays({"value": "[1]"}, schema_of({"value": {}}))
        stays({"value": "[1]"}, schema_of({}))

    def test_text_whose_content_does_not_fit_stays(self) -> None:
        schema = schema_of({"todos": TODOS}, ["todos"])
        stays({"todos": '[{"content":"x"}]'}, schema)
        stays({"todos": '{"content":"x","status":"pending"}x'}, schema)
        stays({"todos": "[1, 2]"}, schema)

    def test_a_number_beyond_json_and_a_repeated_key_are_refused(self) -> None:
        numbers = schema_of({"n": {"type": "array", "items": NUMBER}})
        for text in ("[NaN]", "[Infinity]", "[1e999]", "[1"):
            stays({"n": text}, numbers)
        stays({"o": '{"a":1,"a":2}'}, schema_of({"o": {"type": "object", "properties": {"a": INTEGER}}}))

    def test_broken_text_is_mended_and_kept_when_it_fits(self) -> None:
        text = "[{'q': 'Go?', 'm': True}]"
        schema = schema_of({"questions": {"type": "array", "items": schema_of({"q": STRING, "m": BOOLEAN})}})
        mended = mend({"questions": text}, schema, finish=Finish.COMPLETE)
        assert mended.value == {"questions": [{"q": "Go?", "m": True}]}
        assert mended.steps == ("array from a broken string at `questions`",)
        stays({"questions": text}, schema)
        stays({"questions": "['a'], 'other': ['b']"}, schema, finish=Finish.COMPLETE)
        mended = mend({"paths": "['a', 'b',]"}, schema_of({"paths": STRINGS}), finish=Finish.COMPLETE)
        assert mended.value == {"paths": ["a", "b"]}

    @pytest.mark.parametrize("text", ["[x] done", "[ab]*.py", "[abc]", "{a,b}", "[draft]"])
    @pytest.mark.parametrize("finish", Finish)
    def test_a_glob_or_a_checkbox_is_not_an_array(self, text: str, finish: Finish) -> None:
        stays({"paths": text}, schema_of({"paths": STRINGS}), finish=finish)


class TestScalarAsAString:
    @pytest.mark.parametrize(
        ("text", "schema", "value"),
        [
            ("130", INTEGER, 130),
            ("-4", INTEGER, -4),
            ("0", NUMBER, 0),
            ("1.5", NUMBER, 1.5),
            ("1e3", NUMBER, 1000.0),
            ("30.0", INTEGER, 30),
            ("12345678901234567890", INTEGER, 12345678901234567890),
            ("true", BOOLEAN, True),
            ("False", BOOLEAN, False),
            ("2", {"enum": [1, 2, 3]}, 2),
            ("80", {"type": ["integer", "null"]}, 80),
            ("80", {"anyOf": [INTEGER, {"type": "null"}]}, 80),
            ("80", {"allOf": [INTEGER, {"minimum": 1}]}, 80),
            ("true", {"type": ["boolean", "integer"]}, True),
        ],
    )
    def test_it_becomes_the_number_or_boolean(self, text: str, schema: dict[str, Any], value: Any) -> None:
        becomes({"v": text}, {"v": value}, schema_of({"v": schema}, ["v"]))

    @pytest.mark.parametrize(
        ("text", "schema"),
        [
            ("42", STRING),
            ("42", {}),
            ("42", {"anyOf": [INTEGER, STRING]}),
            ("42", {"type": ["integer", "string"]}),
            ("true", STRING),
            ("042", INTEGER),
            ("+4", INTEGER),
            (" 4", INTEGER),
            ("4 ", INTEGER),
            ("0x10", INTEGER),
            ("1,000", INTEGER),
            ("1.5", INTEGER),
            ("٣", INTEGER),
            ("NaN", NUMBER),
            ("Infinity", NUMBER),
            ("1e999", NUMBER),
            ("yes", BOOLEAN),
            ("1", BOOLEAN),
            ("null", {"type": ["integer", "null"]}),
            ("5", {"type": "integer", "maximum": 4}),
            ("4", {"enum": [1, 2, 3]}),
            ("5", {"anyOf": [INTEGER, STRINGS]}),
            ("9" * 500, INTEGER),
        ],
    )
    def test_what_is_admitted_or_has_no_single_reading_stays(self, text: str, schema: dict[str, Any]) -> None:
        stays({"v": text}, schema_of({"v": schema}, ["v"]))

    def test_the_values_of_a_map_are_followed(self) -> None:
        becomes(
            {"env": {"a": "1", "b": 2}},
            {"env": {"a": 1, "b": 2}},
            schema_of({"env": {"type": "object", "additionalProperties": INTEGER}}),
            "number from a string at `env.a`",
        )

    def test_one_value_is_mended_though_another_stays_wrong(self) -> None:
        becomes(
            {"offset": "130", "mode": "?"},
            {"offset": 130, "mode": "?"},
            schema_of({"offset": INTEGER, "mode": STATUS, "path": STRING}, ["path"]),
        )


class TestIntegerAsAFloat:
    def test_it_loses_its_fraction(self) -> None:
        becomes(
            {"yield_time_ms": 120000.0},
            {"yield_time_ms": 120000},
            schema_of({"yield_time_ms": INTEGER}),
            "integer from a float at `yield_time_ms`",
        )
        becomes({"v": [1.0, 2]}, {"v": [1, 2]}, schema_of({"v": {"type": "array", "items": INTEGER}}))
        becomes({"v": 3.0}, {"v": 3}, schema_of({"v": {"anyOf": [INTEGER, {"type": "null"}]}}))
        becomes({"v": 3.0}, {"v": 3}, schema_of({"v": {"allOf": [NUMBER, INTEGER]}}))

    @pytest.mark.parametrize(
        ("value", "schema"),
        [
            (1.0, NUMBER),
            (1.0, {}),
            (1.0, {"type": ["number", "integer"]}),
            (1.0, {"anyOf": [INTEGER, NUMBER]}),
            (1.5, INTEGER),
            (2.0**54, INTEGER),
            (-0.0, INTEGER),
            (1.0, STRING),
        ],
    )
    def test_a_number_and_a_fraction_stay(self, value: float, schema: dict[str, Any]) -> None:
        stays({"v": value}, schema_of({"v": schema}))

    def test_a_float_that_only_rounds_to_an_integer_stays(self) -> None:
        class Exact(float):
            text = "4503599627370497.00000001"

        stays({"v": Exact(4503599627370497.0)}, schema_of({"v": INTEGER}))


class TestSingleItemForAnArray:
    def test_an_object_is_put_into_the_array(self) -> None:
        becomes(
            {"todos": {"content": "x", "status": "pending"}},
            {"todos": [{"content": "x", "status": "pending"}]},
            schema_of({"todos": TODOS}, ["todos"]),
            "array from its only item at `todos`",
        )

    @pytest.mark.parametrize("value", ["src", "src/main.py", "two words", "*.ts"])
    def test_a_string_is_put_into_the_array(self, value: str) -> None:
        becomes({"paths": value}, {"paths": [value]}, schema_of({"paths": STRINGS}))

    def test_a_number_and_a_boolean_are_put_into_the_array(self) -> None:
        becomes({"v": 5}, {"v": [5]}, schema_of({"v": {"type": "array", "items": INTEGER}}))
        becomes({"v": True}, {"v": [True]}, schema_of({"v": {"type": "array", "items": BOOLEAN}}))

    def test_in_a_list_of_lists_one_item_has_to_be_the_only_reading(self) -> None:
        lists = schema_of({"v": {"type": "array", "items": STRINGS}})
        becomes({"v": ["a", ["b"]]}, {"v": [["a"], ["b"]]}, lists)
        becomes({"v": ["a"]}, {"v": [["a"]]}, lists)
        stays({"v": ["a", "b"]}, lists)
        stays({"v": '["a", "b"]'}, lists)

    def test_what_becomes_the_item_is_mended_too(self) -> None:
        schema = schema_of({"todos": TODOS}, ["todos"])
        one = {"todos": [{"content": "x", "status": "pending"}]}
        becomes({"todos": {"content": "x", "status": "Pending"}}, one, schema)
        becomes(
            {"todos": '{"content":"x","status":"pending"}'},
            one,
            schema,
            "object from a string at `todos`",
            "array from its only item at `todos`",
        )
        becomes({"v": 5.0}, {"v": [5]}, schema_of({"v": {"type": "array", "items": INTEGER}}))
        becomes({"v": "PENDING"}, {"v": ["pending"]}, schema_of({"v": {"type": "array", "items": STATUS}}))

    @pytest.mark.parametrize("value", ['"a"', "`a`", "'a'", "a,b", "a, b", "a\nb", "a;b", "", "  ", "[a", "{a}"])
    def test_text_that_may_be_several_items_or_none_stays(self, value: str) -> None:
        stays({"paths": value}, schema_of({"paths": STRINGS}))

    def test_a_command_line_is_not_an_argv(self) -> None:
        stays({"command": "ls -la"}, schema_of({"command": STRINGS}, ["command"]))

    @pytest.mark.parametrize(
        ("value", "schema"),
        [
            ({"content": "x"}, TODOS),
            ({"item": [{"content": "x", "status": "pending"}]}, TODOS),
            ({"a": 1}, {"type": "array"}),
            ({"a": 1}, {"type": "array", "items": {}}),
            ({"0": "a"}, {"type": "array", "items": {"type": "object"}}),
            ("5", {"type": "array", "items": INTEGER}),
            (5, STRINGS),
            (None, STRINGS),
            ("a", {**STRINGS, "minItems": 2}),
            ("a", {"anyOf": [STRINGS, STRING]}),
        ],
    )
    def test_what_does_not_prove_itself_an_item_stays(self, value: Any, schema: dict[str, Any]) -> None:
        stays({"v": value}, schema_of({"v": schema}, ["v"]))


class TestEnumCase:
    @pytest.mark.parametrize("text", ["In Progress", "IN_PROGRESS", "in-progress", "inProgress", " in_progress"])
    def test_the_one_member_that_matches_is_taken(self, text: str) -> None:
        becomes({"status": text}, {"status": "in_progress"}, schema_of({"status": STATUS}, ["status"]))

    def test_members_behind_a_union_or_a_const_are_members(self) -> None:
        union = {"anyOf": [{"const": "left"}, {"const": "right"}, {"type": "null"}]}
        becomes({"v": "Left"}, {"v": "left"}, schema_of({"v": union}))
        becomes(
            {"v": "FULL"},
            {"v": "full"},
            schema_of({"v": {"$ref": "#/$defs/m"}}, **{"$defs": {"m": {"const": "full"}}}),
        )

    @pytest.mark.parametrize(
        ("text", "schema"),
        [
            ("PENDING", STRING),
            ("A ", {"enum": ["A", "a"]}),
            ("pend", STATUS),
            ("done", STATUS),
            ("-1", {"enum": ["1", "2"]}),
            ("1.0", {"enum": ["10", "1"]}),
            ("1-5", {"enum": ["15"]}),
            ("--", {"enum": ["-", "_"]}),
            ("Left", {"anyOf": [{"const": "left"}, STRING]}),
            ("PENDING", {"anyOf": [STATUS, {"type": "string", "minLength": 1}]}),
        ],
    )
    def test_free_text_and_doubtful_members_stay(self, text: str, schema: dict[str, Any]) -> None:
        stays({"v": text}, schema_of({"v": schema}, ["v"]))


class TestOptionalNothing:
    def test_an_optional_null_is_dropped_where_null_is_not_admitted(self) -> None:
        becomes(
            {"path": "src", "glob": None},
            {"path": "src"},
            schema_of({"path": STRING, "glob": STRING}, ["path"]),
            "optional null dropped at `glob`",
        )
        becomes(
            {"edits": [{"old": "a", "all": None}]},
            {"edits": [{"old": "a"}]},
            schema_of({"edits": {"type": "array", "items": schema_of({"old": STRING, "all": BOOLEAN}, ["old"])}}),
            "optional null dropped at `edits[0].all`",
        )

    @pytest.mark.parametrize(
        "schema",
        [
            {"type": ["string", "null"]},
            {"anyOf": [STRING, {"type": "null"}]},
            {"type": "string", "nullable": True},
            {"enum": ["a", None]},
            {},
            True,
        ],
    )
    def test_an_admitted_null_stays(self, schema: Any) -> None:
        # `nullable` is OpenAPI: the jsonschema package does not know it, clients do.
        stays({"v": None}, schema_of({"v": schema}))

    def test_a_required_null_an_undeclared_null_and_a_null_item_stay(self) -> None:
        stays({"v": None}, schema_of({"v": STRING}, ["v"]))
        stays({"v": None}, schema_of({}))
        stays({"v": None}, schema_of({}, additionalProperties=False))
        stays({"v": ["a", None]}, schema_of({"v": STRINGS}))
        stays({"v": {"k": None}}, schema_of({"v": {"type": "object", "additionalProperties": STRING}}))

    @pytest.mark.parametrize(
        "schema",
        [
            {"type": "string", "pattern": "^[0-9]+(-[0-9]+)?$"},
            {"type": "string", "pattern": r"^\d+(,\d+)*$"},
            {"type": "string", "minLength": 1},
            {"type": "string", "enum": ["a", "b"]},
            {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]},
            {"type": "string", "format": "date-time"},
            {"type": "string", "format": "uri"},
            INTEGER,
            BOOLEAN,
        ],
    )
    def test_an_optional_empty_string_is_dropped_where_it_is_forbidden(self, schema: dict[str, Any]) -> None:
        becomes({"path": "a", "v": ""}, {"path": "a"}, schema_of({"path": STRING, "v": schema}, ["path"]))

    def test_an_empty_string_for_pages_is_dropped(self) -> None:
        becomes(
            {"file_path": "/a.md", "offset": 1, "limit": 2000, "pages": ""},
            {"file_path": "/a.md", "offset": 1, "limit": 2000},
            schema_of({"file_path": STRING, "offset": NUMBER, "limit": NUMBER, "pages": STRING}, ["file_path"]),
            "optional empty string dropped at `pages`",
        )

    def test_another_empty_string_stays(self) -> None:
        schema = schema_of({"old_string": STRING, "new_string": STRING, "note": STRING}, ["old_string"])
        stays({"old_string": "a", "new_string": "", "note": ""}, schema)

    @pytest.mark.parametrize(
        ("value", "schema", "required"),
        [
            ("", STRING, ["pages"]),
            ("", {"type": "string", "enum": ["", "all"]}, []),
            ("", {"type": "string", "minLength": 1}, ["pages"]),
            ("", STRINGS, []),
            ("", {"type": "object"}, []),
            (" ", STRING, []),
            ("1-5", STRING, []),
        ],
    )
    def test_pages_stays_where_empty_is_not_absent(
        self, value: str, schema: dict[str, Any], required: list[str]
    ) -> None:
        stays({"pages": value}, schema_of({"pages": schema}, required))

    def test_an_undeclared_pages_stays_and_the_list_of_names_decides(self) -> None:
        stays({"pages": ""}, schema_of({}))
        stays({"pages": ""}, schema_of({"pages": STRING}), drop_empty=frozenset())
        assert mend({"glob": ""}, schema_of({"glob": STRING}), drop_empty=frozenset({"glob"})).value == {}


class TestDottedKeys:
    SCHEMA = schema_of(
        {"args": schema_of({"path": STRING, "command": STRING, "limit": INTEGER}), "note": STRING}, ["args"]
    )

    def test_they_are_nested(self) -> None:
        becomes(
            {"args.path": "/a", "note": "n", "args.command": "ls"},
            {"args": {"path": "/a", "command": "ls"}, "note": "n"},
            self.SCHEMA,
            "object from dotted keys at `args`",
        )

    def test_what_is_nested_is_mended_too(self) -> None:
        becomes({"args.limit": "5"}, {"args": {"limit": 5}}, self.SCHEMA)

    def test_two_levels_are_nested(self) -> None:
        schema = schema_of({"a": schema_of({"b": schema_of({"c": INTEGER}, ["c"])}, ["b"])}, ["a"])
        becomes({"a.b.c": 1}, {"a": {"b": {"c": 1}}}, schema)

    @pytest.mark.parametrize(
        "value",
        [
            {"args": {}, "args.path": "/a"},
            {"args.nothing": "/a"},
            {"args.path": "/a", "args.nothing": 1},
            {"args.path": 5},
            {"args.path.deep": "x"},
            {"other.path": "/a"},
        ],
    )
    def test_they_stay_where_the_nesting_is_not_declared_or_taken(self, value: dict[str, Any]) -> None:
        stays(value, self.SCHEMA)

    def test_a_declared_key_with_a_dot_and_an_admitted_one_stay(self) -> None:
        stays({"a.b": "x"}, schema_of({"a.b": STRING, "a": schema_of({"b": STRING})}, ["a"]))
        stays({"a.b": "x"}, schema_of({"a": schema_of({"b": STRING})}))


class TestWrapper:
    SCHEMA = schema_of({"command": STRING, "timeout": INTEGER}, ["command"], additionalProperties=False)

    @pytest.mark.parametrize("key", ["arguments", "input", "parameters", "args", "raw_arguments", "result"])
    def test_the_arguments_are_taken_out(self, key: str) -> None:
        becomes({key: {"command": "ls"}}, {"command": "ls"}, self.SCHEMA, f"arguments taken out of `{key}`")
        becomes({key: '{"command":"ls"}'}, {"command": "ls"}, self.SCHEMA)

    def test_a_whole_call_inside_its_own_arguments_is_one(self) -> None:
        call = {"name": "t", "arguments": {"command": "ls"}}
        becomes(call, {"command": "ls"}, self.SCHEMA, "arguments taken out of `arguments`")
        stays(call, schema_of({"command": STRING, "name": STRING}, ["command"]))

    def test_several_levels_and_other_defects_are_followed(self) -> None:
        becomes({"arguments": {"input": {"command": "ls"}}}, {"command": "ls"}, self.SCHEMA)
        becomes({"arguments": {"cmd": "ls", "timeout": "5"}}, {"command": "ls", "timeout": 5}, self.SCHEMA)

    @pytest.mark.parametrize(
        "value",
        [
            {"arguments": {"command": "ls"}, "timeout": 5},
            {"arguments": {"timeout": 5}},
            {"arguments": {}},
            {"arguments": "ls"},
            {"arguments": ["ls"]},
            {"payload": {"command": "ls"}},
            {"arguments": {"arguments": {"arguments": {"arguments": {"command": "ls"}}}}},
            {"name": "another", "arguments": {"command": "ls"}},
            {"name": "t"},
        ],
    )
    def test_what_is_not_surely_a_wrapper_stays(self, value: dict[str, Any]) -> None:
        stays(value, self.SCHEMA)

    def test_a_declared_key_is_no_wrapper(self) -> None:
        schema = schema_of({"input": {"type": "object"}, "command": STRING}, ["command"])
        stays({"input": {"command": "ls"}}, schema)
        stays({"arguments": {"command": "ls"}}, schema_of({"command": STRING}))
        union = {
            "anyOf": [
                schema_of({"args": {"type": "object"}}, ["args"]),
                schema_of({"command": STRING}, ["command"]),
            ]
        }
        stays({"args": {"command": "ls"}}, union)


class TestParameterNameDrift:
    @pytest.mark.parametrize(
        ("source", "target"),
        [
            ("path", "file_path"),
            ("filePath", "file_path"),
            ("file_path", "filePath"),
            ("file", "path"),
            ("filename", "filePath"),
            ("cmd", "command"),
            ("command", "cmd"),
            ("old_str", "old_string"),
            ("oldText", "old_string"),
            ("new_str", "newString"),
            ("FILE-PATH", "file_path"),
        ],
    )
    def test_the_key_gets_its_declared_name(self, source: str, target: str) -> None:
        becomes(
            {source: "x", "n": 1},
            {target: "x", "n": 1},
            schema_of({target: STRING, "n": INTEGER}, [target]),
            f"`{source}` renamed to `{target}`",
        )

    def test_inside_items_and_several_at_once(self) -> None:
        edit = schema_of({"oldText": STRING, "newText": STRING}, ["oldText", "newText"])
        becomes(
            {"edits": [{"old_string": "a", "new_string": ""}]},
            {"edits": [{"oldText": "a", "newText": ""}]},
            schema_of({"edits": {"type": "array", "items": edit}}, ["edits"]),
        )

    @pytest.mark.parametrize(
        ("value", "schema"),
        [
            ({"path": "x"}, schema_of({"file_path": STRING})),
            ({"path": "x", "file_path": "y"}, schema_of({"file_path": STRING}, ["file_path"])),
            ({"path": "x"}, schema_of({"file_path": STRING, "path": STRING}, ["file_path"])),
            ({"path": "x", "file": "y"}, schema_of({"file_path": STRING}, ["file_path"])),
            ({"path": "x", "filePath": "y"}, schema_of({"file_path": STRING}, ["file_path"])),
            ({"path": "x"}, schema_of({"file_path": STRING, "filename": STRING}, ["file_path", "filename"])),
            ({"path": ["x"]}, schema_of({"file_path": INTEGER}, ["file_path"])),
            ({"path": 5}, schema_of({"file_path": STRING}, ["file_path"])),
            ({"location": "x"}, schema_of({"file_path": STRING}, ["file_path"])),
            ({"timeout_ms": 5}, schema_of({"timeout": INTEGER}, ["timeout"])),
            ({"query": "x"}, schema_of({"pattern": STRING}, ["pattern"])),
            ({"path": "x"}, schema_of({"file_path": STRING}, ["file_path"], additionalProperties=STRING)),
            (
                {"path": "x"},
                schema_of({"file_path": STRING}, ["file_path"], patternProperties={"^p": STRING}),
            ),
            ({"path": "x"}, schema_of({}, ["file_path"])),
        ],
    )
    def test_without_a_single_proven_target_it_stays(self, value: dict[str, Any], schema: dict[str, Any]) -> None:
        stays(value, schema)

    @pytest.mark.parametrize(
        "more",
        [
            {"propertyNames": {"pattern": "^[a-z_]+$"}},
            {"propertyNames": {"enum": ["file_path", "n"]}},
        ],
    )
    def test_rules_about_names_are_checked_and_do_not_stop_it(self, more: dict[str, Any]) -> None:
        schema = schema_of({"file_path": STRING, "n": INTEGER}, ["file_path"], **more)
        becomes({"path": "x", "n": 1}, {"file_path": "x", "n": 1}, schema)

    @pytest.mark.parametrize(
        "more",
        [{"propertyNames": {"maxLength": 4}}, {"dependentRequired": {"n": ["file_path"]}}],
    )
    def test_a_rule_about_names_that_the_new_name_breaks_leaves_the_old_one(self, more: dict[str, Any]) -> None:
        """The near miss: nothing would be gained."""
        stays({"path": "x"}, schema_of({"file_path": STRING, "n": INTEGER}, ["file_path"], **more))

    def test_a_key_of_another_branch_is_declared(self) -> None:
        schema = schema_of(
            {},
            anyOf=[
                schema_of({"file_path": STRING, "n": INTEGER}, ["file_path", "n"]),
                schema_of({"path": STRING}, ["path"]),
            ],
        )
        stays({"path": "x", "n": 1}, schema)

    def test_either_of_two_required_sets_may_be_meant(self) -> None:
        both = {"file_path": STRING, "url": STRING}
        schema = schema_of(both, anyOf=[{"required": ["file_path"]}, {"required": ["url"]}])
        becomes({"path": "x"}, {"file_path": "x"}, schema)


class TestNeverTouched:
    @pytest.mark.parametrize(
        "text",
        [
            "cd /p &amp;&amp; ls",
            "</param></invoke>",
            "C:\\new\\docs",
            '{"a":1}',
            "  padded  ",
            "<|channel|>",
            "None",
        ],
    )
    def test_no_value_inside_a_string(self, text: str) -> None:
        stays({"command": text, "other": [text]}, schema_of({"command": STRING, "other": STRINGS}, ["command"]))

    def test_extra_keys_and_missing_ones(self) -> None:
        stays(
            {"path": "/a", "reason": "because"},
            schema_of({"path": STRING}, ["path"], additionalProperties=False),
        )
        stays(
            {"file_path": "/a.ts"},
            schema_of({"file_path": STRING, "content": STRING}, ["file_path", "content"]),
        )

    def test_a_number_where_text_is_wanted(self) -> None:
        stays({"v": 42}, schema_of({"v": STRING}, ["v"]))

    def test_anything_for_a_tool_without_a_schema(self) -> None:
        value = {"arguments": {"a": "1"}}
        for tool in (
            Tool("t"),
            Tool("t", {}),
            Tool("t", {"type": "object"}),
            Tool("t", {"type": "object"}, "custom"),
        ):
            assert mend_shape(value, tool).value is value

    def test_what_is_not_changed_is_the_same_object(self) -> None:
        keep = {"deep": [1.5, {"x": 10.25}]}
        schema = schema_of(
            {"keep": {"type": "object"}, "limit": INTEGER, "list": {"type": "array", "items": INTEGER}}
        )
        one, half = 10**400, 0.1
        mended = mend({"keep": keep, "limit": "5", "list": [one, "1"], "h": half}, schema)
        assert mended.value["keep"] is keep
        assert mended.value["list"][0] is one
        assert mended.value["h"] is half


class TestDiscriminatedUnion:
    SCHEMA = schema_of(
        {
            "action": {
                "anyOf": [
                    schema_of({"kind": {"const": "move"}, "x": INTEGER}, ["kind", "x"], additionalProperties=False),
                    schema_of({"kind": {"const": "type"}, "x": STRING}, ["kind", "x"], additionalProperties=False),
                ]
            }
        },
        ["action"],
    )

    def test_the_branch_that_the_value_names_decides(self) -> None:
        becomes({"action": {"kind": "move", "x": "5"}}, {"action": {"kind": "move", "x": 5}}, self.SCHEMA)
        stays({"action": {"kind": "type", "x": "5"}}, self.SCHEMA)
        becomes({"action": '{"kind":"type","x":"5"}'}, {"action": {"kind": "type", "x": "5"}}, self.SCHEMA)

    def test_two_readings_are_none(self) -> None:
        schema = schema_of({"v": {"anyOf": [{"type": "array", "items": INTEGER}, INTEGER]}})
        becomes({"v": "5"}, {"v": 5}, schema)
        stays({"v": "5"}, schema_of({"v": {"anyOf": [STRINGS, INTEGER]}}))


class TestAContainerWithASecondDefect:
    """A list or an object sent as text: what is in it is mended too, or nobody is given it."""

    WITH_FORM = schema_of(
        {"todos": {"type": "array", "items": {**TODO, "properties": {**TODO["properties"], "activeForm": STRING}}}},
        ["todos"],
    )

    @pytest.mark.parametrize(
        ("item", "mended"),
        [
            ({"content": "x", "status": "In Progress"}, {"content": "x", "status": "in_progress"}),
            ({"Content": "x", "status": "pending"}, {"content": "x", "status": "pending"}),
            (
                {"content": "x", "status": "PENDING", "active_form": "y"},
                {"content": "x", "status": "pending", "activeForm": "y"},
            ),
            ({"content": "x", "status": "pending", "activeForm": None}, {"content": "x", "status": "pending"}),
        ],
    )
    def test_both_are_mended(self, item: Any, mended: Any) -> None:
        becomes({"todos": json.dumps([item])}, {"todos": [mended]}, self.WITH_FORM)
        becomes({"todos": json.dumps(item)}, {"todos": [mended]}, self.WITH_FORM)

    @pytest.mark.parametrize(
        "item",
        [
            {"content": "x", "status": "pending", "reason": "y"},
            {"content": "x", "status": "nearly"},
            {"content": "x"},
            {"content": 5, "status": "pending"},
            {"content": "x", "status": "pending", "active_form": "y", "Active-Form": "z"},
        ],
    )
    def test_what_cannot_be_mended_is_refused(self, item: Any) -> None:
        for text in (json.dumps([item]), json.dumps([{"content": "a", "status": "pending"}, item]), json.dumps(item)):
            value = {"todos": text}
            mended = mend_shape(value, Tool("t", self.WITH_FORM))
            assert mended.value is value
            assert "`todos`" in mended.refusal

    @pytest.mark.parametrize(
        ("value", "schema"),
        [
            ({"text": '[{"a": 1}]'}, schema_of({"text": STRING})),
            ({"text": '[{"a": 1}]'}, schema_of({"text": {"anyOf": [STRING, STRINGS]}})),
            ({"todos": [{"content": "x", "status": "nearly"}]}, schema_of({"todos": TODOS})),
            ({"names": "[ab]*"}, schema_of({"names": STRINGS})),
            ({"n": "many"}, schema_of({"n": INTEGER})),
            ({"anything": "[1]"}, schema_of({"anything": {}})),
        ],
    )
    def test_nothing_else_is_refused(self, value: Any, schema: Any) -> None:
        assert mend_shape(value, Tool("t", schema)).refusal == ""

    def test_it_is_found_wherever_it_stands(self) -> None:
        schema = schema_of({"plan": schema_of({"steps": {"type": "array", "items": schema_of({"todos": TODOS})}})})
        value = {"plan": {"steps": [{"todos": json.dumps([{"content": "x", "status": "nearly"}])}]}}
        assert "`plan.steps[0].todos`" in mend_shape(value, Tool("t", schema)).refusal


class TestAnOptionalKeyInAnotherSpelling:
    CLOSED = schema_of(
        {"file_path": STRING, "maxLines": INTEGER, "mode": STATUS}, ["file_path"], additionalProperties=False
    )
    OPEN = schema_of({"file_path": STRING, "maxLines": INTEGER}, ["file_path"])

    @pytest.mark.parametrize("key", ["max_lines", "MaxLines", "max-lines", "MAXLINES", "max lines"])
    def test_is_renamed_where_the_schema_forbids_it(self, key: str) -> None:
        becomes(
            {"file_path": "a", key: 5},
            {"file_path": "a", "maxLines": 5},
            self.CLOSED,
            f"`{key}` renamed to `maxLines`",
        )

    def test_its_value_is_mended_too(self) -> None:
        becomes({"file_path": "a", "max_lines": "5"}, {"file_path": "a", "maxLines": 5}, self.CLOSED)
        becomes({"file_path": "a", "Mode": "In Progress"}, {"file_path": "a", "mode": "in_progress"}, self.CLOSED)

    @pytest.mark.parametrize(
        "value",
        [
            {"file_path": "a", "max_line": 5},
            {"file_path": "a", "lines": 5},
            {"file_path": "a", "maxLines": 1, "max_lines": 5},
            {"file_path": "a", "max_lines": 1, "MaxLines": 5},
            {"file_path": "a", "max_lines": "many"},
            {"file_path": "a", "path": "b"},
        ],
    )
    def test_stays_where_it_is_not_certain(self, value: Any) -> None:
        stays(value, self.CLOSED)

    def test_stays_where_the_schema_allows_it(self) -> None:
        stays({"file_path": "a", "max_lines": 5}, self.OPEN)
        stays({"file_path": "a", "max_lines": 5}, {**self.OPEN, "additionalProperties": True})
        stays({"file_path": "a", "max_lines": 5}, {**self.OPEN, "additionalProperties": INTEGER})
