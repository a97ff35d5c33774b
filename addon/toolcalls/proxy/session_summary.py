"""What one session did, as lines in a file that `toolfix run` reads at the end of the session.

The script writes to the file that TOOLFIX_SUMMARY names, each line at once, so that a crash loses none. A line is one
JSON object with what it adds to a `Summary`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..outcome import Outcome
from ..shown import LINE, shown

VARIABLE = "TOOLFIX_SUMMARY"
MOST_SAID = 100
"""How many sentences are remembered, so that each is written once."""


@dataclass(slots=True)
class Summary:
    answers: int = 0
    calls: int = 0
    mended: int = 0
    refused: int = 0
    observed: int = 0
    """How many of the answers were only observed: their calls say what would have been done."""
    warnings: list[str] = field(default_factory=list)
    """What kept clients from using the proxy."""
    reasons: list[str] = field(default_factory=list)
    """Why requests got no answer."""

    def sentence(self) -> str:
        """What was done, in one line."""
        calls = "1 call" if self.calls == 1 else f"{self.calls} calls"
        done = "would have been " if self.observed and self.observed == self.answers else ""
        return f"{calls}, {self.mended} {done}mended, {self.refused} {done}refused"


class SummaryFile:
    """Writes the lines. Without a file, and after the first error in writing, it does nothing."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._said: set[str] = set()

    def answer(self, outcomes: Sequence[Outcome], *, observed: bool = False) -> None:
        """Write an answer and its calls. `observed`: nothing was changed; this is what would have been done."""
        mended, refused = (sum(one.status == status for one in outcomes) for status in ("repaired", "refused"))
        self._write(answers=1, calls=len(outcomes), mended=mended, refused=refused, observed=int(observed))

    def warning(self, sentence: str) -> bool:
        """Write what keeps clients from using the proxy, shown at the end of the session; False if it is known."""
        return self._say("warnings", sentence)

    def no_answer(self, sentence: str) -> None:
        """Write why there was no answer. Shown if the session had no answer at all."""
        self._say("reasons", sentence)

    def _say(self, kind: str, sentence: str) -> bool:
        sentence = shown(sentence, LINE)
        if sentence in self._said:
            return False
        if len(self._said) == MOST_SAID:
            self._said.clear()
        self._said.add(sentence)
        self._write(**{kind: [sentence]})
        return True

    def _write(self, **entry: Any) -> None:
        if self._path:
            try:
                with Path(self._path).open("ab", buffering=0) as file:
                    file.write(json.dumps(entry).encode() + b"\n")
            except OSError:
                self._path = ""


def read(path: Path) -> Summary:
    """The summary of a session from its file."""
    summary, lines = Summary(), list[bytes]()
    with suppress(OSError):
        lines = path.read_bytes().splitlines()
    for line in lines:
        with suppress(ValueError):  # The proxy was killed while it wrote the line.
            for name, more in json.loads(line).items():
                setattr(summary, name, getattr(summary, name) + more)
    return summary
