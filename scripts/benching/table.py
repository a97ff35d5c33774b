"""The table of all rows: printed, saved as JSON, and its goals as a section of a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..shared.sections import write_section
from .measure import Row


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
    """Write the goals and the circumstances into their section of a page."""
    write_section(path, "bench", section(rows, run))


def section(rows: list[Row], run: dict[str, Any]) -> str:
    """What several benches measure side by side, each bench in a row, and the goals that were missed."""
    judged = [row for row in rows if row["verdict"]]
    benches = list(dict.fromkeys(row["bench"] for row in judged))
    names = list(dict.fromkeys(row["name"] for row in judged))
    found = {(row["bench"], row["name"]): row for row in judged}
    shared = [name for name in names if sum((bench, name) in found for bench in benches) > 1]
    across = [bench for bench in benches if any((bench, name) in found for name in shared)]
    lines = ["    " + run["command"], ""]
    lines += [", ".join(f"{name} {value}" for name, value in run.items() if name != "command") + ".", ""]
    lines += [total(rows) + ". A goal is for the ratio if there is one, otherwise for the figure.", ""]
    if shared:
        lines += ["| ratio | goal |" + "".join(f" {bench} |" for bench in across)]
        lines += ["| --- | ---: |" + " ---: |" * len(across)]
        for name in shared:
            here = [found.get((bench, name)) for bench in across]
            goal = next(row["goal"] for row in here if row is not None)
            cells = [_bold(_measured(row), row) if row is not None else "" for row in here]
            lines.append(f"| {_plain(name)} | ≤ {goal:g} | " + " | ".join(cells) + " |")
        lines.append("")
    lines += ["| bench | goals met | nearest to its goal | measured | goal |", "| --- | ---: | --- | ---: | ---: |"]
    for bench in benches:
        own = [row for row in judged if row["bench"] == bench]
        met = sum(row["verdict"] == "ok" for row in own)
        worst = max(own, key=lambda row: _value(row) / (row["goal"] or 1))
        measured = _bold(_measured(worst), worst)
        lines.append(
            f"| {bench} | {met} of {len(own)} | {_plain(worst['name'])} | {measured} | ≤ {worst['goal']:g} |"
        )
    return "\n".join(lines)


def _value(row: Row) -> float:
    value: float = row["figure"] if row["ratio"] is None else row["ratio"]
    return value


def _measured(row: Row) -> str:
    return number(_value(row)) if row["ratio"] is not None else f"{number(row['figure'])} {row['unit']}".strip()


def _bold(text: str, row: Row) -> str:
    return f"**{text}**" if row["verdict"] == "OVER" else text


def _plain(name: str) -> str:
    return name.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
