"""Runs a part: many inputs, each checked and timed; a finding is made as small as possible."""

from __future__ import annotations

import random
import resource
import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from types import FrameType

from .part import Part

BASE_SECONDS = 0.5
SECONDS_PER_KB = 0.02
"""The processor time that a check may take, which is ten times what linear work needs."""
MOST_FINDINGS = 20
STALLED_SECONDS = 30.0
MOST_MEMORY = 4 * 1024**3


class Stalled(Exception):
    """A check that did not end in time."""


@dataclass(slots=True)
class Finding:
    problem: str
    data: bytes


@dataclass(slots=True)
class Report:
    part: str
    about: str
    inputs: int = 0
    size: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    """The most processor milliseconds per KB, among inputs of at least 4 KB."""
    findings: list[Finding] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    """How often each kind of finding occurred."""

    def __str__(self) -> str:
        return (
            f"{self.part}: {self.inputs:,} inputs ({self.size / 1e6:,.1f} MB) in {self.seconds:.0f} s, "
            f"slowest {self.slowest:.1f} ms per KB; {len(self.findings)} findings"
        )


def limit_memory() -> None:
    """Limit the memory of this process, so that an input that needs too much becomes a finding."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))


def _stalled(number: int, frame: FrameType | None) -> None:
    raise Stalled


def run(part: Part, inputs: int, seed: int = 0, minutes: float = 0.0, *, count: bool = False) -> Report:
    """Check this many inputs, or as many as there is time for; with `count` to the end, one finding for each kind."""
    signal.signal(signal.SIGVTALRM, _stalled)
    chance = random.Random(f"{part.name} {seed}")
    report = Report(part.name, part.about)
    begin = time.perf_counter()
    while report.inputs < inputs and (not minutes or time.perf_counter() - begin < 60 * minutes):
        data = part.make(chance)
        report.inputs += 1
        report.size += len(data)
        problem, spent = tried(part, data)
        if len(data) >= 4096:
            report.slowest = max(report.slowest, 1000 * spent / (len(data) / 1024))
        if problem:
            kind = _kind(problem)
            report.kinds[kind] += 1
            if not count or report.kinds[kind] == 1:
                data = smallest(part, data, problem)
                report.findings.append(Finding(tried(part, data)[0] or problem, data))
            if len(report.findings) >= MOST_FINDINGS and not count:
                break
    report.seconds = time.perf_counter() - begin
    return report


def tried(part: Part, data: bytes) -> tuple[str, float]:
    """What went wrong with this input, if anything, and the processor time of its check."""
    allowed = BASE_SECONDS + SECONDS_PER_KB * len(data) / 1024
    spent = 0.0
    for _ in range(2):  # A check that is slow only once was disturbed by other work on the machine.
        begin = time.process_time()
        signal.setitimer(signal.ITIMER_VIRTUAL, STALLED_SECONDS)
        try:
            part.check(data)
        except Exception as error:
            return f"{type(error).__name__}: {error}", time.process_time() - begin
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        spent = time.process_time() - begin
        if spent <= allowed:
            return "", spent
    return f"Slow: {spent:.2f} s for {len(data):,} bytes", spent


def smallest(part: Part, data: bytes, problem: str, tries: int = 150) -> bytes:
    """The input without everything that the finding does not need."""
    kind = _kind(problem)
    if part.smaller is not None:
        return _with_less(part, data, kind, tries)
    size = max(1, len(data) // 2)
    while size and tries > 0:
        at = 0
        while at < len(data) and tries > 0:
            shorter = data[:at] + data[at + size :]
            tries -= 1
            if shorter and _kind(tried(part, shorter)[0]) == kind:
                data = shorter
            else:
                at += size
        size //= 2
    return data


def _with_less(part: Part, data: bytes, kind: str, tries: int) -> bytes:
    """The smallest input with the finding, found by leaving out what `part.smaller` leaves out."""
    assert part.smaller is not None
    less = iter(part.smaller(data))
    while tries > 0 and (shorter := next(less, None)) is not None:
        tries -= 1
        if _kind(tried(part, shorter)[0]) == kind:
            data, less = shorter, iter(part.smaller(shorter))
    return data


def _kind(problem: str) -> str:
    return problem.partition(" — ")[0][:40]
