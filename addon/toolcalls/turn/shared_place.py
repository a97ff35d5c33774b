"""May the calls that came at one place be believed? The one rule for all protocols.

A place is what a client gathers fragments by: an index. All fragments without a usable index share one place.

| calls begun there | fragments since the second one began      | what runs                                       |
| ----------------- | ----------------------------------------- | ----------------------------------------------- |
| one               | any                                       | the call, mended where it is broken             |
| several           | each carries an id that only its call has | each by itself, mended where it is broken       |
| several           | one or more do not                        | all of them or none: all if each is one strict  |
|                   |                                           | JSON object, nothing was added to any but the   |
|                   |                                           | last one begun, and the answer was not cut off  |
| any               | an id changes while a call is going on    | the same: all or none                           |
| any               | an id and an index contradict each other, | none                                            |
|                   | or an id comes back after another one     |                                                 |

A fragment that does not say whose it is may be the end of an earlier call, even of one that looks whole: a second
object, or words that take it back. Where all are valid as they came, one after the other, there is one reading.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Generic, Protocol, TypeVar

from .fragments import MIXED
from .parts import Place


class CallAtPlace(Protocol):
    """What the rule has to know of a call."""

    doubt: str
    unsure: bool

    def is_strict(self) -> bool:
        """Are its arguments, as they came, one JSON object?"""
        ...


C = TypeVar("C", bound=CallAtPlace)


def refuse(calls: Iterable[CallAtPlace]) -> None:
    """Refuse all these calls: a fragment may belong to any of them."""
    for call in calls:
        call.doubt = call.doubt or MIXED


class SharedPlace(Generic[C]):
    """The calls that began at one place, in that order."""

    __slots__ = ("_contradictory", "calls", "unended", "unsure")

    def __init__(self) -> None:
        self.calls: list[C] = []
        self.unended = 0
        """How many of them have not ended yet. Where nothing tells the end of a call, none has."""
        self.unsure = False
        """A fragment came of which only the order tells whose it is: its calls count all or none."""
        self._contradictory = False

    @property
    def last(self) -> C | None:
        return self.calls[-1] if self.calls else None

    def begin(self, call: C, *, sure: bool = True) -> None:
        """A call begins here. Not sure: its beginning may be a part of the call before it."""
        unsure = bool(self.calls) and not sure
        self.calls.append(call)
        self.unended += 1
        if unsure:
            self.make_unsure()
        call.unsure = call.unsure or self.unsure

    def go_on(self, call: C, *, sure: bool) -> None:
        """Something is added to a call; sure if the fragment says by itself to which one."""
        if not sure and len(self.calls) > 1:
            self.make_unsure()
        elif self.unsure and call is not self.calls[-1]:
            self._contradictory = True

    def make_unsure(self) -> None:
        """From now on the calls count all or none."""
        if not self.unsure:
            self.unsure = True
            for call in self.calls:
                call.unsure = True

    def refuse(self) -> None:
        """Nothing that came here can be believed."""
        self.make_unsure()
        self._contradictory = True

    def judge(self, *, complete: bool, left_out: Container[int] = ()) -> None:
        """Refuse the calls that cannot be believed. `left_out`: by `id()`, those that turned out to be none."""
        if not self.unsure:
            return
        calls = [call for call in self.calls if id(call) not in left_out]
        if self._contradictory or not complete or not all(call.is_strict() for call in calls):
            refuse(calls)


class Places(Generic[C]):
    """The places of one answer. Where calls end with events of their own, a place is a new one as soon as each call
    that began there has ended."""

    __slots__ = ("all", "indexed", "without_index")

    def __init__(self) -> None:
        self.without_index: SharedPlace[C] = SharedPlace()
        """All calls together: the place of fragments without an index."""
        self.indexed: dict[Place, SharedPlace[C]] = {}
        self.all = [self.without_index]

    def at(self, index: Place) -> SharedPlace[C]:
        place = self.indexed.get(index)
        if place is None:
            place = self.indexed[index] = SharedPlace()
            self.all.append(place)
        return place

    def begin(self, index: Place, call: C) -> None:
        """A call begins with an event of its own: where another is open there, only the order tells them apart."""
        if index in self.indexed and not self.indexed[index].unended:
            del self.indexed[index]
        if not self.without_index.unended:
            self.without_index = SharedPlace()
            self.all.append(self.without_index)
        self.at(index).begin(call, sure=False)
        self.without_index.begin(call)

    def end(self, index: Place) -> None:
        """A block ends."""
        for place in (self.indexed.get(index), self.without_index):
            if place is not None and place.unended:
                place.unended -= 1
