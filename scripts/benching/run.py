"""The names of the benches, and running one of them."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

from . import benches
from .measure import Row


def names() -> list[str]:
    """The names of all benches, in alphabetical order."""
    return sorted(module.name for module in pkgutil.iter_modules(benches.__path__))


def run(name: str, quick: bool) -> list[Row]:
    """The rows of one bench with their verdicts; `quick` measures tiny sizes, if the bench supports that."""
    work = importlib.import_module(f"{benches.__name__}.{name}").run
    rows = work(quick=True) if quick and "quick" in inspect.signature(work).parameters else work()
    return [judged(name, row) for row in rows]


def judged(bench: str, row: Row) -> Row:
    """The row with its verdict: a goal is for the ratio if there is one, otherwise for the figure."""
    goal, ratio = row.get("goal"), row.get("ratio")
    measured = row["figure"] if ratio is None else ratio
    verdict = "" if goal is None else "ok" if measured <= goal else "OVER"
    return {"bench": bench, **row, "ratio": ratio, "goal": goal, "verdict": verdict}
