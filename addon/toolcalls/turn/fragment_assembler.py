"""Which call a fragment belongs to. Servers disagree about index, id and name, so none of them is trusted alone.

| the fragment has          | it begins a call                               | otherwise it continues             |
| ------------------------- | ---------------------------------------------- | ---------------------------------- |
| an id known at its index  | if it has a name, and the call of that id is   | the call of that id                |
|                           | complete or has another name                   |                                    |
| an id known at another    | if its index has no call yet, it has a name,   | the call of that id; an index with |
| index                     | and arguments may begin                        | another call contradicts the id    |
| a new id                  | after a complete call; or if it has a name and | the last call begun at its index   |
|                           | arguments may begin                            | (the server's ids change)          |
| no id                     | if its index has no call yet; or if it has a   | the last call begun at its index;  |
|                           | name, after a complete call or with another    | at a new index, a call that has no |
|                           | name                                           | index and no arguments yet         |

Whether the calls gathered this way may run is decided in `calls_at_index.py`. All fragments without an index count as
fragments at one index. A bool is not an index. Also:
- If some fragments have an index and others have none, those without may belong to any call: as soon as one call
  cannot be attributed with certainty, or begins in the middle of its arguments, either all calls run or none does.
- An id at two indices means two calls (`resent.py` decides whether the second is the first one sent again).
- Fragments with one id, name and index that contain two different objects are one call with two readings: refused.
- Arguments in which a fragment begins another object inside a string are refused (`fragments.mixed`). Valid ones are
  refused too if a call without arguments waits there: the fragment may be all of its arguments.
- Fragments that never get a name may be missing in any call, so no call runs. The exception: if one run of them
  completes the only incomplete call, right before it, to a strict object, it is joined to that call. If there is no
  other call, and no id either, the beginning of the call was lost: it may be a call of any tool, and is refused.
- A call whose name arrived twice, but not with every fragment, may be two calls: it runs only if it is strict JSON.
- A name without arguments after a call that has an id, but no name, is that of the call, if the call's arguments are
  strict JSON that the tool can take.
- A call without arguments at the index of another call with its name is that call, with its name repeated. They are
  two calls only if each has its own index.
"""

from __future__ import annotations

import itertools

from ..mend.arguments import Finish
from ..tools.declared import Tools
from ..wire.events import MOST_CALLS, LimitReached
from ..work import Work
from . import payload
from .assembled_call import AssembledCall
from .call_assembler import CallAssembler
from .calls_at_index import CallsByIndex, refuse
from .fragments import begins_midway, may_begin
from .parts import Fragment, Index
from .refusal_reasons import MIXED
from .resent import meaning_of


