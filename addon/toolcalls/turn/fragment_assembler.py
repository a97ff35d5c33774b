"""Which call does a fragment belong to? Servers disagree about index, id and name, so none is trusted alone.

| the fragment has          | it begins a call                               | it goes on with                    |
| ------------------------- | ---------------------------------------------- | ---------------------------------- |
| an id that is known here  | if it has a name and that call is closed, or   | the call of that id                |
|                           | has another name                               |                                    |
| an id known elsewhere     | at an index that has none, if it has a name    | the call of that id; an index with |
|                           | and arguments may begin                        | another call contradicts it        |
| a new id                  | behind a closed call; with a name, if          | the last one begun at its index:   |
|                           | arguments may begin                            | an id that changes                 |
| no id                     | at an index that has none; with a name, behind | the last one begun at its index; a |
|                           | a closed call or if it is another name         | call so far without index and      |
|                           |                                                | arguments, at a new index          |

Whether what was gathered so may run is decided in `shared_place.py`: a place is an index, or all calls together where
fragments have none. A bool is no index. Besides:
- Where some fragments have an index and others have none, the ones without may belong to any call: as soon as one
  call is in doubt, or one begins in the middle of its arguments, all count or none.
- An id at two indices is two calls (`resent.py` tells whether the second is the first one sent again).
- Two different objects under one id, name and index, in fragments, are one call with two readings: refused.
- Arguments of which a fragment begins another object inside a string: refused (`fragments.mixed`); also where they
  are valid, if a call without arguments waits there: `{}` may be all of them.
- Fragments of no call at all (no name, never) may be missing in each: none runs. But one stretch of them that makes a
  strict object of the one unfinished call right before it, and nothing else, is joined to it.
- A call whose name came twice, and not with each fragment, may be two calls: it counts only as strict JSON.
- A call without any arguments, at the place of another one of its name, is that one: a name that was said again. Only
  indices of their own make two of them.
"""

from __future__ import annotations

import itertools

from ..mend.arguments import Finish
from ..tools.declared import Tools
from ..wire.events import MOST_CALLS, LimitReached
from ..work import Work
from . import payload
from .assembled_call import AssembledCall
from .fragments import MIXED, begins_midway, may_begin
from .parts import Fragment, Place
from .resent import ComparedCall
from .shared_place import Places, SharedPlace, refuse


