"""The upstream's side of a Messages stream: which tool_use block does a fragment belong to?

Fragments have no id here, and indices are shared, repeated or missing. A fragment goes to the last block that was
started at its index; without an index, to the last one that was started. One at an unknown index belongs to the one
block that is open and has no input yet, else to no block. Whether what was gathered so may run is decided in
`shared_place.py`: a place is an index from a start on until each block that was started there was stopped.
"""

from __future__ import annotations

from ...turn.fragments import MIXED
from ...turn.live import LiveArguments
from ...turn.shared_place import SharedPlace
from ...wire.events import MOST_CALLS, LimitReached
from .blocks import Place
from .calls import Json, ToolUse


class OpenPlace(SharedPlace[ToolUse]):
    """An index, and how many of the blocks that were started there were not stopped yet."""

    __slots__ = ("unstopped",)

    def __init__(self) -> None:
        super().__init__()
        self.unstopped = 0


class Calls:
    """The calls of one answer. `waiting` are those that have not gone out yet, in order of their starts."""

    __slots__ = ("_anywhere", "_at", "_count", "_last", "_places", "_seen", "_unclosed", "waiting")

    def __init__(self) -> None:
        self.waiting: list[ToolUse] = []
        self._at: dict[Place, ToolUse] = {}
        self._places: dict[Place, OpenPlace] = {}
        self._anywhere = OpenPlace()
        """All blocks together: the place of fragments without an index."""
        self._seen: list[OpenPlace] = [self._anywhere]
        self._unclosed: dict[str, ToolUse] = {}
        self._last: ToolUse | None = None
        self._count = 0

    def start(self, place: Place, block: Json) -> ToolUse:
        """A start event: a new call, the same one told twice, or the late start of fragments that came first."""
        here = self._at.get(place)
        identity, name = _text(block.get("id")), _text(block.get("name"))
        if here is not None and not here.closed:
            told_twice = identity and identity == here.id and name == here.name
            if not here.block or (told_twice and not (here.fragments and here.is_whole())):
                here.block = {**block, **here.block, "input": here.block.get("input") or block.get("input")}
                here.id, here.names = identity, [name] if name else []
                if told_twice and here.fragments:
                    # It may be another call: what was gathered has to be valid as it came.
                    self._places[place].doubt()
                return here
            self._shut(here)
        return self._open(place, block, identity, name)

    def followed(self) -> None:
        """Another block begins: what cuts the answer off later does not cut the last call."""
        if self._last is not None:
            self._last.followed = True
            self._last = None

    def fragment_of(self, place: Place, *, placed: bool) -> ToolUse | None:
        """The call that a fragment at this place is added to; None when it repeats what went out already.

        `placed`: the event had an index.
        """
        here = self._at.get(place)
        if here is None:
            only = next(iter(self._unclosed.values())) if len(self._unclosed) == 1 else None
            if only is None or only.fragments:
                return self._open(place, {}, "", "")
            # A server that counts its deltas differently from its starts.
            here = self._at[place] = only
        if here.closed and not here.unsure:
            if here.done or here.is_whole():
                if not placed and self._unclosed:
                    # It may be missing in one that is open.
                    self._anywhere.refuse()
                return None
            here.closed = False
            self._unclosed[here.key] = here
        if place in self._places:
            self._places[place].go_on(here, sure=False)
        self._anywhere.go_on(here, sure=placed)
        return here

    def judge(self, *flowing: ToolUse, complete: bool) -> None:
        """Refuse the calls that cannot be believed; all where fragments came without any start."""
        for place in self._seen:
            place.judge(complete=complete)
        calls = [*flowing, *self.waiting]
        if any(not call.block and call.fragments for call in calls):
            for call in calls:
                call.doubt = call.doubt or MIXED

    def close(self, place: Place) -> ToolUse | None:
        """A stop event: the call that it ends, if it ends one."""
        for open_place in (self._places.get(place), self._anywhere):
            if open_place is not None and open_place.unstopped:
                open_place.unstopped -= 1
        here = self._at.get(place)
        if here is None or here.closed:
            return None
        self._shut(here)
        return here

    def _shut(self, call: ToolUse) -> None:
        call.closed = True
        self._unclosed.pop(call.key, None)

    def _open(self, place: Place, block: Json, identity: str, name: str) -> ToolUse:
        if self._count >= MOST_CALLS:
            raise LimitReached
        self.followed()
        call = ToolUse(id=identity, names=[name] if name else [], key=f"call {self._count}", block=block)
        self._count += 1
        self.waiting.append(call)
        self._unclosed[call.key] = call
        self._at[place] = self._last = call
        self._begin(place, call)
        return call

    def _begin(self, place: Place, call: ToolUse) -> None:
        """A place is a new one where each block before was stopped; where one was not, it is shared."""
        here = self._places.get(place)
        if here is None or not here.unstopped:
            here = self._places[place] = OpenPlace()
            self._seen.append(here)
        if not self._anywhere.unstopped:
            self._anywhere = OpenPlace()
            self._seen.append(self._anywhere)
        here.begin(call, sure=False)
        self._anywhere.begin(call)
        here.unstopped += 1
        self._anywhere.unstopped += 1


class LiveToolUse:
    """A call whose fragments go on as they come (`toolfix_aggregate=false`)."""

    __slots__ = ("arguments", "call", "place", "steps")

    def __init__(self, call: ToolUse, place: Place, steps: tuple[str, ...]) -> None:
        self.call = call
        self.place = place
        self.steps = steps
        self.arguments = LiveArguments()

    def take(self, text: str) -> int:
        """How much of the fragment may go on."""
        size = 0 if self.call.doubt or self.call.unsure else len(self.arguments.take(text))
        self.call.fragments.append(text)
        self.call.whole = None
        return size


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
