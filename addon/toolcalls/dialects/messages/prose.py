"""The text of a Messages answer while it is searched for calls: which block is read, and what was found in it.

A call that was found waits until text follows it, or until the answer ends: a structured call that repeats
it wins. Where it went out already, the structured one is the copy and is left out.
"""

from __future__ import annotations

from ...calls import Outcome
from ...policy import Policy
from ...textcalls.scanner import FoundCall
from ...tools import Tools
from ...wire.events import Event
from ..prose import TEXT, Prose, Said, repeated
from .blocks import Place
from .calls import Json

TEXT_KEY = "text"
STOP_KEY = "stop"


class Search:
    __slots__ = (
        "_count",
        "_given",
        "_policy",
        "_prose",
        "_spoken",
        "_told",
        "_tools",
        "found",
        "place",
        "stop",
    )

    def __init__(self, tools: Tools, policy: Policy) -> None:
        self._tools = tools
        self._policy = policy
        self._prose: Prose | None = None
        self._count = 0
        self._spoken = False
        """Something was said in an earlier block."""
        self._told: list[Outcome] = []
        self._given: list[Outcome] = []
        """Calls out of the text that went out before any structured call could repeat them."""
        self.place: Place = None
        self.found: list[tuple[str, FoundCall]] = []
        """Calls that wait, each with the key under which its text is held."""
        self.stop: tuple[Event, Json] | None = None
        """The stop of the block, while it is not known whether its last words are a call."""

    @property
    def active(self) -> bool:
        """Is a text block being read?"""
        return self._prose is not None

    @property
    def holding(self) -> bool:
        return self._prose is not None and self._prose.holding

    @property
    def undecided(self) -> bool:
        return self._prose is not None and self._prose.undecided

    @property
    def held(self) -> str:
        return self._prose.held if self._prose is not None else ""

    def passes(self, block: bytes) -> bool:
        """Deltas of one shape: does their text go on as it is?"""
        prose = self._prose
        if prose is None or self.found:
            return False
        return prose.passes(block, block.count(TEXT.key))

    def repeats(self, block: bytes) -> bool:
        """Deltas like one that passed, but for their text: does that go on too?"""
        prose = self._prose
        return prose is not None and not self.found and (prose.repeats(block) or prose.all_repeat(block))

    def take(self, place: Place, text: str, source: tuple[Event, Json]) -> Said:
        if self._prose is None:
            self._prose = Prose(self._tools, self._policy, begins=not self._spoken)
            self.place = place
        self._spoken = self._spoken or not text.isspace()
        return self._prose.take(text, source)

    def close(self, *, finished: bool) -> Said:
        prose, self._prose = self._prose, None
        return prose.close(finished=finished) if prose is not None else Said()

    # Calls

    def wait(self, call: FoundCall) -> str:
        """A call was found: the key for its text."""
        self._count += 1
        key = f"found {self._count}"
        self.found.append((key, call))
        return key

    def next(self) -> tuple[str, FoundCall | None] | None:
        """The next call that waited, None in its place where a structured call told the same."""
        if not self.found:
            return None
        key, call = self.found.pop(0)
        return key, None if repeated(call.name, call.arguments, self._told) else call

    def gave(self, outcome: Outcome) -> None:
        """A call out of the text went out."""
        self._given.append(outcome)

    def tell(self, outcome: Outcome) -> None:
        """A structured call went out."""
        self._told.append(outcome)

    def gave_already(self, name: str, arguments: str) -> bool:
        """Does a structured call repeat one that went out? Then that one has its place, once."""
        for number, outcome in enumerate(self._given):
            if repeated(name, arguments, (outcome,)):
                del self._given[number]
                return True
        return False
