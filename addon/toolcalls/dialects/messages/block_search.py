"""The text of a Messages answer while it is searched for calls: which block is read, and what was found in it.

A call in the text is known when the answer ends. Until then its block stays open, and structured calls wait behind
it; a block that says something else shows that the text was no call.
"""

from __future__ import annotations

from ...calls import Outcome
from ...mend.finish import Finish
from ...policy import Policy
from ...request.request import Request
from ...textcalls.scanner import FoundCall
from ...wire.events import Event
from ..text_search import TEXT, SearchResult, TextSearch, repeated
from .blocks import Place
from .calls import Json

TEXT_KEY = "text"
STOP_KEY = "stop"


class BlockSearch:
    __slots__ = ("_before", "_policy", "_prose", "_request", "_spoken", "_told", "found", "place", "stop")

    def __init__(self, request: Request, policy: Policy) -> None:
        self._request = request
        self._policy = policy
        self._prose: TextSearch | None = None
        self._before: TextSearch | None = None
        """The text of the last block that was searched."""
        self._spoken = False
        """Something was said in an earlier block."""
        self._told: list[Outcome] = []
        self.place: Place = None
        self.found: list[FoundCall] = []
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
        return self._prose is not None and self._prose.passes(block, block.count(TEXT.key))

    def repeats(self, block: bytes) -> bool:
        """Deltas like one that passed, but for their text: does that go on too?"""
        prose = self._prose
        return prose is not None and (prose.repeats(block) or prose.all_repeat(block))

    def take(self, place: Place, text: str, source: tuple[Event, Json]) -> SearchResult:
        if self._prose is None:
            self._prose = TextSearch(self._request, self._policy, begins=not self._spoken, after=self._before)
            self._before = self._prose
            self.place = place
        self._spoken = self._spoken or not text.isspace()
        return self._prose.take(text, source)

    def pass_on(self) -> SearchResult:
        """The block is over and something else follows it: what is held of it is text."""
        prose, self._prose = self._prose, None
        return prose.pass_on() if prose is not None else SearchResult()

    def close(self, finish: Finish) -> SearchResult:
        """The answer is over."""
        prose, self._prose = self._prose, None
        said = prose.close(finish) if prose is not None else SearchResult()
        self.found += said.calls
        return said

    # Calls

    def take_found(self) -> list[FoundCall]:
        """The calls out of the text, but for those that structured calls told."""
        found, self.found = self.found, []
        return [call for call in found if not repeated(call.name, call.arguments, self._told)]

    def tell(self, outcome: Outcome) -> None:
        """A structured call went out."""
        self._told.append(outcome)
