"""The corpora: zero wrong values, and almost nothing missed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.mend.judging import CORPUS, DAMAGED, cases, judge, printed, same, table, total
from tests.mend.own_cases import CASES
from toolcalls.mend.arguments import Finish, mend_arguments

OWN = [
    pytest.param(text, expected, id=f"{name}-{number}")
    for name, members in CASES.items()
    for number, (text, expected) in enumerate(members)
    if name != "deep"
]


def test_no_case_of_the_corpus_is_wrong_or_missed() -> None:
    counts = table(CORPUS)
    print("\n" + printed(counts))
    sums = total(counts)
    assert sums["wrong"] == 0
    assert sums["missed"] == 0


@pytest.mark.parametrize("case", cases(CORPUS), ids=lambda case: str(case["id"]))
def test_each_case_of_the_corpus_is_right_or_tolerated(case: dict[str, Any]) -> None:
    assert judge(case) in ("right", "tolerated")


if DAMAGED is not None:

    def test_every_damaged_text_comes_out_right() -> None:
        assert DAMAGED is not None
        counts = table(DAMAGED)
        print("\n" + printed(counts))
        sums = total(counts)
        assert sums["wrong"] == 0
        assert sums["right"] + sums["tolerated"] == sums.total()

    def test_no_cut_text_gives_a_part_of_the_object_it_was_cut_from() -> None:
        assert DAMAGED is not None
        for case in cases(DAMAGED):
            if "prefix_of" in case:
                for finish in Finish:
                    assert mend_arguments(case["input"], finish).status == "refused", (case["id"], finish)


@pytest.mark.parametrize(("text", "expected"), OWN)
def test_our_own_cases_of_each_class(text: str, expected: dict[str, Any] | None) -> None:
    mended = mend_arguments(text, Finish.COMPLETE)
    assert same(None if mended.text is None else json.loads(mended.text), expected)
    assert (mended.status == "refused") == (expected is None)
    assert bool(mended.reason) == (expected is None)
    assert mended.status == "valid" or mended.steps or expected is None


def test_every_class_of_the_corpus_has_five_cases_of_our_own() -> None:
    assert {case["class"] for case in cases(CORPUS)} == CASES.keys()
    assert all(len(members) >= 5 for members in CASES.values())


def test_fifty_levels_are_mended_and_thousands_are_refused() -> None:
    (fifty, _), *rest = CASES["deep"]
    assert mend_arguments(fifty).status == "valid"
    assert mend_arguments(fifty[:-1], Finish.COMPLETE).text == fifty
    assert mend_arguments(fifty.replace('"', "'")).text == fifty
    for text, _ in rest:
        assert mend_arguments(text).status == "refused"
