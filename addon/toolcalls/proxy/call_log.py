"""The `-v` log lines about one answer: a call was found, a call was sent, the answer is done."""

from __future__ import annotations

import logging
from collections import Counter

from ..outcome import Outcome
from ..outcome_labels import STATUS_WORDS
from .log_lines import is_read

logger = logging.getLogger("toolfix")


class CallLog:
    """The log of one answer. It keeps the endpoint as text and not the flow, which could not be freed otherwise."""

    __slots__ = ("_counts", "_endpoint", "_found")

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self._found = False
        self._counts: Counter[str] = Counter()

    def found(self) -> None:
        """The first fragment or block of a call arrived. Logged once, and again only after a call was sent."""
        if not self._found:
            self._found = True
            self._log(f"{self._endpoint}: found a tool call; it is held until it is complete.")

    def decided(self, outcome: Outcome) -> None:
        """The outcome of a call, or of an answer that was asked for as JSON, is known."""
        if not outcome.is_call:
            self._log(f"{self._endpoint}: a JSON answer was mended, {len(outcome.arguments):,} characters.")
            return
        self.found()
        self._found = False
        self._counts["dropped" if outcome.dropped else STATUS_WORDS[outcome.status]] += 1
        name = outcome.name or "(no name)"
        identity = f" ({outcome.id})" if outcome.id else ""
        what = "dropped" if outcome.dropped else "sent"
        self._log(
            f"{self._endpoint}: {what} {name}{identity}: {STATUS_WORDS[outcome.status]}, "
            f"{len(outcome.arguments):,} characters."
        )

    @staticmethod
    def _log(line: str) -> None:
        # An answer may have hundreds of calls, and a line costs mitmproxy just as much time if no handler shows it.
        if is_read(logging.DEBUG):
            logger.debug(line)

    def done(self) -> None:
        """The answer is over."""
        counts = ", ".join(f"{number} {status}" for status, number in sorted(self._counts.items()))
        self._log(f"{self._endpoint}: the answer is done; calls: {counts or 'none'}.")
