"""A mended text goes out behind what was sent only where it continues it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcalls.mend.strict import continued

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
_OBJECTS = st.dictionaries(st.text(max_size=4), _VALUES, max_size=4)


@given(_OBJECTS, st.integers(0, 300), st.booleans(), st.sampled_from([None, 1]))
def test_any_spelling_of_the_same_value_is_continued(value, at, ascii_only, indent):
    sent = json.dumps(value, ensure_ascii=ascii_only, indent=indent)[:at]
    text = continued(sent, json.dumps(value, ensure_ascii=False), value)
    if text is None:
        # Only a cut inside an escape, or between the halves of a surrogate pair, is not continued.
        assert "\\" in sent[-12:]
    else:
        assert text.startswith(sent)
        assert json.loads(text) == value


@given(_OBJECTS, _OBJECTS, st.integers(0, 300))
def test_what_is_continued_always_reads_as_the_mended_value(first, second, at):
    sent = json.dumps(first)[:at]
    text = continued(sent, json.dumps(second), second)
    assert text is None or (text.startswith(sent) and json.loads(text) == second)


@pytest.mark.parametrize(
    ("sent", "value"),
    [('{"a":1,', {"a": 1}), ('{"a":"x', {"a": "y"}), ('{"a":12', {"a": 1}), ('{"a":1}', {"a": 1, "b": 2}), ("[", {})],
)
def test_another_value_is_no_continuation(sent, value):
    assert continued(sent, json.dumps(value), value) is None
