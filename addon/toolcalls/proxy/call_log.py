"""The lines at `-v` about one answer: a call was found, a call was sent, the answer is done."""

from __future__ import annotations

import logging
from collections import Counter

from ..outcome import Outcome
from ..outcome_labels import STATUS_WORDS
from .log_lines import is_read

logger = logging.getLogger("toolfix")


class CallLog:
    """Knows where the answer is asked for, and not the flow, which would not be freed with it."""

    __slots__ = ("_counts", "_found", "_place")

    def __init__(self, place: str) -> None:
        self._place = place
        self._found = False
        self._counts: Counter[str] = Counter()

    def found(self) -> None:
        """The first of a call came, a block or a fragment. Said once until a call is sent."""
        if not self._found:
            self._found = True
            self._say(f"{self._place}: found a tool call; it is held until it is complete.")

    def decided(self, outcome: Outcome) -> None:
        """It is known what becomes of a call, or of an answer that was asked for as JSON."""
        if not outcome.is_call:
            self._say(f"{self._place}: mended an answer in JSON, {len(outcome.arguments):,} characters.")
            return
        self.found()
        self._found = False
        self._counts["dropped" if outcome.dropped else STATUS_WORDS[outcome.status]] += 1
        name = outcome.name or "(no name)"
        identity = f" ({outcome.id})" if outcome.id else ""
        what = "dropped" if outcome.dropped else "sent"
        self._say(
            f"{self._place}: {what} {name}{identity}: {STATUS_WORDS[outcome.status]}, "
            f"{len(outcome.arguments):,} characters."
        )

    @staticmethod
    def _say(line: str) -> None:
        # An answer may have hundreds of calls, and a line that nobody reads takes mitmproxy as long as another one.
        if is_read(logging.DEBUG):
            logger.debug(line)

    def done(self) -> None:
        """The answer is over."""
        counts = ", ".join(f"{number} {status}" for status, number in sorted(self._counts.items()))
        self._say(f"{self._place}: the answer is done; calls: {counts or 'none'}.")