class FragmentAssembler(CallAssembler[AssembledCall]):
    """The calls of one choice, in order of first appearance."""

    __slots__ = (
        "_by_id",
        "_by_index_and_id",
        "_doubtful",
        "_named",
        "_renamed",
        "_shared_ids",
        "_some_without_index",
        "_unstable",
        "_waiting",
        "_whole_calls",
    )

    def __init__(self, tools: Tools, work: Work, *, whole_calls: bool = False) -> None:
        """`whole_calls`: a call arrives in one piece, so nothing is ever added to it."""
        super().__init__(tools, work)
        self._whole_calls = whole_calls
        self._unstable = False
        """Ids change with every delta."""
        self.drop()

    def drop(self) -> None:
        """Forget the calls so far."""
        self.calls = []
        self._by_id: dict[str, AssembledCall] = {}
        self._shared_ids: set[str] = set()
        """Ids of more than one call."""
        self._by_index_and_id: dict[tuple[Index, str], AssembledCall] = {}
        self._calls_by_index = CallsByIndex()
        # A call may begin without an index here: all of these are at one index.
        self._calls_by_index.indexed[None] = self._calls_by_index.without_index
        self._renamed: set[Index] = set()
        """Indices at which a name was repeated as if a call began: two calls, unless every fragment has the name."""
        self._named: dict[tuple[Index, str], AssembledCall] = {}
        """The last call that began at an index, by index and name."""
        self._waiting: dict[Index, list[AssembledCall]] = {}
        """Calls by index that had no arguments when last checked; `_waits` removes those that have some now."""
        self._some_without_index = False
        """Fragments without an index have arrived."""
        self._doubtful = False
        """A call at an index cannot be attributed with certainty, or began in the middle of its arguments."""
        self._incomplete = []

    def add(self, fragment: Fragment) -> AssembledCall | None:
        """Take a fragment and return the call that it is added to; None if it is empty."""
        if fragment.empty:
            return None
        if self._whole_calls:
            return self._whole(fragment)
        if fragment.repeats_answer:
            call = self._new_call()
            call.restated = True
            call.key = fragment.id
        elif fragment.id:
            call = self._by_known_id(fragment) if fragment.key in self._by_id else self._by_new_id(fragment)
            self._by_id[fragment.key] = self._by_index_and_id[fragment.index, fragment.key] = call
            call.note_id(fragment.key)
        else:
            call = self._by_index(fragment)
        if not fragment.repeats_answer:
            self._note_index(fragment)
        call.id = call.id or fragment.id
        call.refuse(fragment.refusal_reason)
        if fragment.name:
            call.renamed = call.renamed or (call.begun and may_begin(fragment.arguments))
            call.named_twice = call.named_twice or fragment.name == call.name
            call.names.append(fragment.name)
        elif call.names:
            call.unnamed = True
        if call.named_twice and call.unnamed:
            # A name that arrives twice, but not with every fragment, may belong to two calls.
            self._calls_by_index.at(call.index).require_all_or_none()
            call.all_or_none = True
        if fragment.arguments:
            call.add(fragment.arguments)
            call.parts += 1
        if fragment.extra:
            call.extra.update(fragment.extra)
        return call

    def hand_out(self, finish: Finish) -> list[AssembledCall]:
        """Remove and return the calls: empty ones are left out, strays are joined to the call they belong to."""
        calls = self.calls if self._whole_calls else self.judged(complete=finish is Finish.COMPLETE)
        self.drop()
        return [call for call in calls if not call.empty]

    def judged(self, *, complete: bool) -> list[AssembledCall]:
        """The calls so far; those whose fragments may belong to another call are refused."""
        calls = self._without_repeated_names()
        counted = {id(call) for call in calls}
        left_out = {id(call) for call in self.calls} - counted
        for at_index in self._calls_by_index.all:
            by_ids = len(at_index.calls) > 1 and (
                at_index is not self._calls_by_index.without_index or self._some_without_index
            )
            if by_ids and any(begins_midway(call.fragments) for call in at_index.calls):
                # Ids told these calls apart, and one of them begins with a fragment that belongs to another.
                at_index.distrust()
            at_index.judge(complete=complete, left_out=left_out)
        for call in calls:
            if call.renamed and call.unnamed:
                # A name arrived where arguments may begin, and not with every fragment: it may be another call.
                call.refuse(MIXED)
            if call.earlier is not None and call.begun and _contradict(call.earlier, call):
                call.refusal_reason = call.earlier.refusal_reason = MIXED
        strays = [call for call in calls if not call.names and call.begun]
        if strays and len(strays) < len(calls) and not _joined(calls, strays):
            refuse(calls)
        if len(self._tools):
            # They have no id either: the beginning of the call was lost, and its name with it.
            refuse(stray for stray in strays if stray.fragments and not stray.id)
        return calls

    def _without_repeated_names(self) -> list[AssembledCall]:
        """The calls without those that only repeat the name of another."""
        named: set[tuple[Index, str]] = {(call.index, call.name) for call in self.calls if call.begun}
        calls: list[AssembledCall] = []
        for call in self.calls:
            if not (call.begun or call.again or call.restated):
                # Servers whose ids change repeat a name, and send it first when a call begins.
                if (call.index, call.name) in named:
                    continue
                named.add((call.index, call.name))
            if not call.empty:
                calls.append(call)
        return calls

    def _whole(self, fragment: Fragment) -> AssembledCall:
        """Take a call that arrives in one piece, or more of a call that the upstream marked as unfinished."""
        call = self.calls[-1] if self.calls else None
        if call is None or not call.goes_on_with(fragment):
            call = self._new_call()
            call.key, call.index = fragment.id, fragment.index
        call.take(fragment)
        return call

    def _note_index(self, fragment: Fragment) -> None:
        """Note fragments without an index: they may belong to any call that cannot be attributed with certainty."""
        if fragment.index is None:
            self._some_without_index = True
        else:
            self._doubtful = self._doubtful or self._calls_by_index.at(fragment.index).all_or_none
        if self._some_without_index and self._doubtful:
            self._calls_by_index.without_index.require_all_or_none()

    # Which call

    def _by_index(self, fragment: Fragment) -> AssembledCall:
        """The call of a fragment without an id: the last that began at its index, or a new one."""
        at_index = self._calls_by_index.at(fragment.index)
        here = at_index.calls[-1] if at_index.calls else None
        begins = not fragment.arguments.strip() or may_begin(fragment.arguments)
        if here is None:
            awaiting = self._awaiting(fragment)
            if awaiting is None:
                return self._begin(fragment, sure=begins)
            at_index.begin(awaiting)
            return self._continue(awaiting, fragment)
        if not fragment.name:
            if fragment.index in self._renamed and fragment.arguments:
                at_index.require_all_or_none()
            anew = here.begun and may_begin(fragment.arguments)
            if anew and self._waits(fragment.index) and not _awaits_a_value(here):
                # These are the arguments of the waiting call, or the middle of a string in this one.
                at_index.distrust()
            return self._continue(here, fragment)
        if fragment.name == here.name and not begins:
            return self._continue(here, fragment)
        if here.id and not here.names and not fragment.arguments.strip():
            # The name arrives after all of the arguments. It may be that of another call, so it has to fit them.
            at_index.require_all_or_none()
            return self._continue(here, fragment)
        closed = here.is_complete(another=begins)
        if closed or self._named_otherwise(here, fragment) or (here.unnamed and begins):
            # If `here` is incomplete and has an id, later fragments with that id may belong to the new call.
            separate = (closed or not here.id) and not self._may_be_its_name(here, fragment)
            return self._begin(fragment, here, sure=begins and separate and not self._left_open(fragment, here))
        # The name is repeated where arguments may begin: the server names every fragment, or another call begins.
        if fragment.name == here.name:
            self._renamed.add(fragment.index)
        return self._continue(here, fragment)

    def _waits(self, index: Index) -> bool:
        """Whether a call at this index has no arguments yet."""
        waiting = self._waiting.get(index, [])
        while waiting and waiting[-1].begun:
            waiting.pop()
        return bool(waiting)

    def _left_open(self, fragment: Fragment, here: AssembledCall) -> bool:
        """Whether an earlier call of this name is incomplete, so that the fragment may continue that one."""
        other = self._named.get((fragment.index, fragment.name))
        return other is not None and other is not here and not other.is_complete()

    def _awaiting(self, fragment: Fragment) -> AssembledCall | None:
        """The last call, if it has no index and no arguments, and this fragment may be its first with both."""
        calls = self._calls_by_index.without_index.calls
        last = calls[-1] if calls else None
        if last is None or last.index is not None or last.begun or fragment.name not in ("", last.name):
            return None
        return last

    def _continue(self, call: AssembledCall, fragment: Fragment, *, sure: bool = False) -> AssembledCall:
        """Note that a fragment is added to a call. `sure`: it has an id that only this call has."""
        if fragment.arguments:
            if not call.refusal_reason:
                self._refuse_if_stray(call, fragment.arguments)
            has_index = fragment.index is not None
            self._calls_by_index.note_fragment(fragment.index, call, sure=sure, has_index=has_index)
        return call

    def _by_known_id(self, fragment: Fragment) -> AssembledCall:
        """The call of a fragment whose id is known."""
        at_index = self._calls_by_index.at(fragment.index)
        known = self._by_id[fragment.key]
        if fragment.index is not None:
            known_here = self._by_index_and_id.get((fragment.index, fragment.key))
            if known_here is None and at_index.calls and known is not at_index.calls[-1]:
                # The index names one call, the id another.
                at_index.calls.append(known)
                at_index.distrust()
                return known
            if known_here is None:
                return self._by_id_at_new_index(fragment, known)
            known = known_here
        if known.id_returns(fragment.key):
            at_index.distrust()
            return known
        if fragment.name and known.names:
            begins = may_begin(fragment.arguments)
            if known.is_complete() and (begins or not fragment.arguments.strip()):
                call = self._begin(fragment, known)
                call.earlier = known
                return call
            if self._named_otherwise(known, fragment) or (known.unnamed and begins):
                # Two calls arrive at the same time, and nothing tells them apart.
                return self._begin(fragment, sure=False)
            if begins and known.begun and len(at_index.calls) > 1 and not _awaits_a_value(known):
                # Either the call continues, or another call with this id begins in the middle of it.
                at_index.distrust()
        return self._continue(known, fragment, sure=fragment.key not in self._shared_ids)

    def _by_id_at_new_index(self, fragment: Fragment, known: AssembledCall) -> AssembledCall:
        """The call of a fragment with a known id at an index without calls: that call continues or begins again."""
        blank = not fragment.arguments.strip()
        closed = known.is_complete()
        named = bool(fragment.name and known.names)
        goes_on = not closed and (not named or not (blank or may_begin(fragment.arguments)))
        if goes_on or (closed and not named and blank):
            here = self._calls_by_index.at(fragment.index)
            here.begin(known)
            if not blank:
                # By its index this is another call.
                here.require_all_or_none()
            return self._continue(known, fragment, sure=fragment.key not in self._shared_ids)
        return self._begin(fragment, known)

    def _by_new_id(self, fragment: Fragment) -> AssembledCall:
        """The call of a fragment whose id is new: another call, or one whose ids change."""
        at_index = self._calls_by_index.at(fragment.index)
        here = at_index.calls[-1] if at_index.calls else None
        if here is None:
            return self._begin(fragment)
        if not fragment.name and not fragment.arguments:
            return here
        begins = not fragment.arguments.strip() or may_begin(fragment.arguments)
        same_name = not fragment.name or fragment.name == here.name
        unstable = same_name and self._unstable and not (fragment.name and begins and here.unnamed)
        if here.is_complete(another=bool(fragment.name) and begins):
            if fragment.name == here.name and not begins:
                return self._continue(here, fragment)
            return self._begin(fragment, here, sure=bool(fragment.name) and begins)
        if not here.id:
            if not self._named_otherwise(here, fragment):
                return self._continue(here, fragment)
            return self._begin(fragment, sure=begins)
        if not fragment.name:
            # The server's ids change with every delta, unless another object begins where none is allowed.
            anew = begins and here.begun and not _awaits_a_value(here)
            if anew and not unstable:
                return self._begin(fragment, sure=False)
        elif not unstable and not (same_name and not begins and here.begun):
            return self._begin(fragment, sure=begins)
        self._unstable = True
        at_index.require_all_or_none()
        return self._continue(here, fragment)

    # Calls at one index

    def _new_call(self) -> AssembledCall:
        if len(self.calls) >= MOST_CALLS:
            raise LimitReached
        call = AssembledCall(work=self._work, tools=self._tools, answer_id=self.answer_id)
        self.calls.append(call)
        self._incomplete.append(call)
        return call

    def _begin(self, fragment: Fragment, earlier: AssembledCall | None = None, *, sure: bool = True) -> AssembledCall:
        """A new call. `earlier`: the call that it may repeat. Not `sure`: it may be part of another call."""
        call = self._new_call()
        call.key = fragment.id or f"\0{fragment.index}"
        if fragment.key in self._by_id:
            self._shared_ids.add(fragment.key)
        if earlier is not None and (not fragment.id or not earlier.id or fragment.key in earlier.ids):
            call.key = earlier.key
            call.again = not fragment.name or fragment.name == earlier.name
        call.index = fragment.index
        self._named[fragment.index, fragment.name] = call
        for index in {fragment.index, None}:
            self._waiting.setdefault(index, []).append(call)
        if fragment.index is not None:
            self._calls_by_index.at(fragment.index).begin(call, sure=sure)
            self._doubtful = self._doubtful or not sure
        self._calls_by_index.without_index.begin(call, sure=sure or fragment.index is not None)
        return call

    def _goes_on_with(self, call: AssembledCall, name: str) -> bool:
        """Whether this is the rest of the call's name, or the name so far with more behind it."""
        return self._tools.get("".join([*call.names, name])) is not None or name.startswith(call.name)

    def _may_be_its_name(self, call: AssembledCall, fragment: Fragment) -> bool:
        """Whether the fragment is only a name, which may continue the name of this call."""
        alone = not fragment.arguments.strip() and fragment.name != call.name
        return alone and bool(call.names) and self._goes_on_with(call, fragment.name)

    def _named_otherwise(self, call: AssembledCall, fragment: Fragment) -> bool:
        """Whether the fragment's name is that of another call, not the next piece of this name or its repetition."""
        name = fragment.name
        if not name or not call.names:
            return False
        if name == call.name:
            return False
        if self._goes_on_with(call, name):
            return False
        if call.begun:
            return True
        if len(self._tools):
            return self._tools.get(name) is not None and self._tools.get(call.name) is not None
        return fragment.index is None


