"""What happened to one call, in any protocol: mended, refused or unchanged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Status = Literal["valid", "repaired", "refused"]


@dataclass(slots=True, frozen=True)
class Outcome:
    """What happened to one call. The client gets `name` and `arguments`, unless the call is dropped."""

    status: Status
    name: str
    arguments: str
    received_name: str
    received_arguments: str
    steps: tuple[str, ...] = ()
    reason: str = ""
    dropped: bool = False
    note: str = ""
    """A line of text for the client, sent if it got no call because this one was dropped."""
    namespace: str | None = None
    """The namespace of the tool, in protocols that have namespaces."""
    id: str = ""
    """The id that the client gets; empty if the call has none or is dropped."""
    left_alone: bool = False
    """The options leave the call as it came, so nothing is added to it: neither a bracket nor an end."""

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
