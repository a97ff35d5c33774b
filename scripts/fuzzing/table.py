"""The section of docs/evidence.md about the fuzz."""

from __future__ import annotations

import platform
import time
from pathlib import Path

from ..shared.circumstances import commit
from ..shared.sections import write_section
from .run import Report


def write_table(page: Path, reports: list[Report], seed: int) -> None:
    lines = [
        f"{time.strftime('%Y-%m-%d')}, commit {commit()}, seed {seed}, Python {platform.python_version()}. "
        "Slowest: processor time of a check for a KB of its input.",
        "",
        "| part | promises | inputs | MB | slowest, ms per KB | findings |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {report.part} | {report.about} | {report.inputs:,} | {report.size / 1e6:,.1f} "
        f"| {report.slowest:.1f} | {len(report.findings)} |"
        for report in reports
    ]
    write_section(page, "fuzz", "\n".join(lines))
