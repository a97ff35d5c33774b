"""Measures what toolfix costs, as one table: with all benches, or with those that are named.

    scripts/bench                 all of them
    scripts/bench chat proxy      only some
    scripts/bench --strict        exits 1 when a goal is missed
    scripts/bench --markdown docs/evidence.md

Figures are compared within one run (see measure.py): take the ratios from here, not the microseconds.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from ..shared.circumstances import ROOT, circumstances
from .measure import Row
from .run import names, run
from .table import print_table, save, save_markdown

LATEST = ROOT / ".bench" / "latest.json"


def main() -> int:
    known = names()
    parser = argparse.ArgumentParser(prog="scripts/bench", description="What toolfix costs, as one table.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which benches, of: {', '.join(known)}")
    parser.add_argument("--json", type=Path, default=LATEST, metavar="FILE", help="where to save the table")
    parser.add_argument(
        "--markdown", type=Path, metavar="FILE", help="also write the goals into their section of this page"
    )
    parser.add_argument("--strict", action="store_true", help="exit 1 when a goal is missed")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that it runs, measures nothing")
    options = parser.parse_args()
    for name in options.names:
        if name not in known:
            parser.error(f"there is no bench {name!r}: say one of {', '.join(known)}.")
    run_of = circumstances("scripts/bench")
    rows: list[Row] = []
    # Each bench runs in a process of its own: what an earlier bench left in memory, and the bytecode that Python
    # specialised for its types, changed the rows of the next one by up to a quarter.
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
