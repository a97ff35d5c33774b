"""Which argument texts are objects, and which keys they have: a text is read once."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from toolcalls.request.calls import MAX_KNOWN, keys_of, known_keys

OBJECTS = ['{"a": 1}', "{}", ' {"a": [1, {"b": "]}"}]}\n', '{"a": "\\u0041\\n"}']
PIECES = ["{", "}", "[", "]", ",", ":", '"a"', '"', "1", " ", "\\", "NaN", '{"a":1', '"b":2}', "{}", '{"a":[1', "2]}"]
texts = st.lists(st.one_of(st.sampled_from(OBJECTS), st.lists(st.sampled_from(PIECES), max_size=5).map("".join)))


def strict_keys_of(text: str) -> frozenset[str] | None:
    def refuse(name: str) -> Any:
        raise ValueError(name)

    try:
        value = json.loads(text, parse_constant=refuse)
    except ValueError:
        return None
    return frozenset(value) if isinstance(value, dict) else None


@settings(max_examples=500)
@given(texts)
def test_the_keys_are_those_of_a_strict_object(some: list[str]) -> None:
    for _ in range(2):
        assert [*map(keys_of, some)] == [*map(strict_keys_of, some)]


def test_no_more_than_so_many_are_remembered() -> None:
    known_keys.clear()
    for number in range(MAX_KNOWN + 1):
        assert keys_of(json.dumps({"n": number})) == {"n"}
    assert len(known_keys) == 1
