"""Arguments of a structured call on three protocols, streamed and not: with which value the call runs, if it does."""

from __future__ import annotations

from typing import Any

from tests.must_not_run.wires import Said, call, runnable
from toolcalls.mend.arguments import Finish, Mended, mend_arguments

TOOL = "some_tool"
"""No schema is declared for it: the arguments alone decide."""


def mended(text: str) -> Mended:
    """As for an answer whose model says that it was finished."""
    return mend_arguments(text, Finish.COMPLETE)


def runs_with(text: str) -> list[Any]:
    """The values with which the call runs: one of each protocol and form, fragments of any length."""
    middle = len(text) // 2
    said = Said(calls=(call(TOOL, text[:middle], text[middle:]),), finish="calls")
    return [made["arguments"] for _, calls in runnable(said) for made in calls]


def never_runs(text: str) -> bool:
    return runs_with(text) == []


def always_runs_with(text: str, value: Any) -> bool:
    return runs_with(text) == [value] * 6
