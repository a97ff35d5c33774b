"""One request of the soak with the answer to it, as it is played."""

from __future__ import annotations

from dataclasses import dataclass, field

from toolcalls.cli.upstream import Play

from .case import Case
from .client import Manner


@dataclass(slots=True)
class Turn:
    """A case, how the upstream plays it, and how the client takes it."""

    case: Case
    play: Play
    manner: Manner = field(default_factory=Manner)
    fault: str = ""
    sent: bytes = b""
    """The bytes that the upstream sent, where they were spoilt."""
    complaint: str = ""
    """What the upstream has to say of the request that reached it."""

    @property
    def certain(self) -> bool:
        """Whether it is known what mitmdump saw: a broken connection throws away what nobody has read yet."""
        return not (self.play.breaks or self.play.resets or self.manner.leaves_after is not None)
