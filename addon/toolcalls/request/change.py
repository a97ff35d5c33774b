"""What a mending of one request may do and has done: its options, its limit, and its steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..mend.arguments import Finish, Mended, mend_arguments
from ..policy import Policy
from ..sizes import parts_in
from ..tools.declared import INVALID, Tools
from .refusals import Refusals

_MOST_BROKEN = 30_000
"""The size of all that is mended in a history: 300 short arguments or 20 of 3 KB."""
_BROKEN = 100
"""What broken arguments, or a name that is none, count at least."""


class ChangeNeeded(Exception):
    """Something has to be changed, and this request is only read."""


@dataclass(slots=True)
class Change:
    """Every pass calls `count` before it changes something, so a request that is only read stays as it is."""

    policy: Policy
    refusals: Refusals
    tools: Tools
    reading: bool
    """Nothing is changed: the first thing that would be raises `ChangeNeeded`."""
    steps: dict[str, int] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    """Why calls of this history were refused, by the id that the client knows."""
    restored: set[str] = field(default_factory=set)
    """The upstream's ids that the client knows as other ids, among them all ids that the host repeats."""
    needed: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The fields that each tool needs."""
    left: int = _MOST_BROKEN
    """How much more is mended; below 0, the rest is sent unchanged."""
    read: dict[str, Mended] = field(default_factory=dict)
    """Broken arguments that were read: the arguments, a name and the guidance need them."""
    invalid: str = field(init=False)
    """The name for calls that no tool can take."""

    def __post_init__(self) -> None:
        self.invalid = self.tools.invalid(self.policy.invalid_tool) or INVALID

    def count(self, step: str, times: int = 1) -> None:
        """Count a change that is about to be made."""
        if times:
            if self.reading:
                raise ChangeNeeded
            self.steps[step] = self.steps.get(step, 0) + times

    def touches(self, name: object) -> bool:
        """Whether calls of this tool are mended."""
        policy = self.policy
        return policy.request and (not policy.tools or not isinstance(name, str) or policy.touches(name))

    def may_mend(self, size: int) -> bool:
        """Whether something of this size is still mended; once it is not, nothing more is."""
        self.left -= _BROKEN + size
        return self.left >= 0

    def meant(self, given: object) -> dict[str, Any] | None:
        """The arguments that were meant; None if the history has more broken arguments than can be mended.

        Calls are mended from first to last, so that the next turn leaves the same ones unchanged.
        """
        if isinstance(given, list) and len(given) == 1:
            [given] = given
        if not isinstance(given, str):
            return given if isinstance(given, dict) else {}
        found = self.read.get(given)
        if found is None and self.left >= 0:
            found = mend_arguments(given, Finish.UNKNOWN)
            if found.status != "valid" and not self.may_mend(parts_in(given)):
                return None
            self.read[given] = found
        return None if found is None else found.value or {}
