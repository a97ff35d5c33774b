"""A call that a model writes while it thinks is a thought, in whatever wrapper, wherever it stands."""

from __future__ import annotations

import pytest

from tests.must_not_run.wires import Said, outcomes
from tests.textcalls.negatives import GLM, HERMES, INVOKE, KIMI, QWEN

WRAPPERS = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<THINKING>", "</Thinking>"),
    ('<thinking type="deep">', "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    ("<thought>", "</thought>"),
    ("<scratchpad>", "</scratchpad>"),
    ("<analysis>", "</analysis>"),
    ("<reflection>", "</reflection>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<think:a1b2>", "</think:a1b2>"),
]
FORMATS = {"hermes": HERMES, "qwen": QWEN, "glm": GLM, "invoke": INVOKE, "kimi": KIMI}

WRAPPED = [
    (opener, closer, name)
    for number, (opener, closer) in enumerate(WRAPPERS)
    for place, name in enumerate(FORMATS)
    if number == 0 or place in (0, 1 + number % 4)
]
"""The first wrapper around every format, each of the others around two: what is in it does not close it."""

every_wrapper = pytest.mark.parametrize(("opener", "closer"), WRAPPERS, ids=[opener for opener, _ in WRAPPERS])


def pieces(text: str, size: int = 7) -> tuple[str, ...]:
    return tuple(text[at : at + size] for at in range(0, len(text), size))


def is_text(text: str) -> None:
    for where, client in outcomes(Said(text=pieces(text))):
        assert (client.calls, client.text) == ([], text), where


@pytest.mark.parametrize(
    ("opener", "closer", "format"), WRAPPED, ids=[f"{opener}-{name}" for opener, _, name in WRAPPED]
)
def test_a_call_in_reasoning_stays_a_thought(opener: str, closer: str, format: str) -> None:
    call = FORMATS[format]
    for text in (
        f"{opener}\nI could say\n{call}\nbut no.\n{closer}\nHello.",
        f"{opener}{call}{closer}",
        f"{opener}\n{call}\n{closer}\n",
        f"Hello.\n{opener}\n{call}\n{closer}\n",  # late
        f"{opener}First.{closer}\n{opener}\n{call}\n{closer}\n",  # twice
        f"Hello. {opener}Maybe {call}",  # late and never closed
        f"Hello.\n{opener}\nThe build is stale.\n{call}\n",  # the same, and in no word of doubt
        f"Maybe\n{call}\n{closer}\nHello.",  # the opener stood in the prompt
        f"{call}{closer}\n",
    ):
        is_text(text)


@every_wrapper
def test_a_call_behind_reasoning_is_one(opener: str, closer: str) -> None:
    rehearsed = HERMES.replace("rm -rf build", "no")
    for before in (f"{opener}\nHm.\n{closer}\n", f"{opener}{rehearsed}{closer}\n\n", f"Hm.\n{rehearsed}\n{closer}\n"):
        for where, client in outcomes(Said(text=pieces(before + HERMES))):
            assert [call["arguments"] for call in client.calls] == [{"command": "rm -rf build"}], where
            assert client.text == before, where


def test_a_call_at_the_very_end_of_a_think_that_the_message_begins_with_and_that_never_ends_is_one() -> None:
    for opener in ("<think>", "<thinking>"):
        for where, client in outcomes(Said(text=pieces(f"{opener}\nI should look.\n{QWEN}"))):
            assert [call["name"] for call in client.calls] == ["Bash"], where
    is_text(f"Well.\n<think>\nI should look.\n{QWEN}")


def test_a_wrapper_that_is_only_mentioned_in_code_hides_nothing() -> None:
    for before in ("I add the tag `<thinking>`.\n", "```\n<think>\n```\n"):
        for where, client in outcomes(Said(text=pieces(before + HERMES))):
            assert len(client.calls) == 1, where
