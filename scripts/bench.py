"""One table of what toolfix costs: every `bench_NAME.py` beside this file, or those that are named.

    scripts/bench                 all of them
    scripts/bench chat proxy      only some
    scripts/bench --strict        exits 1 when a goal is missed
    scripts/bench --markdown docs/bench.md

Figures are compared within one run (see measure.py): take the ratios from here, not the microseconds.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import os
import platform
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(ROOT / "addon"), str(HERE), str(ROOT)]

from measure import Row  # noqa: E402

LATEST = ROOT / ".bench" / "latest.json"


def benches() -> list[str]:
    """The files that measure something; the others only hold what several of them pass."""
    files = (path for path in HERE.glob("bench_*.py") if "\ndef run(" in path.read_text(encoding="utf-8"))
    return sorted(path.stem.removeprefix("bench_") for path in files)


def run(name: str, quick: bool) -> list[Row]:
    work = importlib.import_module(f"bench_{name}").run
    rows = work(quick=True) if quick and "quick" in inspect.signature(work).parameters else work()
    return [judged(name, row) for row in rows]


NAMES = ("name", "what", "case", "kind")
FIGURES = ("figure", "us", "microseconds")
GOALS = ("goal", "limit", "bound")
DETAILS = ("chunks", "size")


def first(row: Row, keys: tuple[str, ...]) -> Any:
    return next((row[key] for key in keys if row.get(key) is not None), None)


def judged(bench: str, row: Row) -> Row:
    """The row with its verdict: a goal is for the ratio where there is one, else for the figure."""
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


def circumstances() -> dict[str, Any]:
    """What a figure depends on beside the code."""
    return {
        "command": " ".join(["scripts/bench", *sys.argv[1:]]),
        "commit": commit(),
        "python": platform.python_version(),
        "mitmproxy": version("mitmproxy"),
        "machine": f"{platform.system()} {platform.machine()}, {processor()}",
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "when": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }


def commit() -> str:
    """With a plus sign where files differ from it; empty outside a clone."""
    done = subprocess.run(
        ["git", "-C", str(ROOT), "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty=+"],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return done.stdout.strip()


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())


def save(rows: list[Row], run: dict[str, Any], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"run": run, "rows": rows}, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


END = "<!-- end of figures -->"


def save_markdown(rows: list[Row], run: dict[str, Any], path: Path) -> None:
    """The same table for people, below what it was measured with. What stands behind it in the file stays."""
    lines = ["# What toolfix costs", "", "    " + run["command"], ""]
    lines += [f"- {name}: {value}" for name, value in run.items() if name != "command"]
    lines += ["", total(rows) + ". A goal is for the ratio where there is one, else for the figure."]
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


def main() -> int:
    known = benches()
    parser = argparse.ArgumentParser(prog="scripts/bench", description="What toolfix costs, as one table.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which benches, of: {', '.join(known)}")
    parser.add_argument("--json", type=Path, default=LATEST, metavar="FILE", help="where to save the table")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write the table as Markdown")
    parser.add_argument("--strict", action="store_true", help="exit 1 when a goal is missed")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that it runs, measures nothing")
    options = parser.parse_args()
    for name in options.names:
        if name not in known:
            parser.error(f"there is no bench {name!r}: say one of {', '.join(known)}.")
    run_of = circumstances()
    rows: list[Row] = []
    # Each in a process of its own: what one bench taught the interpreter, which rewrites its code for the types that
    # it meets, and what it left in memory moved the rows of the next by up to a quarter.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as processes:
        for name in options.names or known:
            print(f"{name} …", file=sys.stderr, flush=True)
            rows += processes.submit(run, name, options.quick).result()
    print_table(rows)
    save(rows, run_of, options.json)
    if options.markdown:
        save_markdown(rows, run_of, options.markdown)
    print(f"saved to {options.json}", file=sys.stderr)
    return 1 if options.strict and any(row["verdict"] == "OVER" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
