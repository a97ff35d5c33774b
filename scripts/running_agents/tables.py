"""The tables of how the sessions ended, for the terminal and for the docs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .sessions import Ended

ROOT = Path(__file__).resolve().parents[2]


def table(ended: Sequence[Ended]) -> str:
    """The table of how each session ended, without toolfix and with it."""
    names = list(dict.fromkeys(one.agent for one in ended))
    known = {(one.agent, one.broken, one.toolfix): one for one in ended}
    rows = [["", *names]]
    for broken in dict.fromkeys(one.broken for one in ended):
        cells = []
        for name in names:
            without, through = known.get((name, broken, False)), known.get((name, broken, True))
            cells.append(" → ".join(one.how for one in (without, through) if one))
        rows.append([broken, *cells])
    return _markdown(rows)


def short_table(ended: Sequence[Ended]) -> str:
    """The table of how many sessions of each agent succeed, without toolfix and with it."""
    names = list(dict.fromkeys(one.agent for one in ended))
    number = len({one.broken for one in ended})
    rows = [[f"successful sessions, of {number}", *names]]
    for title, toolfix in (("without toolfix", False), ("with toolfix", True)):
        cells = [sum(one.well for one in ended if one.agent == name and one.toolfix == toolfix) for name in names]
        rows.append([title, *map(str, cells)])
    return _markdown(rows)


def write(ended: Sequence[Ended]) -> None:
    """Write the tables into docs/agents.md and README.md, between their marks."""
    for path, made in ((ROOT / "docs/agents.md", table(ended)), (ROOT / "README.md", short_table(ended))):
        before, mark, rest = path.read_text().partition("<!-- agents -->\n")
        path.write_text(f"{before}{mark}{made}\n<!-- /agents -->{rest.partition('<!-- /agents -->')[2]}")


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    lines = ["|" + "".join(f" {cell} |" if cell else " |" for cell in row) for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]])
