"""A bounded part of scripts/fuzz, with fixed seeds: every part, as many inputs as a few seconds allow."""

from __future__ import annotations

import random

import pytest

from scripts.fuzzing import meant, meant_answers, plans, recipes
from scripts.fuzzing.parts import PARTS
from scripts.fuzzing.run import run
from tests.sampling import WHOLE
from toolcalls.engine import Response, mend_whole

INPUTS = {
    "wire": 150,
    "chat": 150,
    "messages": 150,
    "responses": 120,
    "zai": 120,
    "ollama": 150,
    "gemini": 150,
    "documents": 500,
    "truncated": 400,
    "meant": 1_000,
    "meant-calls": 500,
    "meant-text": 500,
    "written": 1_000,
    "arguments": 1_000,
    "text": 150,
    "document": 400,
    "requests": 600,
    "healthy-chat": 50,
    "healthy-messages": 50,
    "healthy-responses": 50,
    "healthy-gemini": 50,
    "healthy-ollama": 50,
    "healthy-zai": 50,
}


def test_every_part_is_run() -> None:
    assert set(INPUTS) == set(PARTS)


@pytest.mark.parametrize("name", INPUTS)
def test_no_input_breaks_a_promise(name: str) -> None:
    inputs = INPUTS[name] if WHOLE else INPUTS[name] // 2
    report = run(PARTS[name], inputs, seed=11)
    assert report.inputs == inputs
    assert [finding.problem for finding in report.findings] == []


@pytest.mark.parametrize("name", INPUTS)
def test_the_corpus_itself_keeps_the_promises(name: str) -> None:
    for seed in PARTS[name].seeds():
        PARTS[name].check(seed)


def test_the_answers_with_known_calls_can_be_built_and_most_of_the_calls_come_out() -> None:
    """A fuzz in which nothing runs finds nothing."""
    chance = random.Random(3)
    allowed = found = 0
    for _ in range(800):
        recipe = recipes.make(chance)
        plan = plans.plan(recipe)
        body = meant_answers.answer_of(recipe, plan)
        if recipe.get("cut") or recipe["protocol"] == "zai":
            continue
        answer = Response(recipe["protocol"], meant.question_of(recipe["request"], tuple(plan.requested)))
        made = meant.runnable(next(meant.carriers(recipe, mend_whole(answer, body))))
        declared = {call: times for call, times in (+plan.allowed).items() if call[0] in recipes.TOOLS}
        allowed += sum(declared.values())
        found += sum(min(times, made[call]) for call, times in declared.items())
    assert allowed > 500
    assert found > 0.69 * allowed


def test_a_finding_is_made_smaller_by_leaving_out_what_it_does_not_need() -> None:
    quoted = {"is": "quoted", "number": 1, "how": "span", "format": "hermes", "calls": [["Bash", {"command": "a"}]]}
    prose = {"is": "prose", "number": 0}
    recipe = {"protocol": "chat", "form": "stream", "finish": "stop", "request": "plain", "seed": 1, "size": 7}
    less = list(recipes.smaller({**recipe, "pieces": [prose, quoted]}))
    assert [each["pieces"] for each in less[:2]] == [[quoted], [prose]]
    assert {**recipe, "size": 0, "pieces": [prose, quoted]} in less
