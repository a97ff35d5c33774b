"""The strict reader and the one writer."""

from __future__ import annotations

import json

import pytest

from toolcalls.mend.arguments import mend_arguments
from toolcalls.mend.strict import ExactFloat, read, write
from toolcalls.reasons import Refusal


def test_what_is_read_is_written_with_the_same_numbers() -> None:
    text = '{"a":1.0,"b":[1.50,1e5,-0.0,10,12345678901234567890],"c":{"d":0.1}}'
    assert write(read(text)) == text


def test_the_writer_is_compact_and_does_not_escape_what_utf8_can_say() -> None:
    assert (
        write({"é": ["你好", "\U0001f600", "\n\x7f"], "b": None}) == '{"é":["你好","\U0001f600","\\n\x7f"],"b":null}'
    )


def test_a_lone_surrogate_is_escaped_everywhere() -> None:
    assert write({"\ud800": "a\udfff", "n": ExactFloat("1.50")}) == '{"\\ud800":"a\\udfff","n":1.50}'


def test_a_hexadecimal_number_too_long_for_python_to_write_is_refused() -> None:
    assert mend_arguments('{"n": 0x' + "f" * 3000 + "}").text == f'{{"n":{16**3000 - 1}}}'
    assert mend_arguments('{"n": 0x' + "f" * 4000 + "}").status == "refused"


@pytest.mark.parametrize("text", ['{"a": NaN}', '{"a": -Infinity}', '{"a": 1e999}'])
def test_numbers_that_json_does_not_have_are_refused(text: str) -> None:
    with pytest.raises(Refusal):
        read(text)


def test_text_that_is_not_json_is_the_grammars_error() -> None:
    with pytest.raises(json.JSONDecodeError):
        read("{'a': 1}")


def test_depth_is_a_refusal_and_not_a_recursion_error() -> None:
    with pytest.raises(Refusal):
        read("[" * 100_000 + "]" * 100_000)
    nested: list[object] = []
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(Refusal):
        write(nested)


def test_a_repeated_key_keeps_its_last_value_as_json_loads_does() -> None:
    assert read('{"a": 1, "a": 2}') == {"a": 2}


def test_a_float_that_repr_writes_alike_stays_a_plain_float() -> None:
    value = read('{"a": 1.5, "b": 1.50}')
    assert type(value["a"]) is float
    assert value["b"] == 1.5
    assert value["b"].text == "1.50"
