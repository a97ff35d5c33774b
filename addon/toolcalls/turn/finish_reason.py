"""Which finish reason is true, given the calls that really went out.

What a reason says about calls that are not closed is in `mend/finish.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

NEEDS_CALLS: Final = frozenset({"tool_calls", "function_call", "tool_use"})
"""Reasons after which an agent waits for calls: without one it asks again and again."""
_JUST_STOPPED: Final = frozenset({None, "", "stop", "end_turn", "eos"}) | NEEDS_CALLS


@dataclass(slots=True, frozen=True)
class FinishWords:
    """How a protocol says why the model stopped."""

    calls: str
    """It wants results of calls."""
    stop: str
    """It is done."""
    others: frozenset[str] = frozenset()
    """More words for "it stopped", besides those that every protocol may say."""

    def names_limit(self, reason: object) -> bool:
        """Is it a reason that is never rewritten: a limit, a filter, a word that nobody knows?"""
        word = reason.lower() if isinstance(reason, str) else reason
        return not isinstance(word, str | None) or (word not in _JUST_STOPPED and word not in self.others)

    def believed(self, reasons: Iterable[str]) -> str | None:
        """The reason that counts of those that a server sent: one that names a limit, else the last."""
        given = list(reasons)
        limit = next((reason for reason in given if self.names_limit(reason)), None)
        return limit or (given[-1] if given else None)

    def true_reason(self, reason: object, *, calls: bool, other_tools: bool = False) -> object:
        """The reason that the client gets. `other_tools`: the server called tools of its own."""
        if self.names_limit(reason):
            return reason
        if calls:
            return self.calls
        return self.stop if self.needs_calls(reason) and not other_tools else reason

    def needs_calls(self, reason: object) -> bool:
        """Is it a reason that loops an agent where no call is there?"""
        return isinstance(reason, str) and (reason == self.calls != self.stop or reason.lower() in NEEDS_CALLS)
