"""What the soak counts: requests, calls and faults, what was lost or wrong, and what was alive in mitmdump."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import IO, Any, NamedTuple

from toolcalls.cli.proxy_process import ProxyProcess

SHOWN = 20
"""The most complaints that are kept word for word."""
FLAT = 1.05
NAMES = {
    "rss": "bytes of RSS",
    "objects": "Python objects",
    "fds": "descriptors",
    "tasks": "tasks",
    "kept": "flows and connections in the addon",
}
ROOM = {"rss": 64 * 2**20, "objects": 60_000, "fds": 12, "tasks": 12, "kept": 60}
"""How much a median may grow between the second and the last quarter, in addition to FLAT: the traffic is uneven, and
mitmproxy's flows are cyclic garbage that waits for a collection."""
ROOM_COLLECTED = {"rss": 12 * 2**20, "objects": 15_000}
"""How much may grow from half time to the end after a garbage collection, which makes a leak visible."""
LEFT = {"fds": 4, "tasks": 4, "kept": 0}
SHORTEST_SECONDS = 110.0
"""The shortest run in which growth is judged; in a shorter one mitmdump is still warming up."""

_TROUBLE = re.compile(r"Traceback \(most recent|toolfix failed|Addon error|has crashed|could not write a recording")
_SAMPLE = re.compile(r"^(toolfix_\w+)\{([^}]*)\} (\S+)$")
_LABEL = re.compile(r'(\w+)="([^"]*)"')


@dataclass(slots=True)
class Range:
    """A number that is known except for answers that broke off: at least `least`, at most `most`."""

    least: int = 0
    most: int = 0

    def add(self, number: int = 1, *, certain: bool = True) -> None:
        self.most += number
        self.least += number if certain else 0


