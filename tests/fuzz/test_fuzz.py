"""A bounded part of scripts/fuzz, with fixed seeds: every part, as many inputs as a few seconds allow."""

from __future__ import annotations

import pytest

from scripts.fuzzing.parts import PARTS
from scripts.fuzzing.run import run

INPUTS = {
    "wire": 150,
    "chat": 150,
    "messages": 150,
    "responses": 120,
    "zai": 120,
    "documents": 500,
    "truncated": 400,
    "arguments": 1_000,
    "text": 150,
    "document": 400,
    "requests": 600,
}


def test_every_part_is_run() -> None:
    assert set(INPUTS) == set(PARTS)


@pytest.mark.parametrize("name", INPUTS)
def test_no_input_breaks_a_promise(name: str) -> None:
    report = run(PARTS[name], INPUTS[name], seed=11)
    assert report.inputs == INPUTS[name]
    assert [finding.problem for finding in report.findings] == []


@pytest.mark.parametrize("name", PARTS)
def test_the_corpus_itself_keeps_the_promises(name: str) -> None:
    for seed in PARTS[name].seeds():
        PARTS[name].check(seed)
