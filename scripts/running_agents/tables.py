"""The tables of how the sessions ended, for the terminal and for the docs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .sessions import Ended

ROOT = Path(__file__).resolve().parents[2]


def table(ended: Sequence[Ended]) -> str:
    """How each session ended without toolfix, and with it."""
    names = list(dict.fromkeys(one.agent for one in ended))
    known = {(one.agent, one.scenario, one.toolfix): one for one in ended}
    lines = ["| | " + " | ".join(names) + " |", "| --- |" + " --- |" * len(names)]
    for scenario in dict.fromkeys(one.scenario for one in ended):
        cells = []
        for name in names:
            without, through = known.get((name, scenario, False)), known.get((name, scenario, True))
            cells.append(" → ".join(one.how for one in (without, through) if one))
        lines.append(f"| {scenario} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def short_table(ended: Sequence[Ended]) -> str:
    """How many sessions of each agent succeed, without toolfix and with it."""
    names = list(dict.fromkeys(one.agent for one in ended))
    number = len({one.scenario for one in ended})
    lines = [f"| succeed, of {number} sessions | " + " | ".join(names) + " |", "| --- |" + " --- |" * len(names)]
    for title, toolfix in (("without toolfix", False), ("with toolfix", True)):
        cells = [sum(one.well for one in ended if one.agent == name and one.toolfix == toolfix) for name in names]
        lines.append(f"| {title} | " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def write(ended: Sequence[Ended]) -> None:
    """Write the tables into docs/agents.md and README.md, between their marks."""
    for path, text in ((ROOT / "docs/agents.md", table(ended)), (ROOT / "README.md", short_table(ended))):
        before, mark, rest = path.read_text().partition("<!-- agents -->\n")
        _, end, after = rest.partition("<!-- /agents -->")
        path.write_text(f"{before}{mark}{text}\n{end}{after}")
