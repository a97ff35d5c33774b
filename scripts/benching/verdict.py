"""The verdict on a row: its cost compared with its goal, whatever names the bench uses for its figures."""

from __future__ import annotations

from typing import Any

from .measure import Row

NAMES = ("name", "what", "case", "kind")
FIGURES = ("figure", "us", "microseconds")
GOALS = ("goal", "limit", "bound")
DETAILS = ("chunks", "size")


def first(row: Row, keys: tuple[str, ...]) -> Any:
    """The value of the first of these keys that the row has."""
    return next((row[key] for key in keys if row.get(key) is not None), None)


def judged(bench: str, row: Row) -> Row:
    """The row with its verdict: a goal is for the ratio if there is one, otherwise for the figure."""
    figure, goal, ratio = first(row, FIGURES), first(row, GOALS), row.get("ratio")
    unit = row.get("unit") if "figure" in row else "µs"
    if "limit_ms" in row:
        figure, goal, unit = figure / 1000, row["limit_ms"], "ms"
    measured = figure if ratio is None else ratio
    details = [f"{row[key]:,}" if isinstance(row[key], int) else row[key] for key in DETAILS if row.get(key)]
    group = [row["bench"]] if row.get("bench", bench) != bench else []
    return {
        "bench": bench,
        "name": ", ".join([*group, first(row, NAMES).removeprefix(f"{bench}: "), *details]),
        "figure": figure,
        "unit": "" if figure is None else unit,
        "ratio": ratio,
        "goal": goal,
        "verdict": "" if goal is None else "ok" if measured <= goal else "OVER",
    }