class FragmentAssembler:
    """The calls of one choice, in order of first appearance."""

    __slots__ = (
        "_by_id",
        "_doubtful",
        "_named",
        "_placed",
        "_places",
        "_renamed",
        "_shared_ids",
        "_tools",
        "_unplaced",
        "_unstable",
        "_waiting",
        "_whole_calls",
        "_work",
        "calls",
    )

    def __init__(self, tools: Tools, *, whole_calls: bool = False, work: Work | None = None) -> None:
        """`whole_calls`: a call comes in one piece, so nothing is ever added to one. `work`: what reading takes."""
        self._tools = tools
        self._work = work or Work()
        self._whole_calls = whole_calls
        self._unstable = False
        """Ids change with every delta."""
        self.calls: list[AssembledCall] = []
        self._forget()

    def _forget(self) -> None:
        self._by_id: dict[str, AssembledCall] = {}
        self._shared_ids: set[str] = set()
        """Ids of more than one call."""
        self._placed: dict[tuple[Place, str], AssembledCall] = {}
        self._places: Places[AssembledCall] = Places()
        self._renamed: set[Place] = set()
        """Where a name was said again as if a call began: where not each fragment has one, those are two calls."""
        self._named: dict[tuple[Place, str], AssembledCall] = {}
        """The last call of a name that began at a place."""
        self._waiting: dict[Place, list[AssembledCall]] = {}
        """The calls that began at a place, but for some that have arguments since."""
        self._unplaced = False
        """Fragments came without an index."""
        self._doubtful = False
        """A call at an index is in doubt, or began in the middle of its arguments."""

    def add(self, fragment: Fragment) -> AssembledCall | None:
        """Take a fragment; the call that it is added to, or None when it says nothing."""
        if fragment.empty:
            return None
        if self._whole_calls:
            return self._whole(fragment)
        if fragment.whole:
            call = self._repeat_from_message(fragment)
        elif not fragment.id:
            call = self._by_place(fragment)
        elif fragment.key in self._by_id:
            call = self._by_known_id(fragment)
        else:
            call = self._by_new_id(fragment)
        if not fragment.whole:
            self._compare_places(fragment)
        if fragment.id and not fragment.whole:
            self._by_id[fragment.key] = self._placed[fragment.place, fragment.key] = call
            call.hear(fragment.key)
        call.id = call.id or fragment.id
        if fragment.name:
            call.renamed = call.renamed or (call.begun and may_begin(fragment.arguments))
            call.named_twice = call.named_twice or fragment.name == call.name
            call.names.append(fragment.name)
        elif call.names:
            call.unnamed = True
        if call.named_twice and call.unnamed:
            # A name that comes twice, and not with each fragment, may be that of two calls.
            self._place(call.place).make_unsure()
            call.unsure = True
        if fragment.arguments:
            call.fragments.append(fragment.arguments)
            call.parts += 1
        if fragment.extra:
            call.extra.update(fragment.extra)
        return call

    def drop(self) -> None:
        """The calls so far were told otherwise too."""
        self.calls = []
        self._forget()

    def hand_out(self, finish: Finish) -> list[AssembledCall]:
        """Hand out the calls, phantom calls left out and strays joined to the call they belong to."""
        calls = self.calls if self._whole_calls else self.judged(complete=finish is Finish.COMPLETE)
        self.calls = []
        self._forget()
        return [call for call in calls if not call.empty]

    def judged(self, *, complete: bool) -> list[AssembledCall]:
        """The calls so far, those refused whose fragments may be those of another one."""
        calls = self._without_repeated_names()
        counted = {id(call) for call in calls}
        left_out = {id(call) for call in self.calls} - counted
        for place in self._places.all:
            by_ids = len(place.calls) > 1 and (place is not self._places.without_index or self._unplaced)
            if by_ids and any(begins_midway(call.fragments) for call in place.calls):
                # Ids told the calls apart, and one of them has a fragment that is missing in another.
                place.refuse()
            place.judge(complete=complete, left_out=left_out)
        for call in calls:
            if call.renamed and call.unnamed:
                # Its name came again where arguments may begin, and not with each fragment: that may be another call.
                call.doubt = call.doubt or MIXED
            if call.earlier is not None and call.begun and _contradict(call.earlier, call):
                call.doubt = call.earlier.doubt = MIXED
        strays = [call for call in calls if not call.names and call.begun]
        if strays and len(strays) < len(calls) and not _joined(calls, strays):
            refuse(calls)
        return calls

    def _without_repeated_names(self) -> list[AssembledCall]:
        """The calls without those that are nothing but a name that was said again."""
        named: set[tuple[Place, str]] = {(call.place, call.name) for call in self.calls if call.begun}
        calls: list[AssembledCall] = []
        for call in self.calls:
            if not (call.begun or call.again or call.restated):
                # Servers whose ids change say a name once more, and a call that begins says it first.
                if (call.place, call.name) in named:
                    continue
                named.add((call.place, call.name))
            if not call.empty:
                calls.append(call)
        return calls

    def _whole(self, fragment: Fragment) -> AssembledCall:
        """A call that comes in one piece, or more of one of which the upstream said that more follows."""
        last = self.calls[-1] if self.calls else None
        if last is not None and last.goes_on_with(fragment):
            last.take(fragment)
            return last
        return self._new(AssembledCall.of(fragment))

    def _compare_places(self, fragment: Fragment) -> None:
        """Fragments without an index may be missing in any call that is in doubt."""
        if fragment.place is None:
            self._unplaced = True
        else:
            self._doubtful = self._doubtful or self._place(fragment.place).unsure
        if self._unplaced and self._doubtful:
            self._places.without_index.make_unsure()

    # Which call

    def _by_place(self, fragment: Fragment) -> AssembledCall:
        """No id: the last call that began at this place, or a new one."""
        place = self._place(fragment.place)
        here = place.last
        begins = not fragment.arguments.strip() or may_begin(fragment.arguments)
        if here is None:
            awaiting = self._awaiting(fragment)
            if awaiting is None:
                return self._open(fragment, sure=begins)
            place.begin(awaiting)
            return self._go_on(awaiting, fragment)
        if not fragment.name:
            if fragment.place in self._renamed and fragment.arguments:
                place.make_unsure()
            anew = here.begun and may_begin(fragment.arguments)
            if anew and self._waits(fragment.place) and not _awaits_a_value(here):
                # The arguments of the one that waits, or the middle of a text.
                place.refuse()
            return self._go_on(here, fragment)
        if fragment.name == here.name and not begins:
            return self._go_on(here, fragment)
        closed = here.is_closed(another=begins)
        if closed or self._named_otherwise(here, fragment) or (here.unnamed and begins):
            # In the middle of a call that has an id: what comes with that id may be this one's, whose id is missing.
            separate = closed or not here.id
            return self._open(fragment, here, sure=begins and separate and not self._left_open(fragment, here))
        # Said again where arguments may begin: by a server that names each fragment, or because another call begins.
        if fragment.name == here.name:
            self._renamed.add(fragment.place)
        return self._go_on(here, fragment)

    def _waits(self, place: Place) -> bool:
        """Is there a call at this place that has no arguments yet?"""
        waiting = self._waiting.get(place, [])
        while waiting and waiting[-1].begun:
            waiting.pop()
        return bool(waiting)

    def _left_open(self, fragment: Fragment, here: AssembledCall) -> bool:
        """Was a call of this name begun before the last one, and not closed? The fragment may go on with that."""
        other = self._named.get((fragment.place, fragment.name))
        return other is not None and other is not here and not other.is_closed()

    def _awaiting(self, fragment: Fragment) -> AssembledCall | None:
        """The last call, if it came without an index and arguments and this fragment may be the first with both."""
        last = self._places.without_index.last
        if last is None or last.place is not None or last.begun or fragment.name not in ("", last.name):
            return None
        return last

    def _go_on(self, call: AssembledCall, fragment: Fragment, *, sure: bool = False) -> AssembledCall:
        """Something is added to a call; sure if the fragment has an id that only this call has."""
        if fragment.arguments:
            if call is not self._places.without_index.last and not may_begin(fragment.arguments) and call.whole():
                self._stray(call, fragment)
            if fragment.place is not None:
                self._place(fragment.place).go_on(call, sure=sure)
            self._places.without_index.go_on(call, sure=sure or fragment.place is not None)
        return call

    def _stray(self, call: AssembledCall, fragment: Fragment) -> None:
        """More of a call whose arguments look whole, while others go on: it may be missing in one of those."""
        if call.doubt or not fragment.arguments.strip():
            return
        refuse([call, *(one for one in self.calls if not one.whole())])

    def _by_known_id(self, fragment: Fragment) -> AssembledCall:
        place = self._place(fragment.place)
        known = self._by_id[fragment.key]
        if fragment.place is not None:
            placed = self._placed.get((fragment.place, fragment.key))
            if placed is None and place.calls and known is not place.last:
                # The index says one call, the id another.
                place.calls.append(known)
                place.refuse()
                return known
            if placed is None:
                return self._elsewhere(fragment, known)
            known = placed
        if known.comes_back(fragment.key):
            place.refuse()
            return known
        if fragment.name and known.names:
            begins = may_begin(fragment.arguments)
            if known.is_closed() and (begins or not fragment.arguments.strip()):
                call = self._open(fragment, known)
                call.earlier = known
                return call
            if self._named_otherwise(known, fragment) or (known.unnamed and begins):
                # Two calls at once, and nothing that tells them apart.
                return self._open(fragment, sure=False)
            if begins and known.begun and len(place.calls) > 1 and not _awaits_a_value(known):
                # It goes on, or another call of this id begins in the middle of it.
                place.refuse()
        return self._go_on(known, fragment, sure=fragment.key not in self._shared_ids)

    def _elsewhere(self, fragment: Fragment, known: AssembledCall) -> AssembledCall:
        """The id of a call at an index where none is yet: it goes on there, or begins there (once more)."""
        blank = not fragment.arguments.strip()
        closed = known.is_closed()
        named = bool(fragment.name and known.names)
        goes_on = not closed and (not named or not (blank or may_begin(fragment.arguments)))
        if goes_on or (closed and not named and blank):
            here = self._place(fragment.place)
            here.begin(known)
            if not blank:
                # The index says that it is another call.
                here.make_unsure()
            return self._go_on(known, fragment, sure=fragment.key not in self._shared_ids)
        return self._open(fragment, known)

    def _by_new_id(self, fragment: Fragment) -> AssembledCall:
        place = self._place(fragment.place)
        here = place.last
        if here is None:
            return self._open(fragment)
        if not fragment.name and not fragment.arguments:
            return here
        begins = not fragment.arguments.strip() or may_begin(fragment.arguments)
        same_name = not fragment.name or fragment.name == here.name
        unstable = same_name and self._unstable and not (fragment.name and begins and here.unnamed)
        if here.is_closed(another=bool(fragment.name) and begins):
            if fragment.name == here.name and not begins:
                return self._go_on(here, fragment)
            return self._open(fragment, here, sure=bool(fragment.name) and begins)
        if not here.id:
            if not self._named_otherwise(here, fragment):
                return self._go_on(here, fragment)
            return self._open(fragment, sure=begins)
        if not fragment.name:
            # An id that changes with every delta, unless another object begins where none can.
            anew = begins and here.begun and not _awaits_a_value(here)
            if anew and not unstable:
                return self._open(fragment, sure=False)
        elif not unstable and not (same_name and not begins and here.begun):
            return self._open(fragment, sure=begins)
        self._unstable = True
        place.make_unsure()
        return self._go_on(here, fragment)

    def _repeat_from_message(self, fragment: Fragment) -> AssembledCall:
        call = self._new()
        call.restated = True
        call.key = fragment.id
        return call

    # Places

    def _place(self, index: Place) -> SharedPlace[AssembledCall]:
        return self._places.without_index if index is None else self._places.at(index)

    def _new(self, call: AssembledCall | None = None) -> AssembledCall:
        if len(self.calls) >= MOST_CALLS:
            raise LimitReached
        call = call or AssembledCall()
        call.work = self._work
        self.calls.append(call)
        return call

    def _open(self, fragment: Fragment, earlier: AssembledCall | None = None, *, sure: bool = True) -> AssembledCall:
        """A new call; `earlier` is the one that it may repeat. Not sure: it may be a part of another one."""
        call = self._new()
        call.key = fragment.id or f"\0{fragment.place}"
        if fragment.key in self._by_id:
            self._shared_ids.add(fragment.key)
        if earlier is not None and (not fragment.id or not earlier.id or fragment.key in earlier.ids):
            call.key = earlier.key
            call.again = not fragment.name or fragment.name == earlier.name
        call.place = fragment.place
        self._named[fragment.place, fragment.name] = call
        for place in {fragment.place, None}:
            self._waiting.setdefault(place, []).append(call)
        if fragment.place is not None:
            self._place(fragment.place).begin(call, sure=sure)
            self._doubtful = self._doubtful or not sure
        self._places.without_index.begin(call, sure=sure or fragment.place is not None)
        return call

    def _named_otherwise(self, call: AssembledCall, fragment: Fragment) -> bool:
        """Is it the name of another call? It may also be the next piece of a name, or the name once more."""
        name = fragment.name
        if not name or not call.names:
            return False
        if name == call.name:
            return False
        if self._tools.get("".join([*call.names, name])) is not None or name.startswith(call.name):
            return False
        if call.begun:
            return True
        if len(self._tools):
            return self._tools.get(name) is not None and self._tools.get(call.name) is not None
        return fragment.place is None


