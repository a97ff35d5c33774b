"""One request of the soak, and how its answer is played."""

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
    """The bytes that the upstream sent instead of the case's answer, if any."""
    complaint: str = ""
    """What is wrong with the request that reached the upstream."""

    @property
    def certain(self) -> bool:
        """Whether it is known what mitmdump saw: a broken connection discards what has not been read yet."""
        return not (self.play.breaks or self.play.resets or self.manner.leaves_after is not None)
