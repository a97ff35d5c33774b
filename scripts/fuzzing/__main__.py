"""Fuzz the parts of the engine: inputs made from a small corpus, and the promises that must hold for each of them.

scripts/fuzz                                  all parts
scripts/fuzz chat text --inputs 5000 --seed 3
scripts/fuzz meant --inputs 100000 --count    to the end; one finding of each kind, and how often it occurred
scripts/fuzz --minutes 5 --markdown docs/evidence.md
"""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path

from .parts import PARTS
from .run import limit_memory, run
from .table import write_table

DEFAULT_INPUTS = 50_000


def main() -> int:
    logging.disable()  # The warnings about thousands of broken answers are of no interest here.
    parser = argparse.ArgumentParser(
        prog="scripts/fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", nargs="*", help="of docs/evidence.md; a number: so many inputs for arguments")
    parser.add_argument("--inputs", type=int, default=DEFAULT_INPUTS, help="of each part (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=0.0, help="at most, for each part")
    parser.add_argument("--count", action="store_true", help="go on behind findings, and count them by kind")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table into its section of this page")
    options = parser.parse_args()
    names = [name for name in options.part if not name.isdigit()]
    for number in filter(str.isdigit, options.part):
        names, options.inputs = names or ["arguments"], int(number)
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        parser.error(f"there is no part {unknown[0]!r}; the parts are {', '.join(PARTS)}.")
    limit_memory()
    reports = []
    for name in names or PARTS:
        reports.append(run(PARTS[name], options.inputs, options.seed, options.minutes, count=options.count))
        for finding in reports[-1].findings:
            print(f"FINDING {name}: {finding.problem[:4000]}\n  {finding.data!r}")
        for kind, times in reports[-1].kinds.most_common() if options.count else ():
            print(f"{times:8,}  {kind}")
        print(reports[-1], flush=True)
    if options.markdown:
        write_table(options.markdown, reports, options.seed)
    return 1 if any(report.findings for report in reports) else 0


if __name__ == "__main__":
    sys.exit(main())
