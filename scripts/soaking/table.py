"""The soak's figures as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ..shared.circumstances import circumstances
from .accounting import NAMES, Books, Watched, figure


def table(watched: Sequence[Watched], seconds: float, seed: int, problems: Sequence[str]) -> str:
    asked, faults = Counter[str](), Counter[str]()
    for one in watched:
        asked.update(one.books.asked)
        faults.update(one.books.faults)
    columns = [_column(one.books, seconds, sorted(asked), sorted(faults)) for one in watched]
    lines = [
        f"{seconds / 60:.1f} minutes, seed {seed}; "
        + ", ".join(f"{name} {value}" for name, value in circumstances("scripts/soak").items()),
        "",
        "| | " + " | ".join(one.name for one in watched) + " |",
        "| --- |" + " ---: |" * len(watched),
    ]
    titles = dict.fromkeys(title for column in columns for title in column)
    lines += [f"| {title} | " + " | ".join(column.get(title, "") for column in columns) + " |" for title in titles]
    lines += ["", "Nothing is wrong." if not problems else f"{len(problems)} problems:"]
    lines += [f"- {problem}" for problem in problems]
    return "\n".join(lines)


def _column(books: Books, seconds: float, protocols: Iterable[str], faults: Iterable[str]) -> dict[str, str]:
    column = {
        "requests": f"{books.requests:,}",
        **{f"– {name}": f"{books.asked[name]:,}" for name in protocols},
        "requests a second": f"{books.requests / seconds:.0f}",
        "calls that reached the client correctly": f"{books.calls:,}",
        "calls lost": f"{books.lost}",
        "answers wrong": f"{books.wrong}",
        "exceptions in the log": f"{books.exceptions}",
        "faults": f"{books.faults.total():,}",
        **{f"– {name}": f"{books.faults[name]:,}" for name in faults},
    }
    for status in ("valid", "repaired", "refused"):
        known = [one for (_, name), one in books.statuses.items() if name == status]
        if known:
            least, most = sum(one.least for one in known), sum(one.most for one in known)
            counted = books.metric("toolfix_calls_total", status)
            column[f"{status} calls: /metrics (the client, without and with answers that broke)"] = (
                f"{counted:,} ({least:,} to {most:,})"
            )
    if books.metric("toolfix_recordings_total"):
        column["recordings written"] = f"{books.metric('toolfix_recordings_total', 'written'):,}"
        column["recordings not written, because too much waited"] = (
            f"{books.metric('toolfix_recordings_total', 'lost'):,}"
        )
    for name, title in NAMES.items():
        medians = (books.quarter(1, name), books.quarter(3, name))
        collected = [figure(sample, name) for sample in books.collected]
        column[f"{title}: median of the second and of the last quarter"] = _numbers(name, medians)
        column[f"{title}, garbage collected: before, half time, after"] = _numbers(name, collected)
    return column


def _numbers(name: str, figures: Iterable[float]) -> str:
    return ", ".join(f"{number / 2**20:.0f} MiB" if name == "rss" else f"{number:,.0f}" for number in figures)


def headline(text: str) -> str:
    """The table without the rows that only tell a figure of another row in detail."""
    lines = text.splitlines()
    return "\n".join(line for line in lines if not (line.startswith("| –") or "garbage collected" in line))
