"""Which argument texts are objects: many are read together, and that says the same as reading each."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcalls.request.arguments import _BETWEEN, MAX_KNOWN, KnownGoodArguments

OBJECTS = ['{"a": 1}', "{}", ' {"a": [1, {"b": "]}"}]}\n', '{"a": "\\u0041\\n"}']
PIECES = ["{", "}", "[", "]", ",", ":", '"a"', '"', "1", " ", "\\", "NaN", '{"a":1', '"b":2}', "{}", '{"a":[1', "2]}"]
texts = st.lists(st.one_of(st.sampled_from(OBJECTS), st.lists(st.sampled_from(PIECES), max_size=5).map("".join)))


def is_object(text: str) -> bool:
    def refuse(name: str) -> Any:
        raise ValueError(name)

    try:
        return isinstance(json.loads(text, parse_constant=refuse), dict)
    except ValueError:
        return False


@settings(max_examples=1000)
@given(texts)
def test_together_they_are_what_each_of_them_is(some: list[str]) -> None:
    assert KnownGoodArguments().are_objects(some) == all(map(is_object, some))


@pytest.mark.parametrize(
    "pair",
    [
        ('{"a":1},{"x":2', '"y":3}'),
        ('{"a":[1', '2]}'),
        ('{"a":1},{"b":2}', ""),
        ("", '{"a":1},{"b":2}'),
        (f'{{"a":1}},{_BETWEEN},{{"b":2}}', "{}"),
        ("{}]", "[{}"),
    ],
)  # fmt: skip
def test_what_only_fits_together_is_no_object(pair: tuple[str, str]) -> None:
    assert not KnownGoodArguments().are_objects(pair)


def test_what_was_read_is_not_read_again_until_it_is_forgotten() -> None:
    known = KnownGoodArguments()
    assert known.are_objects(OBJECTS)
    assert len(known._hashes) == len(OBJECTS)
    assert known.are_objects([json.dumps({"n": number}) for number in range(MAX_KNOWN + 1)])
    assert len(known._hashes) == MAX_KNOWN
    assert not known.are_objects([*OBJECTS, "{"])