@dataclass(slots=True)
class Books:
    """Everything that is counted for one mitmdump, and the judgement of it."""

    kept_log: IO[str] | None = None
    """The file that gets the lines of the log, if there is one."""
    records: bool = False
    """Whether this mitmdump records."""
    asked: Counter[str] = field(default_factory=Counter)
    """Requests by protocol."""
    calls: int = 0
    """Calls that reached the client correctly."""
    lost: int = 0
    wrong: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    complaints: list[str] = field(default_factory=list)
    answers: dict[str, Range] = field(default_factory=dict)
    statuses: dict[tuple[str, str], Range] = field(default_factory=dict)
    samples: list[dict[str, Any]] = field(default_factory=list)
    collected: list[dict[str, Any]] = field(default_factory=list)
    """What was alive before, in the middle and after, each time after a garbage collection."""
    log: list[str] = field(default_factory=list)
    """Lines of mitmdump's log from the first exception on."""
    exceptions: int = 0
    metrics: dict[tuple[str, str, str], int] = field(default_factory=dict)
    """The counters of /metrics at the end."""

    @property
    def requests(self) -> int:
        return self.asked.total()

    def answered(self, protocol: str, *, certain: bool = True) -> None:
        self.answers.setdefault(protocol, Range()).add(certain=certain)

    def called(self, protocol: str, statuses: Iterable[str], *, certain: bool) -> None:
        for status in statuses:
            self.statuses.setdefault((protocol, status), Range()).add(certain=certain)

    def complain(self, what: str, why: str, *, lost: int = 0, wrong: int = 0) -> None:
        self.lost += lost
        self.wrong += wrong
        if len(self.complaints) < SHOWN:
            self.complaints.append(f"{what}: {why}")

    def hear(self, line: str) -> None:
        """Take in a line of the log."""
        if self.kept_log:
            self.kept_log.write(line)
        if _TROUBLE.search(line):
            self.exceptions += 1
        if self.exceptions and len(self.log) < 200:
            self.log.append(line.rstrip("\n"))

    # Judging

    def problems(self, seconds: float) -> list[str]:
        """Everything that is wrong, in words."""
        counted = {"calls lost": self.lost, "answers wrong": self.wrong, "exceptions in the log": self.exceptions}
        return [
            *(f"{number} {what}" for what, number in counted.items() if number),
            *self._miscounted(),
            *self._grown(seconds),
            *self.left(),
            *self.complaints,
            *self.log,
        ]

    def left(self) -> list[str]:
        """What is still alive when everything is over, compared with the beginning."""
        first, last = self.collected[0], self.collected[-1]
        names = [name for name in ("fds", "tasks", "kept") if figure(last, name) > figure(first, name) + LEFT[name]]
        return [f"{figure(last, name)} {NAMES[name]} are left, {figure(first, name)} at first" for name in names]

    def _miscounted(self) -> list[str]:
        """The counts in which /metrics and the client disagree."""
        pairs = [
            *(
                (f"answers of {key}", known, ("toolfix_answers_total", key, ""))
                for key, known in self.answers.items()
            ),
            *(
                (f"{status} calls of {key}", known, ("toolfix_calls_total", key, status))
                for (key, status), known in self.statuses.items()
            ),
        ]
        wrong = [
            f"/metrics counts {self.metrics.get(key, 0)} {what}, the client {known.least} to {known.most}"
            for what, known, key in pairs
            if not known.least <= self.metrics.get(key, 0) <= known.most
        ]
        failed, corrupt = self.metric("toolfix_failed_open_total"), self.faults["corrupt gzip"]
        if failed != corrupt:
            wrong.append(f"/metrics counts {failed} answers that failed open; {corrupt} were corrupt")
        if unsettled := self.unsettled():
            wrong.append(f"{unsettled} answers were neither recorded nor counted as lost")
        if held := self.metric("toolfix_held_bytes"):
            wrong.append(f"{held} bytes are held")
        return wrong

    def unsettled(self) -> int:
        """The number of answers whose recording is still waiting to be written."""
        recorded = self.metric("toolfix_recordings_total")
        return self.metric("toolfix_answers_total") - recorded if self.records else 0

    def metric(self, name: str, label: str = "") -> int:
        """A counter of /metrics, summed over the protocols."""
        known = ((key, value) for key, value in self.metrics.items() if key[0] == name)
        return sum(value for (_, _, text), value in known if not label or text == label)

    def _grown(self, seconds: float) -> list[str]:
        """What grew between the second and the last quarter."""
        if seconds < SHORTEST_SECONDS:
            return []
        pairs = [(name, self.quarter(1, name), self.quarter(3, name), room) for name, room in ROOM.items()]
        if len(self.collected) == 3:
            _, middle, last = self.collected
            rooms = ROOM_COLLECTED.items()
            pairs += [(name, figure(middle, name), figure(last, name), room) for name, room in rooms]
        return [
            f"{NAMES[name]} grew from {before:,.0f} to {after:,.0f}"
            for name, before, after, room in pairs
            if after > before * FLAT + room
        ]

    def quarter(self, number: int, name: str) -> float:
        """The median of a figure in a quarter of the run, the first being 0."""
        samples = self.samples
        size = len(samples)
        part = samples[size * number // 4 : size * (number + 1) // 4] or samples[-1:]
        return statistics.median(figure(sample, name) for sample in part)


def figure(sample: dict[str, Any], name: str) -> int:
    return sum(sample["kept"].values()) if name == "kept" else int(sample[name])


def read_metrics(page: str) -> dict[tuple[str, str, str], int]:
    """The counters by name, protocol and second label."""
    found: dict[tuple[str, str, str], int] = {}
    for line in page.splitlines():
        if match := _SAMPLE.match(line):
            labels = dict(_LABEL.findall(match[2]))
            protocol = labels.pop("protocol", "")
            if "le" not in labels:
                found[match[1], protocol, next(iter(labels.values()), "")] = int(float(match[3]))
    return found


class Watched(NamedTuple):
    """A mitmdump and its books."""

    name: str
    books: Books
    proxy: ProxyProcess
