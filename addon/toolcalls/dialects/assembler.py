"""Which call does a fragment belong to? Servers disagree about index, id and name, so none is trusted alone.

A fragment goes to a call only where nothing else is possible. Where fragments of two calls cannot be told apart,
neither of them runs: each call of that place that is not closed already is refused.

A call is *open* until its arguments are closed; a *place* is an index, or all calls where fragments have none. A bool
is no index. What is decided, for calls that come one after the other and for calls that come at the same time:

| ids        | index          | one after the other                          | at the same time                      |
| ---------- | -------------- | -------------------------------------------- | ------------------------------------- |
| on each    | right          | by index and id                              | by index and id                       |
| on each    | all 0, missing | by id: a new one with a name opens a call    | by id                                 |
| first only | right          | by index                                     | by index                              |
| first only | all 0, missing | the one that was opened last                 | refused                               |
| none       | right          | by index                                     | by index                              |
| none       | all 0, missing | a name behind closed arguments opens a call  | refused                               |
| unstable   | right          | by index: an id that is new goes on with the | by index                              |
|            |                | open call if it brings no name, or the same  |                                       |
|            |                | name and no beginning of arguments           |                                       |
| unstable   | all 0, missing | the same; a name behind closed arguments     | refused                               |
|            |                | opens a call                                 |                                       |

Names on each fragment change nothing of this where they are the same; another name opens another call. Besides:
- An id that comes back after another one took its place means that two calls were taken for one: refused.
- An id at two indices is two calls (`resent.py` tells whether the second is the first one sent again).
- An id and an index that name two different calls: both refused.
- Arguments of which a fragment begins another object inside a string: refused (`fragments.mixed`).
- Fragments that have no call at all (no name, never) refuse all that is open, for they may be missing there; only one
  that completes the one open call right before it, and nothing else, is joined to it.
- Fragments without an index, of a call that goes on with one: all that is open is refused.
- A call without any arguments, at the place of another one of its name, is that one: a name that was said again. Only
  indices of their own make two of them.
"""

from __future__ import annotations

import itertools

from ..mend.arguments import Finish, mend_arguments
from ..tools.declared import Tools
from ..wire.events import MOST_CALLS, LimitReached
from . import payload
from .assembled_call import Fragment, Place, Slot
from .fragments import MIXED, may_begin


class Lane:
    """The calls at one place; the last one is the one that goes on."""

    __slots__ = ("_again", "_open", "calls", "lost", "renamed")

    def __init__(self) -> None:
        self.calls: list[Slot] = []
        self._open: list[Slot] = []
        """Those before the last one that were open when somebody looked."""
        self._again: list[Slot] = []
        """Those whose name was just said again, as far as one could see."""
        self.renamed = False
        """A name was said again where a call may begin: where not each fragment has one, those are two calls."""
        self.lost = False
        """Nobody knows any more whose the fragments without an id are."""

    @property
    def last(self) -> Slot | None:
        return self.calls[-1] if self.calls else None

    def add(self, slot: Slot) -> None:
        if self.calls:
            last = self.calls[-1]
            (self._again if last.again and not last.begun else self._open).append(last)
        self.calls.append(slot)

    def contested(self, *, named: bool) -> bool:
        """Is a call open besides the last one? `named`: each fragment so far had a name, so one may be said again."""
        if not self.lost and self._open:
            self._open = [call for call in self._open if not call.is_closed()]
        return self.lost or bool(self._open) or (not named and (self.renamed or bool(self._again)))

    def lose(self) -> None:
        """A fragment came that may be any open call's: from now on none of them is certain, whatever follows."""
        for call in (*self._open, *self._again, *self.calls[-1:]):
            if not call.is_closed():
                call.doubt = MIXED
        # Those that begin from now on are asked about when the next one comes.
        self._open, self._again, self.lost = [], [], True


