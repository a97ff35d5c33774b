"""What is remembered of refused calls has a limit, in number and in length."""

from __future__ import annotations

from toolcalls.request import refusals
from toolcalls.request.refusals import Refusals


def test_the_oldest_are_forgotten_when_there_are_too_many() -> None:
    known = Refusals()
    for number in range(refusals.MAX_REMEMBERED + 1):
        known.add(f"call_{number}", "cut off")
    assert len(known) == refusals.MAX_REMEMBERED
    assert known.get("call_0") is None
    assert known.get("call_1") == "cut off"


def test_the_oldest_are_forgotten_when_they_are_too_long() -> None:
    known = Refusals()
    long = "x" * (refusals.MAX_BYTES // 4)
    for number in range(10):
        known.add(f"{number}{long}", "cut off")
        known.add(f"{number}{long}", "told again")
    assert len(known) == 3
    assert known.get(f"9{long}") == "told again"
    known.add("y" * (refusals.MAX_BYTES + 1), "cut off")
    assert len(known) == 0
    known.add("call_1", "cut off")
    assert known.get("call_1") == "cut off"
