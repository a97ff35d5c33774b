"""The neutral tool call: what a dialect gathers, and what became of it.

Knows no protocol: a dialect decides which fragments belong together and how a call is written back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal

from .ids import Ids as Ids
from .wire.escaper import IncrementalEscaper

STRUCTURED: Final = "structured output"
"""The name of an outcome that is no call, but an answer that was asked for as JSON."""

Status = Literal["valid", "repaired", "refused"]


@dataclass(slots=True)
class PartialCall:
    """The fragments of one call on their way to a complete one. Names are overwritten, arguments appended."""

    id: str = ""
    names: list[str] = field(default_factory=list)
    fragments: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)
    """Whatever else the upstream said about the call, kept for the client (signatures and the like)."""
    quoted: IncrementalEscaper = field(default_factory=IncrementalEscaper)
    """Long arguments on their way into an event."""

    @property
    def name(self) -> str:
        return self.names[-1] if self.names else ""

    def add(self, fragment: str) -> None:
        """The next fragment of its arguments."""
        if fragment:
            self.fragments.append(fragment)
            self.quoted.grew(self.fragments, len(fragment))

    @property
    def arguments(self) -> str:
        if len(self.fragments) > 1:
            self.join("".join(self.fragments))
        return self.fragments[0] if self.fragments else ""

    def join(self, arguments: str) -> None:
        """The fragments are these arguments."""
        self.quoted.join(self.fragments)
        self.fragments = [arguments]

    def pieces(self, arguments: str) -> list[str]:
        """What is to be written, where the arguments are long and those that came; else nothing."""
        quoted = self.quoted
        if not quoted.pieces or len(self.fragments) != 1 or arguments is not self.fragments[0]:
            return []
        quoted.take(self.fragments)
        # They are written once, and the call is remembered: not with all its bytes twice.
        pieces, quoted.pieces = quoted.pieces, []
        return pieces

    @property
    def empty(self) -> bool:
        """Neither a name nor arguments: a phantom slot, which is no call."""
        return not self.names and not any(self.fragments)


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
