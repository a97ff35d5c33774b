"""The table of all rows: printed, and saved as JSON and as Markdown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .measure import Row

END = "<!-- end of figures -->"
FIRST_WORDS = (
    "An event without a tool call costs a few microseconds, about what reading its JSON once takes; "
    "this page has every figure, and says which goals are missed."
)


def number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.2f}" if abs(value) < 1000 else f"{value:,.0f}"


def line(row: Row, width: int) -> str:
    goal = "" if row["goal"] is None else f"≤ {row['goal']:g}"
    name = f"{row['bench']}: {row['name']}"
    return (
        f"{name:<{width}} {number(row['figure']):>10} {row['unit']:<9} "
        f"{number(row['ratio']):>7} {goal:>8} {row['verdict']}"
    ).rstrip()


def print_table(rows: list[Row]) -> None:
    width = max((len(row["bench"]) + 2 + len(row["name"]) for row in rows), default=4)
    print(f"{'name':<{width}} {'figure':>10} {'unit':<9} {'ratio':>7} {'goal':>8}")
    for row in rows:
        print(line(row, width))
    print(total(rows))


def total(rows: list[Row]) -> str:
    over = sum(row["verdict"] == "OVER" for row in rows)
    judged_rows = sum(row["verdict"] != "" for row in rows)
    return f"{judged_rows - over} of {judged_rows} goals met" + (f", {over} over" if over else "")


def save(rows: list[Row], run: dict[str, Any], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"run": run, "rows": rows}, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def save_markdown(rows: list[Row], run: dict[str, Any], path: Path) -> None:
    """Write the circumstances and the table as Markdown; what follows the old table in the file stays."""
    lines = ["# What toolfix costs", "", FIRST_WORDS, "", "    " + run["command"], ""]
    lines += [f"- {name}: {value}" for name, value in run.items() if name != "command"]
    lines += ["", total(rows) + ". A goal is for the ratio if there is one, otherwise for the figure."]
    bench = None
    for row in rows:
        if row["bench"] != bench:
            bench = row["bench"]
            lines += [
                "",
                f"## {bench}",
                "",
                "| what | figure | ratio | goal | |",
                "| --- | ---: | ---: | ---: | --- |",
            ]
        goal = "" if row["goal"] is None else f"≤ {row['goal']:g}"
        name = row["name"].replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
        figure = f"{number(row['figure'])} {row['unit']}".strip()
        lines.append(f"| {name} | {figure} | {number(row['ratio'])} | {goal} | {row['verdict']} |")
    words = path.read_text(encoding="utf-8").partition(END)[2] if path.exists() else "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*lines, "", END]) + words, encoding="utf-8")
