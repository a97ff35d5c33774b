"""Ids that a protocol forbids or that repeat, and the way back."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcalls.ids import Ids, restore

LEGAL = re.compile(r"^[a-zA-Z0-9_-]+$")


def test_a_legal_id_that_is_free_is_kept():
    assert Ids(safe=True).unique("toolu_01A-b_C") == "toolu_01A-b_C"
    assert Ids().unique("functions.read:0") == "functions.read:0"


@given(st.text(min_size=1))
def test_a_replaced_id_is_legal_and_gives_its_original_back(original):
    ids = Ids("seed", safe=True)
    first, second = ids.unique(original), ids.unique(original)
    assert first != second
    for new in (first, second):
        assert LEGAL.match(new)
        assert new == original or restore(new) == original


def test_a_lone_surrogate_survives_the_way_there_and_back():
    assert restore(Ids(safe=True).unique("a\ud83d")) == "a\ud83d"


def test_the_same_seed_gives_the_same_ids_and_another_seed_gives_others():
    one, two, other = (Ids(seed, safe=True) for seed in "aab")
    assert [one.unique("x:0"), one.unique("")] == [two.unique("x:0"), two.unique("")]
    assert Ids("a", safe=True).unique("x:0") != other.unique("x:0")


@pytest.mark.parametrize("foreign", ["", "toolu_01AbC", "call_tfx_", "toolu_tfx_0000000g_YQ", "toolu_tfx_00000000_Y"])
def test_an_id_that_is_not_ours_has_no_original(foreign):
    assert restore(foreign) is None


def test_an_id_for_a_missing_one_has_no_original():
    assert restore(Ids(safe=True).unique("")) is None


# Ids of refused calls, and those that a history has


def test_an_id_that_the_history_has_is_not_given_again():
    ids = Ids("seed", ["functions.read:0"])
    assert restore(ids.unique("functions.read:0")) == "functions.read:0"
    assert ids.unique("functions.read:1") == "functions.read:1"
    assert not ids.keeps("functions.read:1")


def test_a_refused_call_has_an_id_of_its_own_among_all_users():
    why = "it was cut off"
    one, other = Ids("request of one").new("x:0", why), Ids("request of another").new("x:0", why)
    assert one != other
    assert restore(one) == restore(other) == "x:0"
    assert LEGAL.match(one)
    assert Ids("request of one").new("x:0", "another reason") != one
    assert Ids("request of one").new("", why) != Ids("request of one").unique("")


def test_an_id_of_another_proxy_is_wrapped_so_that_each_gives_back_its_own():
    inner = Ids("inner", ["x:0"]).unique("x:0")
    assert restore(Ids("outer").unique(inner)) == inner
    assert restore(Ids("outer", safe=True).unique(inner)) == inner


def test_the_seed_is_asked_for_only_when_an_id_is_made():
    asked = []

    def seed():
        asked.append(1)
        return "a"

    ids = Ids(seed)
    assert ids.unique("call_1") == "call_1"
    assert not asked
    assert ids.unique("call_1") == Ids("a", ["call_1"]).unique("call_1")
    ids.unique("")
    assert len(asked) == 1
