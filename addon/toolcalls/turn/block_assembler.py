"""Which call does a fragment belong to, where each call begins and ends with an event of its own?

Fragments have no id here, and indices are shared, repeated or missing. A fragment goes to the last call that began at
its index; without an index, to the last one that began. One at an unknown index belongs to the one call that is open
and has no arguments yet, else to no call. Whether what was gathered so may run is decided in `shared_place.py`: a
place is an index from a beginning on until each call that began there has ended.
"""

from __future__ import annotations

from ..mend.finish import Finish
from ..wire.events import MOST_CALLS, LimitReached
from ..work import Work
from .block_call import BlockCall
from .fragments import may_begin
from .parts import CallStart, Fragment, Place
from .shared_place import Places, refuse


class BlockAssembler:
    """The calls of one answer. `calls` are those that have not gone out yet, in order of their beginnings."""

    __slots__ = ("_at", "_count", "_last", "_places", "_unended", "_work", "calls")

    def __init__(self, work: Work) -> None:
        """`work`: what reading them may take."""
        self.calls: list[BlockCall] = []
        self._work = work
        self._places: Places[BlockCall] = Places()
        self._at: dict[Place, BlockCall] = {}
        self._unended: dict[int, BlockCall] = {}
        self._last: BlockCall | None = None
        self._count = 0

    def begin(self, start: CallStart) -> BlockCall:
        """A new call, one whose beginning is told twice, or the late beginning of fragments that came first."""
        here = self._at.get(start.place)
        if here is not None and not here.ended:
            begins_again = start.id and start.id == here.id and start.name == here.name
            if not here.started or (begins_again and not (here.fragments and here.is_whole())):
                here.extra = {**start.extra, **here.extra}
                here.given = here.given or start.given
                here.started = True
                here.id = here.key = start.id
                here.names = [start.name] if start.name else []
                if begins_again and here.fragments:
                    # It may be another call: what was gathered has to be valid as it came.
                    self._places.at(start.place).make_unsure()
                return here
            self._end(here)
        return self._begin(start, started=True)

    def follow(self) -> None:
        """Something else begins: what cuts the answer off later does not cut the last call."""
        if self._last is not None:
            self._last.followed = True
            self._last = None

    def add(self, fragment: Fragment) -> BlockCall | None:
        """Take a fragment; the call that it is added to, or None where it repeats what went out already."""
        place = fragment.place
        here = self._at.get(place)
        if here is None:
            only = next(iter(self._unended.values())) if len(self._unended) == 1 else None
            if only is None or only.fragments:
                stray = bool(self._unended) and not may_begin(fragment.arguments)
                begun = self._begin(CallStart(place, "", ""), started=False)
                if stray:
                    # It begins nothing: it is missing in one that is open.
                    self._places.without_index.refuse()
                begun.fragments.append(fragment.arguments)
                return begun
            # A server that counts its fragments differently from its beginnings.
            here = self._at[place] = only
        if here.ended and not here.unsure:
            if here.done or here.is_whole():
                if self._unended and not (fragment.placed and _says_again(here, fragment.arguments)):
                    # It may be missing in one that is open.
                    self._places.without_index.refuse()
                return None
            here.ended = False
            self._unended[id(here)] = here
        if place in self._places.indexed:
            self._places.at(place).go_on(here, sure=False)
        self._places.without_index.go_on(here, sure=fragment.placed)
        here.fragments.append(fragment.arguments)
        return here

    def end(self, place: Place) -> BlockCall | None:
        """A block ends: the call that this is, if it is one."""
        self._places.end(place)
        here = self._at.get(place)
        if here is None or here.ended:
            return None
        self._end(here)
        return here

    def judge(self, *live: BlockCall, complete: bool) -> None:
        """Refuse the calls that cannot be believed; all where fragments came without any beginning.

        `live`: calls of which the client has a part.
        """
        for place in self._places.all:
            place.judge(complete=complete)
        calls = [*live, *self.calls]
        if any(not call.started and call.fragments for call in calls):
            refuse(calls)

    def hand_out(self, finish: Finish) -> list[BlockCall]:
        """Hand out all calls."""
        self.judge(complete=finish is Finish.COMPLETE)
        calls, self.calls = self.calls, []
        return calls

    def _end(self, call: BlockCall) -> None:
        call.ended = True
        self._unended.pop(id(call), None)

    def _begin(self, start: CallStart, *, started: bool) -> BlockCall:
        if self._count >= MOST_CALLS:
            raise LimitReached
        self.follow()
        call = BlockCall.of_start(start, started=started)
        call.held_under = f"call {self._count}"
        self._count += 1
        call.work = self._work
        self.calls.append(call)
        self._unended[id(call)] = call
        self._at[start.place] = self._last = call
        self._places.begin(start.place, call)
        return call


def _says_again(call: BlockCall, text: str) -> bool:
    """Is this nothing, or all that the call said?"""
    return not text.strip() or text == "".join(call.fragments)
