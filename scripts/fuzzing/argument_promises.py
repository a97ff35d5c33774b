"""What the arguments engine promises, checked for one text after another.

Whatever the input is, nothing may be raised, and the result is a refusal, or strict JSON that mending leaves
unchanged. If the damage is known, the object is known too: anything but that object or a refusal is a wrong value. A
text that was cut off gives the whole object or nothing, unless the finish reason says that the model was finished.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from toolcalls.mend.arguments import Finish, mend_arguments
from toolcalls.mend.strict import write

from .damaged_arguments import CUT, UNCLEAR, damaged
from .mutated_arguments import mutated, texts


@dataclass
class Report:
    """How many texts were mended, and which ones broke a promise or gave another value than was meant."""

    inputs: int = 0
    seconds: float = 0.0
    statuses: Counter[str] = field(default_factory=Counter)
    wrong: list[tuple[str, str, Any, Any]] = field(default_factory=list)
    broken: list[tuple[str, str]] = field(default_factory=list)

    def __str__(self) -> str:
        told = ", ".join(f"{self.statuses[status]:,} {status}" for status in ("valid", "repaired", "refused"))
        return (
            f"{self.inputs:,} inputs in {self.seconds:.1f} s: {told}; "
            f"{len(self.broken)} broken promises, {len(self.wrong)} wrong values"
        )


def run(count: int, seed: int = 0) -> Report:
    """Check `count` texts, mutated and damaged ones in turns."""
    chance = random.Random(seed)
    report = Report()
    begin = time.perf_counter()
    for number in range(count):
        if number % 2:
            text, meant, how = mutated(chance, texts()), None, "mutation"
        else:
            text, meant, how = damaged(chance)
        check(report, chance, text, meant, how)
    report.seconds = time.perf_counter() - begin
    return report


def check(report: Report, chance: random.Random, text: str, meant: dict[str, Any] | None, how: str) -> None:
    """Mend one text and add the result to the report."""
    report.inputs += 1
    finish = chance.choice(list(Finish))
    if how.endswith(CUT) and how.startswith(UNCLEAR) and finish is Finish.COMPLETE:
        # A part of such a text cannot be told from a whole one without the finish reason, so this one says "cut".
        finish = Finish.CUT
    try:
        mended = mend_arguments(text, finish, complete_truncated=meant is None and chance.random() < 0.2)
    except BaseException as error:
        report.broken.append((text, f"raised {error!r}"))
        return
    report.statuses[mended.status] += 1
    problem = broken_promise(text, mended.status, mended.text, mended.value, mended.reason)
    if problem:
        report.broken.append((text, problem))
    elif (
        meant is not None
        and mended.status == "repaired"
        and not as_meant(json.loads(mended.text or ""), meant, how, finish)
    ):
        report.wrong.append((how, text, meant, json.loads(mended.text or "")))


def as_meant(got: Any, meant: Any, how: str, finish: Finish) -> bool:
    """Whether the value is the one that was meant.

    If the finish reason says that the model was finished, complete values of a cut text are right too.
    """
    finished = finish is Finish.COMPLETE
    return bool(got == meant) or (how.endswith(CUT) and finished and complete_part(meant, got))


def broken_promise(text: str, status: str, out: str | None, value: Any, reason: str) -> str:
    """The promise that the result breaks; "" if it breaks none."""
    if status == "refused":
        return "" if out is None and value is None and reason else "a refusal without its reason"
    if out is None or not isinstance(value, dict):
        return "no object"
    if status == "valid":
        return "" if out is text else "valid text was copied"
    try:
        read = json.loads(out, parse_constant=lambda name: 1 / 0)
        out.encode()
    except Exception as error:
        return f"not strict JSON: {error!r}"
    if not isinstance(read, dict) or not all(isfinite(n) for n in numbers(read)):
        return "not an object of finite numbers"
    if write(value) != out:
        return "text and value differ"
    again = mend_arguments(out)
    return "" if again.status == "valid" and again.text is out else "not idempotent"


def numbers(value: Any) -> Iterator[float]:
    """Every float inside a JSON value."""
    if isinstance(value, float):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from numbers(item)
    elif isinstance(value, list):
        for item in value:
            yield from numbers(item)


def complete_part(whole: Any, part: Any) -> bool:
    """Whether `part` consists of complete values of `whole`. A number may be cut without any sign of it."""
    if isinstance(whole, dict) and isinstance(part, dict):
        return all(key in whole and complete_part(whole[key], part[key]) for key in part)
    if isinstance(whole, list) and isinstance(part, list):
        return len(part) <= len(whole) and all(map(complete_part, whole, part))
    if isinstance(whole, int | float) and isinstance(part, int | float):
        return True
    return type(whole) is type(part) and bool(whole == part)
