"""Whether the calls that began at one index can be trusted: one rule for all protocols.

A client gathers fragments by their index. All fragments without a usable index count as fragments at one index.

| calls begun there | fragments since the second call began     | which calls run                                 |
| ----------------- | ----------------------------------------- | ----------------------------------------------- |
| one               | any                                       | the call, mended if it is broken                |
| several           | each carries an id that only its call has | each by itself, mended if it is broken          |
| several           | one or more do not                        | all of them or none: all if each is one strict  |
|                   |                                           | JSON object that its tool can take, nothing was |
|                   |                                           | added to any but the last one begun, and the    |
|                   |                                           | answer was not cut off                          |
| any               | an id changes while a call is going on    | the same: all or none                           |
| any               | an id and an index contradict each other, | none                                            |
|                   | or an id returns after another one        |                                                 |

A fragment without such an id may be the end of an earlier call, even of one that looks complete: a second object, or
words that revoke the call. If all calls are valid as they arrived, one after the other, there is only one reading.
Words that got into a key of another call leave valid JSON, but with an undeclared key, or without a required one.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from .assembled_call import AssembledCall
from .parts import Index
from .refusal_reasons import MIXED


def refuse(calls: Iterable[AssembledCall]) -> None:
    """Refuse all these calls: a fragment may belong to any of them."""
    for call in calls:
        call.refuse(MIXED)


class CallsAtIndex:
    """The calls that began at one index, in order."""

    __slots__ = ("_contradictory", "all_or_none", "calls", "unended")

    def __init__(self) -> None:
        self.calls: list[AssembledCall] = []
        self.unended = 0
        """How many calls have not ended yet: all, in protocols without an event for the end of a call."""
        self.all_or_none = False
        """A fragment could be attributed only by its order, so either all calls here run or none does."""
        self._contradictory = False

    def begin(self, call: AssembledCall, *, sure: bool = True) -> None:
        """Add a call that begins here. Not `sure`: its beginning may be part of the call before it."""
        all_or_none = bool(self.calls) and not sure
        self.calls.append(call)
        self.unended += 1
        if all_or_none:
            self.require_all_or_none()
        call.all_or_none = call.all_or_none or self.all_or_none

    def note_fragment(self, call: AssembledCall, *, sure: bool) -> None:
        """Note that a fragment is added to a call. `sure`: the fragment itself says to which one."""
        if not sure and len(self.calls) > 1:
            self.require_all_or_none()
        elif self.all_or_none and call is not self.calls[-1]:
            self._contradictory = True

    def require_all_or_none(self) -> None:
        """From now on, either all calls here run or none does."""
        if not self.all_or_none:
            self.all_or_none = True
            for call in self.calls:
                call.all_or_none = True

    def distrust(self) -> None:
        """Trust none of the calls here: `judge` will refuse them all."""
        self.require_all_or_none()
        self._contradictory = True

    def judge(self, *, complete: bool, left_out: Container[int] = ()) -> None:
        """Refuse the calls that cannot be trusted. `left_out`: the `id()` of each that turned out to be no call."""
        if not self.all_or_none:
            return
        calls = [call for call in self.calls if id(call) not in left_out]
        if self._contradictory or not complete or not all(call.is_strict() for call in calls):
            refuse(calls)


class CallsByIndex:
    """The calls of one answer by index. If calls end with events of their own, an index begins anew as soon as every
    call that began there has ended."""

    __slots__ = ("_begun_with", "all", "indexed", "without_index")

    def __init__(self) -> None:
        self.without_index: CallsAtIndex = CallsAtIndex()
        """The calls that fragments without an index may belong to: all of them."""
        self.indexed: dict[Index, CallsAtIndex] = {}
        self.all = [self.without_index]
        self._begun_with: dict[int, CallsAtIndex] = {}
        """`id()` of a call → the calls that began at its index."""

    def at(self, index: Index) -> CallsAtIndex:
        """The calls at an index, created if it is new."""
        here = self.indexed.get(index)
        if here is None:
            here = self.indexed[index] = CallsAtIndex()
            self.all.append(here)
        return here

    def begin(self, index: Index, call: AssembledCall) -> None:
        """Add a call that begins with an event of its own. If another at the index has not ended, only the order of
        fragments tells the two apart."""
        if index in self.indexed and not self.indexed[index].unended:
            del self.indexed[index]
        if not self.without_index.unended:
            self.without_index = CallsAtIndex()
            self.all.append(self.without_index)
        here = self._begun_with[id(call)] = self.at(index)
        here.begin(call, sure=False)
        self.without_index.begin(call)

    def continue_at(self, index: Index, call: AssembledCall) -> None:
        """Note that the fragments of a call have this index, although the call began at another one."""
        self.indexed[index] = self._begun_with[id(call)]

    def note_fragment(self, index: Index, call: AssembledCall, *, sure: bool, has_index: bool) -> None:
        """Note that a fragment at this index is added to a call.

        `sure`: it has an id that only this call has. `has_index`: it has an index itself.
        """
        here = self.indexed.get(index)
        if here is not None:
            here.note_fragment(call, sure=sure)
        self.without_index.note_fragment(call, sure=sure or has_index)

    def end(self, index: Index) -> None:
        """Note the end of a block."""
        for calls in (self.indexed.get(index), self.without_index):
            if calls is not None and calls.unended:
                calls.unended -= 1
