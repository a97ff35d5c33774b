"""The text of a Messages answer while it is searched for calls: which block is read.

A call in the text is known when the answer ends. Until then its block stays open, and structured calls wait behind
it; a block that says something else shows that the text was no call.
"""

from __future__ import annotations

from ...mend.finish import Finish
from ...policy import Policy
from ...request.request import Request
from ...turn.text_search import SearchResult, TextSearch
from ...wire.events import Event
from .blocks import Place
from .calls import Json

TEXT_KEY = "text"
STOP_KEY = "stop"


class BlockSearch:
    __slots__ = ("_before", "_policy", "_request", "_spoken", "place", "prose", "stop")

    def __init__(self, request: Request, policy: Policy) -> None:
        self._request = request
        self._policy = policy
        self.prose: TextSearch | None = None
        """The text of the block that is being read."""
        self._before: TextSearch | None = None
        """The text of the last block that was searched."""
        self._spoken = False
        """Something was said in an earlier block."""
        self.place: Place = None
        self.stop: tuple[Event, Json] | None = None
        """The stop of the block, while it is not known whether its last words are a call."""

    @property
    def active(self) -> bool:
        """Is a text block being read?"""
        return self.prose is not None

    @property
    def holding(self) -> bool:
        return self.prose is not None and self.prose.holding

    @property
    def undecided(self) -> bool:
        return self.prose is not None and self.prose.undecided

    @property
    def held(self) -> str:
        return self.prose.held if self.prose is not None else ""

    def take(self, place: Place, text: str, source: tuple[Event, Json]) -> SearchResult:
        if self.prose is None:
            self.prose = TextSearch(self._request, self._policy, begins=not self._spoken, after=self._before)
            self._before = self.prose
            self.place = place
        self._spoken = self._spoken or not text.isspace()
        return self.prose.take(text, source)

    def pass_on(self) -> SearchResult:
        """The block is over and something else follows it: what is held of it is text."""
        prose, self.prose = self.prose, None
        return prose.pass_on() if prose is not None else SearchResult()

    def close(self, finish: Finish) -> SearchResult:
        """The answer is over."""
        prose, self.prose = self.prose, None
        return prose.close(finish) if prose is not None else SearchResult()
