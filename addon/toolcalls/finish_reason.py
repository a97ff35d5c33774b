"""Which finish reason is true, given the calls that were really sent.

What a reason means for incomplete calls is in `mend/finish.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

NEEDS_CALLS: Final = frozenset({"tool_calls", "function_call", "tool_use"})
"""Reasons after which an agent expects calls: if there are none, it asks again and again."""
_JUST_STOPPED: Final = frozenset({None, "", "stop", "end_turn", "eos"}) | NEEDS_CALLS


@dataclass(slots=True, frozen=True)
class FinishWords:
    """A protocol's words for why the model stopped."""

    calls: str
    """It wants the results of calls."""
    stop: str
    """It is done."""
    others: frozenset[str] = frozenset()
    """Further words for "it stopped", besides those that count in every protocol."""

    def names_limit(self, reason: object) -> bool:
        """Whether the reason is never rewritten: a limit, a filter or an unknown word."""
        word = reason.lower() if isinstance(reason, str) else reason
        return not isinstance(word, str | None) or (word not in _JUST_STOPPED and word not in self.others)

    def trusted_reason(self, reasons: Iterable[str]) -> str | None:
        """Which of the reasons that a server sent is trusted: the first that names a limit, else the last."""
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
        """Whether an agent would loop if this reason arrived without a call."""
        return isinstance(reason, str) and (reason == self.calls != self.stop or reason.lower() in NEEDS_CALLS)
