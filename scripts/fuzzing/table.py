"""The table of docs/evidence/fuzz.md."""

from __future__ import annotations

import platform
from pathlib import Path

from .run import Report

BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"


def write_table(page: Path, reports: list[Report], seed: int) -> None:
    """Put the figures between the two marks of the page; the text around them stays."""
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
