"""A bounded part of scripts/fuzz."""

from __future__ import annotations

from scripts.fuzz_arguments import run


def test_no_mutated_or_damaged_text_breaks_a_promise_or_gives_a_wrong_value() -> None:
    report = run(6_000, seed=11)
    print(report)
    assert report.broken == []
    assert report.wrong == []
