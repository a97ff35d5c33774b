"""What one session did, as lines in a file that `toolfix run` reads at its end: written at once, a crash loses none.

The script writes where TOOLFIX_SUMMARY names a file. One JSON object a line: an answer with the status of each of its
calls, or a sentence of trouble that the user should hear of.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..calls import Outcome

VARIABLE = "TOOLFIX_SUMMARY"


class SummaryFile:
    """Writes the lines; without a file it does nothing. Trouble of its own stays its own."""

    def __init__(self, path: str) -> None:
        self._path = path

    def answer(self, outcomes: Iterable[Outcome]) -> None:
        self._write({"calls": [outcome.status for outcome in outcomes]})

    def trouble(self, sentence: str) -> None:
        self._write({"trouble": sentence})

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
    troubles: list[str] = field(default_factory=list)


def read(path: Path) -> Summary:
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
        if "trouble" in entry:
            session.troubles.append(str(entry["trouble"]))
            continue
        statuses = entry.get("calls", [])
        session.answers += 1
        session.calls += len(statuses)
        session.mended += statuses.count("repaired")
        session.refused += statuses.count("refused")
    session.troubles = list(dict.fromkeys(session.troubles))
    return session
