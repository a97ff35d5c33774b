"""What one session did, as lines in a file that `toolfix run` reads at the end of the session.

The script writes to the file that TOOLFIX_SUMMARY names, each line at once, so that a crash loses none. A line is one
JSON object: an answer, with the status of each of its calls and whether it was asked for as JSON and mended; a
problem that the user should know of; or the reason why there was no answer.
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
MOST_REASONS = 100


class SummaryFile:
    """Writes the lines. Without a file, and after the first error in writing, it does nothing."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._reasons: set[str] = set()

    def answer(self, outcomes: Iterable[Outcome], *, observed: bool = False) -> None:
        """Write an answer and its calls. `observed`: nothing was changed; this is what would have been done."""
        reported = list(outcomes)
        calls = [outcome.status for outcome in reported if outcome.is_call]
        in_json = len(reported) - len(calls)
        self._write({"calls": calls, "observed": observed, **({"in_json": in_json} if in_json else {})})

    def warning(self, sentence: str) -> None:
        """Write what keeps clients from using the proxy. Shown at the end of the session, each sentence once."""
        self._write({"warning": shown(sentence, LINE)})

    def no_answer(self, sentence: str) -> None:
        """Write why there was no answer, each reason once. Shown if the session had no answer at all."""
        sentence = shown(sentence, LINE)
        if sentence not in self._reasons and len(self._reasons) < MOST_REASONS:
            self._reasons.add(sentence)
            self._write({"no_answer": sentence})

    def _write(self, entry: dict[str, Any]) -> None:
        if not self._path:
            return
        line = json.dumps(entry).encode() + b"\n"
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(descriptor, line)
            finally:
                os.close(descriptor)
        except OSError:
            self._path = ""


@dataclass(slots=True)
class Summary:
    answers: int = 0
    calls: int = 0
    mended: int = 0
    refused: int = 0
    in_json: int = 0
    """Answers that were asked for as JSON and mended."""
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
        summary = f"{calls}, {self.mended} {done}mended, {self.refused} {done}refused"
        if not self.in_json:
            return summary
        answers = "1 JSON answer" if self.in_json == 1 else f"{self.in_json} JSON answers"
        return f"{summary}; {answers} {done}mended"


def read(path: Path) -> Summary:
    """The summary of a session from its file."""
    session = Summary()
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return session
    for line in lines:
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if "warning" in entry:
            session.warnings.append(str(entry["warning"]))
            continue
        if "no_answer" in entry:
            session.reasons.append(str(entry["no_answer"]))
            continue
        statuses = entry.get("calls", [])
        session.answers += 1
        session.observed = bool(entry.get("observed")) and (session.observed or session.answers == 1)
        session.calls += len(statuses)
        session.mended += statuses.count("repaired")
        session.refused += statuses.count("refused")
        session.in_json += int(entry.get("in_json", 0))
    session.warnings = list(dict.fromkeys(session.warnings))
    return session