def _awaits_a_value(call: AssembledCall) -> bool:
    """Can another value begin behind the arguments so far?"""
    call.whole()
    before = next((text for fragment in reversed(call.fragments) if (text := fragment.rstrip())), "")
    return not call.brackets.in_string and before.endswith((":", ",", "["))


def _contradict(earlier: AssembledCall, later: AssembledCall) -> bool:
    """Are these two different objects in the arguments of one call? In one fragment each they are two calls."""
    if earlier.parts < 2 and later.parts < 2:
        return False
    one, other = ComparedCall("", "", earlier.settle()[0]), ComparedCall("", "", later.settle()[0])
    return one.meaning != other.meaning


def _joined(calls: list[AssembledCall], strays: list[AssembledCall]) -> bool:
    """Join the one stretch of arguments without a name to the one open call right before it. False if not so."""
    stray = strays[0]
    left = [call for call in calls if call is not stray and not call.is_strict()]
    if len(strays) > 1 or len(left) != 1 or stray.id or stray.doubt or left[0].doubt:
        return False
    behind = any(one is left[0] and other is stray for one, other in itertools.pairwise(calls))
    if not behind or payload.object_in("".join([*left[0].fragments, *stray.fragments])) is None:
        return False
    left[0].fragments += stray.fragments
    stray.fragments = []
    return True
