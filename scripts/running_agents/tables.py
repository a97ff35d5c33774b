"""The tables of how the sessions ended, for the terminal and for the docs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .sessions import Ended

ROOT = Path(__file__).resolve().parents[2]


def table(ended: Sequence[Ended]) -> str:
    """The table of how each session ended, without toolfix and with it."""
    names = list(dict.fromkeys(one.agent for one in ended))
    known = {(one.agent, one.scenario, one.toolfix): one for one in ended}
    rows = [["", *names]]
    for scenario in dict.fromkeys(one.scenario for one in ended):
        cells = []
        for name in names:
            without, through = known.get((name, scenario, False)), known.get((name, scenario, True))
            cells.append(" → ".join(one.how for one in (without, through) if one))
        rows.append([scenario, *cells])
    return _markdown(rows)


def short_table(ended: Sequence[Ended]) -> str:
    """The table of how many sessions of each agent succeed, without toolfix and with it."""
    names = list(dict.fromkeys(one.agent for one in ended))
    number = len({one.scenario for one in ended})
    rows = [[f"succeed, of {number} sessions", *names]]
    for title, toolfix in (("without toolfix", False), ("with toolfix", True)):
        cells = [sum(one.well for one in ended if one.agent == name and one.toolfix == toolfix) for name in names]
        rows.append([title, *map(str, cells)])
    return _markdown(rows)


def write(ended: Sequence[Ended]) -> None:
    """Write the tables into docs/agents.md and README.md, between their marks; keep agents that did not run."""
    written = []
    for path, made in ((ROOT / "docs/agents.md", table(ended)), (ROOT / "README.md", short_table(ended))):
        before, mark, rest = path.read_text().partition("<!-- agents -->\n")
        old, end, after = rest.partition("<!-- /agents -->")
        written.append((path, f"{before}{mark}{merged(old, made)}\n{end}{after}"))
    for path, text in written:
        path.write_text(text)


def merged(old: str, made: str) -> str:
    """The old table with the columns of the new one, at their old positions or at the end."""
    titles, *kept = _columns(old)
    new_titles, *new = _columns(made)
    columns = {column[0]: column for column in (*kept, *new)}
    if len(columns) > len(new) and titles != new_titles:
        raise SystemExit("these are not the sessions of the tables in the docs: run them all, of every agent.")
    return _markdown([list(row) for row in zip(new_titles, *columns.values(), strict=True)])


def _columns(table: str) -> list[tuple[str, ...]]:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.strip().splitlines()]
    return list(zip(rows[0], *rows[2:], strict=True))


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    lines = ["|" + "".join(f" {cell} |" if cell else " |" for cell in row) for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]])
