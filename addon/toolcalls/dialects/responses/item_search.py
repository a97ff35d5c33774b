"""The text of a Responses answer while it is searched for calls: what is held of it, and what was found.

The text of a call leaves its message; the call itself goes out behind everything else, as an item of its own,
unless a structured call told the same. Whether the last words of a part are a call is known when the response
ends, or when something else follows them. Until then the events that end the part and its item wait, and so do
structured calls.
"""

from __future__ import annotations

from ...mend.finish import Finish
from ...policy import Policy
from ...request.request import Request
from ...turn.items import Item, Part
from ...turn.text_search import SearchResult, TextSearch, searches
from ...turn.turn import Turn
from .events import EventWriter, IncomingEvent

DELTA = "response.output_text.delta"
_ENDS = "ends of text"


class ItemSearch:
    __slots__ = (
        "_held",
        "_last",
        "_policy",
        "_request",
        "_spoken",
        "_turn",
        "_writer",
        "ends",
        "hold",
        "on",
        "release",
    )

    def __init__(self, request: Request, policy: Policy, turn: Turn, writer: EventWriter) -> None:
        self._writer = writer
        self._turn = turn
        self.on = searches(request, policy)
        self._request = request
        self._policy = policy
        self._spoken = False
        """Something was said in an earlier part."""
        self._last: Part | None = None
        """The part that was searched last."""
        self.ends: list[IncomingEvent] = []
        """Events that end a part or an item whose last words are not decided yet."""
        self._held: set[str] = set()
        """The keys under which something is held."""
        self.hold: list[tuple[str, bytes]] = []
        self.release: list[str] = []
        """What the answer to this event has to tell the books."""

    @property
    def undecided(self) -> bool:
        """May the last words that were said be a call?"""
        return bool(self.ends) or (self._last is not None and undecided(self._last))

    def follows(self, part: Part) -> bool:
        """Does text of this part follow what may be a call in another one?"""
        return self.undecided and part is not self._last

    def may_end_with_call(self, text: str) -> bool:
        """May the last words of a text that nobody told before be a call?"""
        prose = TextSearch(self._request, self._policy, begins=not self._spoken)
        prose.take(text)
        return prose.undecided

    def take(
        self, item: Item, place: int, part: Part, text: str, source: IncomingEvent | None = None
    ) -> SearchResult:
        if part.prose is None:
            before = self._last.prose if self._last is not None else None
            part.prose = TextSearch(self._request, self._policy, begins=not self._spoken, after=before)
        self._last = part
        self._spoken = self._spoken or not text.isspace()
        return self._account(item, place, part, part.prose.take(text, source))

    def close(self, item: Item, place: int, part: Part, finish: Finish | None) -> SearchResult:
        """The text of a part is over: with the response, or, None, with something else behind it."""
        if part.prose is None or part.searched:
            return SearchResult()
        part.searched = True
        said = part.prose.pass_on() if finish is None else part.prose.close(finish)
        return self._account(item, place, part, said)

    def whole(self, item: Item, place: int, part: Part, text: str, finish: Finish | None) -> SearchResult:
        """A text that came in one piece."""
        said = self.take(item, place, part, text)
        return SearchResult(said.parts + self.close(item, place, part, finish).parts)

    def _account(self, item: Item, place: int, part: Part, said: SearchResult) -> SearchResult:
        key = f"text {item.index} {place}"
        if said.parts:
            self.let_go(key)
        where = {"item_id": item.id, "output_index": item.index, "content_index": place}
        self._turn.found(said.calls)
        part.calls += [call.raw for call in said.calls]
        if said.parts and part.prose is not None and part.prose.holding:
            held = {"type": DELTA, **where, "delta": part.prose.held}
            self._hold(key, self._writer.unnumbered(held, DELTA))
        return said

    def keep(self, item: Item, place: int, raw: bytes) -> None:
        """All of an event is held."""
        self._hold(f"text {item.index} {place}", raw)

    # The events that end a text

    def wait(self, incoming: IncomingEvent) -> None:
        self.ends.append(incoming)
        self._hold(_ENDS, incoming.raw)

    def take_ends(self) -> list[IncomingEvent]:
        ends, self.ends = self.ends, []
        if ends:
            self.let_go(_ENDS)
        return ends

    # The books

    def _hold(self, key: str, raw: bytes) -> None:
        self.hold.append((key, raw))
        self._held.add(key)

    def let_go(self, key: str) -> None:
        if key not in self._held:
            return
        self._held.remove(key)
        self.release.append(key)
        self.hold = [entry for entry in self.hold if entry[0] != key]

    def drain(self) -> tuple[tuple[str, ...], tuple[tuple[str, bytes], ...]]:
        """What this event released and what it holds."""
        release, hold = tuple(self.release), tuple(self.hold)
        self.release, self.hold = [], []
        return release, hold


def undecided(part: Part) -> bool:
    """May the last words of this part be a call?"""
    return part.prose is not None and not part.searched and part.prose.undecided


def without_calls(text: str, part: Part) -> str:
    """A stated text without the calls that were found in it."""
    out: list[str] = []
    for raw in filter(None, part.calls):
        before, found, after = text.partition(raw)
        if found:
            out.append(before)
            text = after
    return "".join([*out, text])
