"""A bounded run of the checks that `scripts/fuzz arguments` makes."""

from __future__ import annotations

from scripts.fuzzing.argument_promises import run


def test_no_mutated_or_damaged_text_breaks_a_promise_or_gives_a_wrong_value() -> None:
    report = run(6_000, seed=11)
    print(report)
    assert report.broken == []
    assert report.wrong == []
