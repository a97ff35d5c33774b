"""The incremental look at whether a text is still a strict JSON prefix of an object."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcalls.mend.lexer import MOST_LEVELS, StrictPrefix

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
_OBJECTS = st.dictionaries(st.text(max_size=5), _VALUES, max_size=4)


def accepted(text: str) -> int:
    return StrictPrefix().feed(text)


@given(_OBJECTS, st.booleans(), st.sampled_from([None, 1]), st.lists(st.integers(0, 400), max_size=6))
def test_every_strict_object_is_accepted_whole_however_it_is_cut(value, ascii_only, indent, cuts):
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    prefix, start = StrictPrefix(), 0
    for end in [*sorted(min(cut, len(text)) for cut in cuts), len(text)]:
        assert not prefix.complete or not text[start:].strip()
        assert prefix.feed(text[start:end]) == end - start
        start = end
    assert prefix.complete


@given(_OBJECTS, st.integers(0, 200), st.sampled_from(list("{}[]\",:'\\0-e.tx \n\u00a0\x01")))
def test_what_is_accepted_of_damaged_text_does_not_depend_on_the_cuts(value, at, character):
    text = json.dumps(value)
    text = text[:at] + character + text[at:]
    whole, single, count = StrictPrefix(), StrictPrefix(), 0
    for piece in text:
        taken = single.feed(piece)
        count += taken
        if not taken:
            break
    assert whole.feed(text) == count
    assert whole.complete == single.complete
    if whole.complete and count == len(text):
        assert isinstance(json.loads(text), dict)


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("{'a': 1}", 1),
        ('{"a": 01}', 7),
        ('{"a": 1.}', 8),
        ('{"a": 1e+}', 9),
        ('{"a": -}', 7),
        ('{"a": True}', 6),
        ('{"a": trux}', 9),
        ('{"a": 1,}', 8),
        ('{"a": [1,]}', 9),
        ('{"a": "\t"}', 7),
        ('{"a": "\\d"}', 8),
        ('{"a": "\\u00g0"}', 11),
        ('{"a" "b"}', 5),
        ('{"a": 1]', 7),
        ('{"a": NaN}', 6),
        ('{"a": 1}{"b": 2}', 8),
        ('{"a": 1} x', 9),
        ("[1]", 0),
        ("null", 0),
        ("\ufeff{}", 0),
        ("\u00a0{}", 0),
    ],
)
def test_acceptance_ends_at_the_first_character_that_does_not_fit(text, taken):
    prefix = StrictPrefix()
    assert prefix.feed(text) == taken
    assert prefix.broken
    assert prefix.feed("}") == 0


def test_nesting_is_bounded():
    text = '{"a":' + "[" * MOST_LEVELS * 2
    assert accepted(text) == len('{"a":') + MOST_LEVELS - 1
