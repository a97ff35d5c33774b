"""The upstream's side of a Messages stream: which tool_use block does a fragment belong to?

Indices are shared, repeated, interleaved or missing, so a place is only where the last call was started.
"""

from __future__ import annotations

from ...mend.prefix import StrictPrefix
from ...wire.events import MOST_CALLS, LimitReached
from .blocks import Place
from .calls import Call, Json


class Calls:
    """The calls of one answer. `waiting` are those that have not gone out yet, in order of their starts."""

    __slots__ = ("_at", "_count", "_last", "_unclosed", "waiting")

    def __init__(self) -> None:
        self.waiting: list[Call] = []
        self._at: dict[Place, Call] = {}
        self._unclosed: dict[str, Call] = {}
        self._last: Call | None = None
        self._count = 0

    def start(self, place: Place, block: Json) -> Call:
        """A start event: a new call, the same one told twice, or the late start of fragments that came first."""
        here = self._at.get(place)
        identity, name = _text(block.get("id")), _text(block.get("name"))
        earlier = None
        if here is not None and not here.closed:
            if not here.block or (identity and identity == here.id and name == here.name):
                here.block = {**block, **here.block, "input": here.block.get("input") or block.get("input")}
                here.id, here.names = identity, [name] if name else []
                return here
            # Two starts at one index: the first call may still be waiting for its fragments.
            self._shut(here)
            earlier = None if here.fragments else here
        call = self._open(place, block, identity, name)
        call.earlier = earlier
        return call

    def followed(self) -> None:
        """Another block begins: what cuts the answer off later does not cut the last call."""
        if self._last is not None:
            self._last.followed = True
            self._last = None

    def fragment_of(self, place: Place) -> Call | None:
        """The call that a fragment at this place continues; None when it repeats what went out already."""
        here = self._at.get(place)
        if here is not None:
            if not here.closed:
                return here
            if not here.done and not here.is_whole():
                return self._reopened(here, place)
            earlier, here.earlier = here.earlier, None
            return self._reopened(earlier, place) if earlier is not None and not earlier.done else None
        if len(self._unclosed) == 1:
            only = next(iter(self._unclosed.values()))
            if not only.fragments:
                # A server that counts its deltas differently from its starts.
                self._at[place] = only
                return only
        return self._open(place, {}, "", "")

    def close(self, place: Place) -> Call | None:
        """A stop event: the call that it ends, if it ends one."""
        here = self._at.get(place)
        if here is None or here.closed:
            return None
        self._shut(here)
        return here

    def _shut(self, call: Call) -> None:
        call.closed = True
        self._unclosed.pop(call.key, None)

    def _reopened(self, call: Call, place: Place) -> Call:
        call.closed = False
        self._at[place] = call
        self._unclosed[call.key] = call
        return call

    def _open(self, place: Place, block: Json, identity: str, name: str) -> Call:
        if self._count >= MOST_CALLS:
            raise LimitReached
        self.followed()
        call = Call(id=identity, names=[name] if name else [], key=f"call {self._count}", block=block)
        self._count += 1
        self.waiting.append(call)
        self._unclosed[call.key] = call
        self._at[place] = self._last = call
        return call


class Flow:
    """A call whose fragments go on as they come (`toolfix_aggregate=false`)."""

    __slots__ = ("call", "place", "prefix", "sent", "steps")

    def __init__(self, call: Call, place: Place, steps: tuple[str, ...]) -> None:
        self.call = call
        self.place = place
        self.steps = steps
        self.prefix = StrictPrefix()
        self.sent: list[str] = []

    def take(self, text: str) -> int:
        """How much of the fragment may go on."""
        size = self.prefix.feed(text)
        self.sent.append(text[:size])
        self.call.fragments.append(text)
        self.call.whole = None
        return size


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