class CallAssembler:
    """The calls of one choice, in order of first appearance."""

    __slots__ = (
        "_by_id",
        "_everywhere",
        "_lanes",
        "_named",
        "_placed",
        "_several",
        "_tools",
        "_unstable",
        "slots",
    )

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._named = True
        """Every fragment so far had a name."""
        self._unstable = False
        """Ids change with every delta."""
        self.slots: list[Slot] = []
        self._forget()

    def _forget(self) -> None:
        self._by_id: dict[str, Slot] = {}
        self._several: set[str] = set()
        """Ids of more than one call."""
        self._placed: dict[tuple[Place, str], Slot] = {}
        self._lanes: dict[Place, Lane] = {}
        self._everywhere = Lane()

    def add(self, fragment: Fragment) -> Slot | None:
        """Take a fragment; the call that it belongs to, or None when it says nothing or nobody knows."""
        if fragment.empty:
            return None
        self._named = self._named and bool(fragment.name or not fragment.arguments)
        if fragment.whole:
            slot: Slot | None = self._restate(fragment)
        elif not fragment.id:
            slot = self._by_place(fragment)
        elif fragment.id in self._by_id:
            slot = self._by_known_id(fragment)
        else:
            slot = self._by_new_id(fragment)
        if slot is None:
            return None
        if fragment.id and not fragment.whole:
            self._by_id[fragment.id] = self._placed[fragment.place, fragment.id] = slot
            slot.ids.add(fragment.id)
            slot.last_id = fragment.id
        slot.id = slot.id or fragment.id
        if fragment.place is not None:
            slot.indexed += 1
        if fragment.name:
            slot.names.append(fragment.name)
        elif slot.names:
            slot.unnamed = True
        if fragment.arguments:
            slot.fragments.append(fragment.arguments)
        if fragment.extra:
            slot.extra.update(fragment.extra)
        return slot

    def add_found(self, name: str, arguments: str) -> None:
        """A whole call that was written as text."""
        self.slots.append(Slot(names=[name], fragments=[arguments], found=True))

    def drop(self) -> None:
        """The calls so far were told otherwise too: what is left are those that were written as text."""
        self.slots = [slot for slot in self.slots if slot.found]
        self._forget()

    def take(self, finish: Finish) -> list[Slot]:
        """Hand out the calls, phantom slots left out and strays joined to the call they belong to."""
        calls = self.judged()
        if finish is Finish.COMPLETE:
            for lane in self._lanes.values() or (self._everywhere,):
                _doubt_before_unreadable(lane.calls)
        strays = [slot for slot in calls if not slot.names and slot.begun]
        if strays and len(strays) < len(calls) and not _joined(calls, strays):
            _doubt_open(calls)
        self.slots = []
        self._forget()
        return [slot for slot in calls if not slot.empty]

    def judged(self) -> list[Slot]:
        """The calls so far, those in doubt of which a part may stand elsewhere."""
        for lane in (*self._lanes.values(), self._everywhere):
            if lane.lost:
                for slot in lane.calls:
                    if slot.amid or not _strict(slot.fragments):
                        slot.doubt = slot.doubt or MIXED
        if self._unstable:
            for slot in self.slots:
                if len(slot.ids) > 1 and not slot.doubt and not _strict(slot.fragments):
                    slot.doubt = MIXED
        named: set[tuple[Place, str]] = {(slot.place, slot.name) for slot in self.slots if slot.begun}
        calls: list[Slot] = []
        for slot in self.slots:
            if not (slot.begun or slot.again or slot.found or slot.restated):
                # Without arguments and without an index of its own it is the other call of that name there: servers
                # whose ids change say a name once more, and a call that begins says it first.
                if (slot.place, slot.name) in named:
                    continue
                named.add((slot.place, slot.name))
            if not slot.empty:
                calls.append(slot)
        return calls

    # Which call

    def _by_place(self, fragment: Fragment) -> Slot | None:
        """No id: the call that goes on at this place, if it is the only open one."""
        lane = self._lane(fragment.place)
        here = lane.last
        if here is None:
            return self._open(fragment)
        if not fragment.name:
            if fragment.arguments and self._contested(lane):
                lane.lose()
                # It came right behind this one: what is closed may be taken back by it.
                here.doubt = MIXED if fragment.arguments.strip() else here.doubt
                return None
            return self._go_on(here, fragment)
        begins = not fragment.arguments.strip() or may_begin(fragment.arguments)
        closed = here.is_closed(another=begins)
        if self._contested(lane):
            lane.lose()
            return None
        if fragment.name == here.name and not begins:
            return self._go_on(here, fragment)
        if closed or self._named_otherwise(here, fragment) or (here.unnamed and begins):
            return self._open(fragment, here)
        # Said again where arguments may begin: by a server that names each fragment, or because another call begins.
        lane.renamed = lane.renamed or (fragment.name == here.name and begins)
        return self._go_on(here, fragment)

    def _contested(self, lane: Lane) -> bool:
        return lane.contested(named=self._named)

    def _go_on(self, here: Slot, fragment: Fragment) -> Slot | None:
        """A fragment without an id of this call. One without an index belongs to no call that goes on with one.

        Nor does one that begins nothing belong to a call of which nothing but the name was said again.
        """
        if fragment.place is None and here.indexed > 1:
            self._everywhere.lose()
            return None
        if here.again and not here.begun and fragment.arguments.strip() and not may_begin(fragment.arguments):
            here.doubt = MIXED
        if fragment.place is not None and here.unindexed:
            here.doubt = MIXED
        here.unindexed = here.unindexed or (fragment.place is None and here.place is not None)
        return here

    def _by_known_id(self, fragment: Fragment) -> Slot | None:
        mine = self._by_id[fragment.id]
        lane = self._lane(fragment.place)
        if fragment.place is None and fragment.id in self._several:
            calls = [slot for slot in self._everywhere.calls if fragment.id in slot.ids and not slot.is_closed()]
            if len(calls) > 1:
                for slot in calls:
                    self._doubt(slot)
                return None
        if fragment.place is not None:
            there = self._placed.get((fragment.place, fragment.id))
            if there is None and lane.calls and mine is not lane.last:
                # The index says one call, the id another.
                lane.lose()
                self._doubt(mine)
                return None
            if there is None:
                return self._elsewhere(fragment, mine)
            mine = there
        if fragment.id != mine.last_id:
            # It was taken for an id that changes with every delta, and comes back: those were two calls.
            self._doubt(mine)
            return mine
        if not fragment.name or not mine.names:
            return mine
        blank = not fragment.arguments.strip()
        if (blank and mine.is_closed()) or (may_begin(fragment.arguments) and (mine.doubt or mine.is_closed())):
            other = self._open(fragment, mine)
            if mine.doubt and not mine.is_closed():
                other.doubt = MIXED
            return other
        if self._named_otherwise(mine, fragment) or (mine.unnamed and may_begin(fragment.arguments)):
            # Two calls at once, and nothing that tells them apart.
            self._doubt(mine)
            other = self._open(fragment)
            other.doubt = MIXED
            return other
        return mine

    def _elsewhere(self, fragment: Fragment, mine: Slot) -> Slot:
        """The id of a call at an index where none is yet: it goes on there, or begins there (once more)."""
        blank = not fragment.arguments.strip()
        closed = mine.is_closed()
        named = bool(fragment.name and mine.names)
        goes_on = not closed and (not named or not (blank or may_begin(fragment.arguments)))
        if goes_on or (closed and not named and blank):
            self._lane(fragment.place).add(mine)
            return mine
        return self._open(fragment, mine)

    def _by_new_id(self, fragment: Fragment) -> Slot | None:
        lane = self._lane(fragment.place)
        here = lane.last
        if here is None:
            return self._open(fragment)
        blank = not fragment.arguments.strip()
        begins = blank or may_begin(fragment.arguments)
        same_name = not fragment.name or fragment.name == here.name
        if not fragment.name and not fragment.arguments:
            return here
        closed = here.is_closed(another=bool(fragment.name) and begins)
        unstable = same_name and self._unstable and not (fragment.name and begins and here.unnamed)
        if self._contested(lane) and (not (fragment.name and begins) or (unstable and not closed)):
            # An id that changes with every delta, and more than one call that it may belong to.
            lane.lose()
            return None
        if closed:
            return here if fragment.name == here.name and not begins else self._open(fragment, here)
        if not here.id:
            return self._open(fragment) if self._named_otherwise(here, fragment) else self._go_on(here, fragment)
        if not fragment.name:
            # An id that changes with every delta, unless another object begins where none can.
            anew = begins and here.begun and not _awaits_a_value(here)
            if anew and not unstable:
                return self._open(fragment, amid=True)
        elif not unstable and not (same_name and not begins and here.begun):
            return self._open(fragment, amid=True)
        self._unstable = True
        return self._go_on(here, fragment)

    def _restate(self, fragment: Fragment) -> Slot:
        slot = self._new()
        slot.restated = True
        slot.key = fragment.id
        return slot

    # Places

    def _lane(self, place: Place) -> Lane:
        if place is None:
            return self._everywhere
        lane = self._lanes.get(place)
        if lane is None:
            lane = self._lanes[place] = Lane()
        return lane

    def _new(self) -> Slot:
        if len(self.slots) >= MOST_CALLS:
            raise LimitReached
        slot = Slot()
        self.slots.append(slot)
        return slot

    def _open(self, fragment: Fragment, earlier: Slot | None = None, *, amid: bool = False) -> Slot:
        """A new call; `earlier` is the one that it may repeat, `amid` another one that is open at this place."""
        slot = self._new()
        slot.amid = amid
        slot.key = fragment.id or f"\0{fragment.place}"
        if fragment.id in self._by_id:
            self._several.add(fragment.id)
        if earlier is not None and (not fragment.id or not earlier.id or fragment.id in earlier.ids):
            slot.key = earlier.key
            slot.again = not fragment.name or fragment.name == earlier.name
        slot.place = fragment.place
        self._everywhere.add(slot)
        if fragment.place is not None:
            self._lane(fragment.place).add(slot)
        return slot

    def _doubt(self, slot: Slot) -> None:
        if not slot.is_closed():
            slot.doubt = MIXED

    def _named_otherwise(self, slot: Slot, fragment: Fragment) -> bool:
        """Is it the name of another call? It may also be the next piece of a name, or the name once more."""
        name = fragment.name
        if not name or not slot.names:
            return False
        if name == slot.name:
            return False
        if self._tools.get("".join([*slot.names, name])) is not None or name.startswith(slot.name):
            return False
        if slot.begun:
            return True
        if len(self._tools):
            return self._tools.get(name) is not None and self._tools.get(slot.name) is not None
        return fragment.place is None


