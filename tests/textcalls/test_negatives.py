"""A quoted example that is executed is worse than a call that is missed."""

from __future__ import annotations

import pytest

from tests.textcalls.declared import scan
from tests.textcalls.negatives import MORE, TIERS


def test_there_are_at_least_25_negatives_a_tier() -> None:
    assert {tier: len(texts) for tier, texts in TIERS.items()} == {"A": 25, "B": 26, "C": 25}


@pytest.mark.parametrize("size", [0, 1, 2, 7])
@pytest.mark.parametrize(("tier", "name"), [(tier, name) for tier, texts in TIERS.items() for name in texts])
def test_a_text_about_calls_is_not_promoted_and_not_changed(tier: str, name: str, size: int) -> None:
    text = TIERS[tier][name]
    assert scan(text, size=size) == [text]


@pytest.mark.parametrize("size", [0, 1, 5])
@pytest.mark.parametrize("name", MORE)
def test_what_else_came_up_is_not_promoted_and_not_changed(name: str, size: int) -> None:
    assert scan(MORE[name], size=size) == [MORE[name]]


@pytest.mark.parametrize(("tier", "name"), [(tier, name) for tier, texts in TIERS.items() for name in texts])
def test_a_text_about_calls_that_is_cut_off_anywhere_is_not_promoted_and_not_changed(tier: str, name: str) -> None:
    text = TIERS[tier][name]
    for end in range(1, len(text)):
        assert scan(text[:end], finished=False) == [text[:end]]