def _awaits_a_value(call: AssembledCall) -> bool:
    """Whether another value may follow the arguments so far."""
    call.looks_complete()
    before = next((text for fragment in reversed(call.fragments) if (text := fragment.rstrip())), "")
    return not call.brackets.in_string and before.endswith((":", ",", "["))


def _contradict(earlier: AssembledCall, later: AssembledCall) -> bool:
    """Whether these are two different objects in one call's arguments. In one fragment each, they are two calls."""
    if earlier.parts < 2 and later.parts < 2:
        return False
    return meaning_of(earlier.decide_arguments()[0]) != meaning_of(later.decide_arguments()[0])


def _joined(calls: list[AssembledCall], strays: list[AssembledCall]) -> bool:
    """Join the only nameless run of arguments to the only incomplete call, right before it; False if impossible."""
    stray = strays[0]
    left = [call for call in calls if call is not stray and not call.is_strict()]
    if len(strays) > 1 or len(left) != 1 or stray.id or stray.refusal_reason or left[0].refusal_reason:
        return False
    behind = any(one is left[0] and other is stray for one, other in itertools.pairwise(calls))
    if not behind or payload.object_in("".join([*left[0].fragments, *stray.fragments])) is None:
        return False
    left[0].fragments += stray.fragments
    stray.fragments = []
    return True
