"""The upstream's side of a Messages stream: which tool_use block does a fragment belong to?

Fragments have no id here. Indices are shared, repeated, interleaved or missing, so a place is only where the last
call was started. What is decided:

| index               | one block after the other                  | at the same time                              |
| ------------------- | ------------------------------------------ | --------------------------------------------- |
| right               | by index                                   | by index                                      |
| shared, or missing  | the last one that was started: the one     | refused, all that are open at that place.     |
|                     | before it was stopped, or is whole         | But a whole input goes to a call without any, |
|                     |                                            | if all of those are of one tool               |
| missing in deltas   | the last one that was started              | refused                                       |
| unknown             | the one block that was started and has no  | refused, all that are open                    |
|                     | input yet                                  |                                               |
"""

from __future__ import annotations

from ...mend.prefix import StrictPrefix
from ...wire.events import MOST_CALLS, LimitReached
from .. import payload
from ..fragments import MIXED
from .blocks import Place
from .calls import Json, ToolUse


class Calls:
    """The calls of one answer. `waiting` are those that have not gone out yet, in order of their starts."""

    __slots__ = ("_at", "_count", "_last", "_unclosed", "waiting")

    def __init__(self) -> None:
        self.waiting: list[ToolUse] = []
        self._at: dict[Place, ToolUse] = {}
        self._unclosed: dict[str, ToolUse] = {}
        self._last: ToolUse | None = None
        self._count = 0

    def start(self, place: Place, block: Json) -> ToolUse:
        """A start event: a new call, the same one told twice, or the late start of fragments that came first."""
        here = self._at.get(place)
        identity, name = _text(block.get("id")), _text(block.get("name"))
        rivals: list[ToolUse] = []
        if here is not None and not here.closed:
            told_twice = identity and identity == here.id and name == here.name
            if not here.block or (told_twice and not (here.fragments and here.is_whole())):
                here.block = {**block, **here.block, "input": here.block.get("input") or block.get("input")}
                here.id, here.names = identity, [name] if name else []
                return here
            # Two starts at one index: the first call may still be waiting for its fragments.
            self._shut(here)
            rivals = [here]
        if here is not None and (rivals or here.rivals or here.doubt):
            # Where it was not certain whose the fragments are, it is not whose the stop was.
            rivals = [call for call in (here, *here.rivals) if not call.done and not call.is_whole()]
        call = self._open(place, block, identity, name)
        call.rivals = rivals
        if here is not None:
            call.before = [one for one in (here, *here.before) if not (one.done or one.stopped or one.doubt)]
            for one in call.before:
                one.after = call
        call.owed = here.owed + (not here.stopped) if here is not None else 0
        return call

    def followed(self) -> None:
        """Another block begins: what cuts the answer off later does not cut the last call."""
        if self._last is not None:
            self._last.followed = True
            self._last = None

    def fragment_of(self, place: Place, text: str, *, placed: bool) -> ToolUse | None:
        """The call that a fragment at this place continues; None when it repeats what went out already.

        `placed`: the event had an index. Where it may be that of several calls, none of them is certain any more.
        """
        here = self._at.get(place)
        if not placed:
            others = [call for call in self._unclosed.values() if call is not here and not call.is_whole()]
            if others:
                return _doubtful([*others, *([here] if here is not None and not here.is_whole() else [])])
        if here is not None:
            return self._fragment_at(here, place, text)
        if len(self._unclosed) == 1:
            only = next(iter(self._unclosed.values()))
            if not only.fragments:
                # A server that counts its deltas differently from its starts.
                self._at[place] = only
                return self._fragment_at(only, place, text)
        return self._open(place, {}, "", "")

    def _fragment_at(self, here: ToolUse, place: Place, text: str) -> ToolUse | None:
        if here.doubt:
            return here
        rivals = here.rivals = [call for call in here.rivals if not call.done and not call.is_whole()]
        if rivals and not _is_the_input_of_one([here, *rivals], text):
            return _doubtful([here, *rivals])
        if rivals and here.fragments:
            # The input of a call that was started before.
            return self._reopened(next(call for call in rivals if not call.fragments), place)
        if not here.closed:
            return here
        return self._reopened(here, place) if not here.done and not here.is_whole() else None

    def judge(self, *flowing: ToolUse) -> None:
        """Fragments without any start may be missing in each call that is not whole by itself."""
        calls = [*flowing, *self.waiting]
        for call in calls:
            self._judge_before(call)
        strays = any(not call.block and call.fragments for call in calls)
        if strays and any(call.block for call in calls):
            for call in calls:
                if not call.ready():
                    call.doubt = call.doubt or MIXED

    def _judge_before(self, call: ToolUse) -> None:
        """What makes no call of this one may be the end of one before it at the same index."""
        if call.before and call.fragments and not call.is_whole():
            for one in call.before:
                one.doubt = one.doubt if one.done else MIXED

    def close(self, place: Place) -> ToolUse | None:
        """A stop event: the call that it ends, if it ends one."""
        here = self._at.get(place)
        if here is None or here.closed:
            return None
        if here.owed and not here.is_whole():
            here.owed -= 1
            return None
        here.stopped = True
        self._shut(here)
        return here

    def _shut(self, call: ToolUse) -> None:
        self._judge_before(call)
        call.closed = True
        self._unclosed.pop(call.key, None)

    def _reopened(self, call: ToolUse, place: Place) -> ToolUse:
        call.closed = False
        self._at[place] = call
        self._unclosed[call.key] = call
        return call

    def _open(self, place: Place, block: Json, identity: str, name: str) -> ToolUse:
        if self._count >= MOST_CALLS:
            raise LimitReached
        self.followed()
        call = ToolUse(id=identity, names=[name] if name else [], key=f"call {self._count}", block=block)
        self._count += 1
        self.waiting.append(call)
        self._unclosed[call.key] = call
        self._at[place] = self._last = call
        return call


class LiveToolUse:
    """A call whose fragments go on as they come (`toolfix_aggregate=false`)."""

    __slots__ = ("call", "place", "prefix", "sent", "steps")

    def __init__(self, call: ToolUse, place: Place, steps: tuple[str, ...]) -> None:
        self.call = call
        self.place = place
        self.steps = steps
        self.prefix = StrictPrefix()
        self.sent: list[str] = []

    def take(self, text: str) -> int:
        """How much of the fragment may go on."""
        size = 0 if self.call.doubt else self.prefix.feed(text)
        self.sent.append(text[:size])
        self.call.fragments.append(text)
        self.call.whole = None
        return size


def _is_the_input_of_one(calls: list[ToolUse], text: str) -> bool:
    """Is it a whole input, and can it be that of none but a call without any, all of which are of one tool?"""
    if any(call.doubt for call in calls) or not isinstance(payload.read_strict(text), dict):
        return False
    begun = [call for call in calls if call.fragments]
    names = {call.name for call in calls if not call.fragments}
    return len(names) == 1 and not any(call.arguments.rstrip().endswith((":", ",", "[")) for call in begun)


def _doubtful(calls: list[ToolUse]) -> ToolUse:
    for call in calls:
        call.doubt = MIXED
    return calls[0]


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
