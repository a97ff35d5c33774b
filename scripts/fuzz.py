"""Fuzz the parts of the engine: inputs made from a small corpus, and the promises that must hold for each of them.

scripts/fuzz                                  all parts
scripts/fuzz chat text --inputs 5000 --seed 3
scripts/fuzz meant --inputs 100000 --count    to the end, one finding of each kind and how often it came
scripts/fuzz --minutes 5 --markdown docs/fuzz.md
scripts/fuzz --atheris chat --minutes 10      guided by coverage; needs `pip install atheris`
"""

from __future__ import annotations

import argparse
import logging
import os
import platform
import sys
import tempfile
from pathlib import Path

from scripts.fuzzing.part import Part
from scripts.fuzzing.run import Report, limit_memory, run, tried

DEFAULT_INPUTS = 50_000
BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"


def main() -> int:
    logging.disable()  # What is said of thousands of broken answers is not what is looked for.
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="*", help="of docs/fuzz.md; a number: so many inputs for arguments")
    parser.add_argument("--inputs", type=int, default=DEFAULT_INPUTS, help="of each part (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=0.0, help="at most, for each part")
    parser.add_argument("--count", action="store_true", help="go on behind findings, and count them by kind")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table into this page")
    parser.add_argument("--atheris", action="store_true", help="let atheris choose the inputs of one part")
    options = parser.parse_args()
    names = [name for name in options.part if not name.isdigit()]
    for number in filter(str.isdigit, options.part):
        names, options.inputs = names or ["arguments"], int(number)
    if options.atheris and len(names) != 1:
        parser.error("name one part for --atheris.")
    parts = instrumented_parts() if options.atheris else all_parts()
    unknown = [name for name in names if name not in parts]
    if unknown:
        parser.error(f"there is no part {unknown[0]!r}; the parts are {', '.join(parts)}.")
    if options.atheris:
        return guided(parts[names[0]], options.minutes or 1.0, options.seed)
    limit_memory()
    reports = []
    for name in names or parts:
        reports.append(run(parts[name], options.inputs, options.seed, options.minutes, count=options.count))
        for finding in reports[-1].findings:
            print(f"FINDING {name}: {finding.problem[:4000]}\n  {finding.data!r}")
        for kind, times in reports[-1].kinds.most_common() if options.count else ():
            print(f"{times:8,}  {kind}")
        print(reports[-1], flush=True)
    if options.markdown:
        write_table(options.markdown, reports, options.seed)
    return 1 if any(report.findings for report in reports) else 0


def all_parts() -> dict[str, Part]:
    from scripts.fuzzing.parts import PARTS

    return PARTS


def instrumented_parts() -> dict[str, Part]:
    """The engine is loaded so that each branch that it takes is seen."""
    try:
        import atheris
    except ImportError:
        sys.exit("atheris is not installed: pip install atheris (Linux, Python 3.11 to 3.13).")
    with atheris.instrument_imports(include=["toolcalls"]):
        return all_parts()


def guided(part: Part, minutes: float, seed: int) -> int:
    """The same check with inputs that reach new code. Ends the process; a finding is written by libFuzzer."""
    import atheris

    def one(data: bytes) -> None:
        problem, _ = tried(part, data)
        if problem:
            raise AssertionError(problem)

    folder = Path(tempfile.mkdtemp(prefix=f"fuzz-{part.name}-"))
    for number, seed_input in enumerate(part.seeds()):
        (folder / str(number)).write_bytes(seed_input)
    limits = [f"-max_total_time={int(60 * minutes)}", f"-seed={seed + 1}", "-max_len=16384", "-print_final_stats=1"]
    atheris.Setup([sys.argv[0], f"-artifact_prefix={folder}{os.sep}finding-", *limits, str(folder)], one)
    atheris.Fuzz()
    return 0


def write_table(page: Path, reports: list[Report], seed: int) -> None:
    """Put the figures between the two marks of the page; the words around them stay."""
    lines = [
        f"Seed {seed}, Python {platform.python_version()}. Slowest: processor time of a check for a KB of its input.",
        "",
        "| part | promises | inputs | MB | minutes | slowest, ms per KB | findings |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {report.part} | {report.about} | {report.inputs:,} | {report.size / 1e6:,.1f} "
        f"| {report.seconds / 60:.1f} | {report.slowest:.1f} | {len(report.findings)} |"
        for report in reports
    ]
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    page.write_text(f"{before}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
