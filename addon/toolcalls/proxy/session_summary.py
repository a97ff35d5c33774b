"""What one session did, as lines in a file that `toolfix run` reads at the end of the session.

The script writes to the file that TOOLFIX_SUMMARY names, each line at once, so that a crash loses none. A line is one
JSON object: an answer, with the status of each of its calls; a problem that the user should know of; or the reason
why there was no answer.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..outcome import Outcome
from ..shown import LINE, shown

VARIABLE = "TOOLFIX_SUMMARY"
MOST_SAID = 100
"""How many sentences are remembered, so that each is written once."""


class SummaryFile:
    """Writes the lines. Without a file, and after the first error in writing, it does nothing."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._said: set[str] = set()

    def answer(self, outcomes: Iterable[Outcome], *, observed: bool = False) -> None:
        """Write an answer and its calls. `observed`: nothing was changed; this is what would have been done."""
        self._write({"calls": [outcome.status for outcome in outcomes], "observed": observed})

    def warning(self, sentence: str) -> bool:
        """Write what keeps clients from using the proxy, shown at the end of the session; False if it is known."""
        return self._say("warning", sentence)

    def no_answer(self, sentence: str) -> None:
        """Write why there was no answer. Shown if the session had no answer at all."""
        self._say("no_answer", sentence)

    def _say(self, kind: str, sentence: str) -> bool:
        sentence = shown(sentence, LINE)
        if sentence in self._said:
            return False
        if len(self._said) == MOST_SAID:
            self._said.clear()
        self._said.add(sentence)
        self._write({kind: sentence})
        return True

    def _write(self, entry: dict[str, Any]) -> None:
        if not self._path:
            return
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with os.fdopen(descriptor, "ab", buffering=0) as file:
                file.write(json.dumps(entry).encode() + b"\n")
        except OSError:
            self._path = ""


@dataclass(slots=True)
class Summary:
    answers: int = 0
    calls: int = 0
    mended: int = 0
    refused: int = 0
    observed: bool = False
    """No answer was changed: the counts say what would have been done."""
    warnings: list[str] = field(default_factory=list)
    """What kept clients from using the proxy."""
    reasons: list[str] = field(default_factory=list)
    """Why requests got no answer."""

    def sentence(self) -> str:
        """What was done, in one line."""
        calls = "1 call" if self.calls == 1 else f"{self.calls} calls"
        done = "would have been " if self.observed else ""
        return f"{calls}, {self.mended} {done}mended, {self.refused} {done}refused"


def read(path: Path) -> Summary:
    """The summary of a session from its file."""
    summary = Summary()
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return summary
    for line in lines:
        try:
            entry: dict[str, Any] = json.loads(line)
        except ValueError:
            continue  # The proxy was killed while it wrote the line.
        if "calls" in entry:
            statuses: list[str] = entry["calls"]
            summary.observed = entry["observed"] and (summary.observed or not summary.answers)
            summary.answers += 1
            summary.calls += len(statuses)
            summary.mended += statuses.count("repaired")
            summary.refused += statuses.count("refused")
        summary.warnings += [entry["warning"]] if "warning" in entry else []
        summary.reasons += [entry["no_answer"]] if "no_answer" in entry else []
    return summary