def _doubt_before_unreadable(calls: list[Slot]) -> None:
    """What makes a call at one place unreadable may be the end of one before it, where fragments have no ids."""
    for number, slot in enumerate(calls[1:], 1):
        if len(slot.fragments) < 2 or slot.doubt or _strict(slot.fragments):
            continue
        if mend_arguments("".join(slot.fragments), Finish.COMPLETE).value is None:
            for earlier in calls[:number]:
                earlier.doubt = earlier.doubt or MIXED


def _awaits_a_value(slot: Slot) -> bool:
    """Can another value begin behind the arguments so far?"""
    slot.whole()
    before = next((text for fragment in reversed(slot.fragments) if (text := fragment.rstrip())), "")
    return not slot.in_string and before.endswith((":", ",", "["))


def _joined(calls: list[Slot], strays: list[Slot]) -> bool:
    """Join the one stretch of arguments without a name to the one open call right before it. False if not so."""
    stray = strays[0]
    left = [slot for slot in calls if not slot.found and slot is not stray and not _strict(slot.fragments)]
    if len(strays) > 1 or len(left) != 1 or stray.id or stray.doubt or left[0].doubt:
        return False
    behind = any(one is left[0] and other is stray for one, other in itertools.pairwise(calls))
    if not behind or not _strict([*left[0].fragments, *stray.fragments]):
        return False
    left[0].fragments += stray.fragments
    stray.fragments = []
    return True


def _doubt_open(calls: list[Slot]) -> None:
    """Arguments without any name may be missing in each call that is not whole by itself."""
    for slot in calls:
        if not slot.found and not _strict(slot.fragments):
            slot.doubt = slot.doubt or MIXED


def _strict(fragments: list[str]) -> bool:
    return isinstance(payload.read_strict("".join(fragments)), dict)
