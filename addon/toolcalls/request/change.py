"""What a mending of one request may do and has done: its options, its limits, and its steps."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..policy import Policy
from ..tools.declared import Tools
from .refusals import Refusals

_MOST_BROKEN = 30_000
"""The size of all that is mended in a history: 300 short arguments or 20 of 3 KB."""


class ChangeNeeded(Exception):
    """Something has to be changed, and this request is only read."""


@dataclass(slots=True)
class Change:
    """Every pass asks `count` before it changes something, so a request that is only read stays as it is."""

    policy: Policy
    refusals: Refusals
    tools: Tools
    reading: bool
    """Nothing is changed: the first thing that would be raises `ChangeNeeded`."""
    steps: dict[str, int] = field(default_factory=dict)
    """What was changed, and how often."""
    reasons: dict[str, str] = field(default_factory=dict)
    """Why calls of this history were refused, by the id that the client knows."""
    given: dict[str, str] = field(default_factory=dict)
    """The id that the upstream gets for each id of ours."""
    left: int = _MOST_BROKEN
    """How much more is mended; below 0, the rest is sent unchanged."""

    def count(self, step: str, times: int = 1) -> None:
        """Count a change that is about to be made."""
        if times:
            self.begin()
            self.steps[step] = self.steps.get(step, 0) + times

    def begin(self) -> None:
        """Say that something is about to be changed."""
        if self.reading:
            raise ChangeNeeded

    def touches(self, name: object) -> bool:
        """Whether calls of this tool are mended."""
        policy = self.policy
        return policy.request and (not policy.tools or not isinstance(name, str) or policy.touches(name))

    def may_mend(self, size: int) -> bool:
        """Whether something of this size is still mended; once it is not, nothing more is."""
        self.left -= size
        return self.left >= 0

    def ids_given_back(self) -> frozenset[str]:
        """The upstream's ids that the client knows as other ids, among them all ids that the host repeats."""
        return frozenset(original for ours, original in self.given.items() if ours != original)
