"""What became of one call, whatever its protocol: mended, refused or as it came."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

STRUCTURED: Final = "structured output"
"""The name of an outcome that is no call, but an answer that was asked for as JSON."""

Status = Literal["valid", "repaired", "refused"]


@dataclass(slots=True, frozen=True)
class Outcome:
    """What became of one call. `name` and `arguments` are what the client gets, unless it is dropped."""

    status: Status
    name: str
    arguments: str
    received_name: str
    received_arguments: str
    steps: tuple[str, ...] = ()
    reason: str = ""
    dropped: bool = False
    note: str = ""
    """A line of text for the client where a dropped call was the only one."""
    namespace: str | None = None
    """The namespace of the tool, in protocols that have such a thing."""
    id: str = ""
    """The id that the client gets; empty where the call has none or is dropped."""

    @property
    def is_call(self) -> bool:
        """Is it about a call, and not about an answer that was asked for as JSON?"""
        return self.received_name != STRUCTURED

    @property
    def touched(self) -> bool:
        return self.status != "valid"

    def as_json(self) -> dict[str, Any]:
        """The form in calls.json, `toolfix filter --jsonl` and the report."""
        entry: dict[str, Any] = {"status": self.status, "name": self.name, "arguments": self.arguments}
        if self.received_name != self.name:
            entry["received_name"] = self.received_name
        if self.received_arguments != self.arguments:
            entry["received_arguments"] = self.received_arguments
        if self.steps:
            entry["steps"] = list(self.steps)
        if self.reason:
            entry["reason"] = self.reason
        if self.dropped:
            entry["dropped"] = True
        return entry
