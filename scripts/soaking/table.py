"""The soak's figures as Markdown."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Protocol

from .accounting import Books, figure

FIGURES = {
    "rss": "RSS",
    "objects": "Python objects",
    "fds": "descriptors",
    "tasks": "tasks",
    "kept": "flows and connections that the addon knows",
}
ROOT = Path(__file__).resolve().parents[2]


class Watched(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def books(self) -> Books: ...


def table(watched: Sequence[Watched], seconds: float, seed: int, problems: Sequence[str]) -> str:
    asked, faults = Counter[str](), Counter[str]()
    for one in watched:
        asked.update(one.books.asked)
        faults.update(one.books.faults)
    columns = [_column(one.books, seconds, sorted(asked), sorted(faults)) for one in watched]
    lines = [
        f"Commit {commit()}, {time.strftime('%Y-%m-%d')}, {seconds / 60:.1f} minutes, seed {seed}; {machine()}.",
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
    for name, title in FIGURES.items():
        medians = (books.quarter(1, name), books.quarter(3, name))
        collected = [figure(sample, name) for sample in books.collected]
        column[f"{title}: median of the second and of the last quarter"] = _numbers(name, medians)
        column[f"{title}, garbage collected: before, half time, after"] = _numbers(name, collected)
    return column


def _numbers(name: str, figures: Iterable[float]) -> str:
    return ", ".join(f"{number / 2**20:.0f} MiB" if name == "rss" else f"{number:,.0f}" for number in figures)


def commit() -> str:
    def git(*words: str) -> str:
        found = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)
        return found.stdout.strip()

    changed = " with changes" if git("status", "--porcelain", "addon", "scripts") else ""
    return (git("rev-parse", "--short=10", "HEAD") or "unknown") + changed


def machine() -> str:
    words = f"Python {platform.python_version()}, mitmproxy {version('mitmproxy')}, {platform.system()}"
    return f"{words} {platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"


def page(text: str, minutes: float) -> str:
    return f"""# The soak

Mixed traffic at full speed, one answer in ten with a fault: is a call lost, is an answer wrong, does memory grow?

`scripts/soak {minutes:g} --markdown docs/evidence/soak.md` made this page. One real mitmdump with the addon and a
recorder carries mixed traffic as fast as it can: Chat (and Z.AI, which counts as Chat), Messages, Responses
(WebSockets too), Ollama and Gemini; over HTTP/1.1, TLS and HTTP/2; streamed and not; every committed scenario cut up
at random places, and made-up answers whose calls are broken in eleven ways. One answer in ten meets a fault. Every
request has ids of its own, and every answer is compared with the right one, byte by byte; an answer that breaks off
must be a beginning of the right one. A second mitmdump with a small limit gets answers that are larger than its
limit. Memory is flat when the last quarter needs no more than the second.

{text}
"""
