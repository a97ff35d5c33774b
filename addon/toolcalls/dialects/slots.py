"""Which call does a fragment belong to? Servers disagree about index and id, so neither is trusted alone.

A fragment continues a call when its id or its index says so and nothing contradicts it; it opens a new
one when it brings a new id or a name although the call at its place is whole already. (qwen-code has the
same logic; the classes are `chat.index_*`, `chat.id_*` and `name.*` of our catalogue.)
"""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import dataclass, field
from typing import Any

from ..calls import Gathering
from ..tools import Tools
from ..wire.events import MOST_CALLS, LimitReached

_STRUCTURE = re.compile(r'["{}\[\]]|\\.', re.DOTALL)


@dataclass(slots=True)
class Fragment:
    """What one delta says about one call. Not frozen: that doubles what making one costs."""

    index: int | None
    id: str
    name: str
    arguments: str
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        return not (self.id or self.name or self.arguments or self.extra)


@dataclass(slots=True)
class Slot(Gathering):
    """A call with its own look at whether its arguments are whole, advanced only over new fragments."""

    found: bool = False
    """The call was written as text and is whole, however the answer ended."""
    looked: int = 0
    depth: int = 0
    in_string: bool = False
    opened: bool = False

    def whole(self) -> bool:
        """Do the arguments so far form a closed value?"""
        for fragment in self.fragments[self.looked :]:
            for match in _STRUCTURE.finditer(fragment):
                token = match[0]
                if token == '"':
                    self.in_string = not self.in_string
                elif not self.in_string and token in "{[":
                    self.depth += 1
                    self.opened = True
                elif not self.in_string and token in "}]":
                    self.depth -= 1
        self.looked = len(self.fragments)
        return self.opened and self.depth <= 0 and not self.in_string


class Slots:
    """The calls of one choice, in order of first appearance."""

    __slots__ = ("_by_id", "_by_index", "_tools", "slots")

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self.slots: list[Slot] = []
        self._by_id: dict[str, Slot] = {}
        self._by_index: dict[int, Slot] = {}

    def add(self, fragment: Fragment) -> Slot | None:
        """Take a fragment; the call that it belongs to, or None when it says nothing."""
        if fragment.empty:
            return None
        slot = self._find(fragment) or self._open()
        if fragment.index is not None:
            self._by_index[fragment.index] = slot
        if fragment.id:
            self._by_id.setdefault(fragment.id, slot)
            slot.id = slot.id or fragment.id
        if fragment.name:
            slot.names.append(fragment.name)
        if fragment.arguments:
            slot.fragments.append(fragment.arguments)
        slot.extra.update(fragment.extra)
        return slot

    def add_found(self, name: str, arguments: str) -> None:
        """A whole call that was written as text."""
        self.slots.append(Slot(names=[name], fragments=[arguments], found=True))

    def take(self) -> list[Slot]:
        """Hand out the calls, phantom slots left out and strays joined to the call they belong to."""
        calls: list[Slot] = []
        for slot in self.slots:
            if slot.empty:
                continue
            if calls and not slot.id and not slot.names and not calls[-1].found and _continues(calls[-1], slot):
                calls[-1].fragments += slot.fragments
            else:
                calls.append(slot)
        self.slots = []
        self._by_id = {}
        self._by_index = {}
        return calls

    def _open(self) -> Slot:
        if len(self.slots) >= MOST_CALLS:
            raise LimitReached
        slot = Slot()
        self.slots.append(slot)
        return slot

    def _find(self, fragment: Fragment) -> Slot | None:
        at_index = self._by_index.get(fragment.index) if fragment.index is not None else None
        known = self._by_id.get(fragment.id) if fragment.id else None
        if known is not None:
            if at_index is not None:
                return at_index if not self._opens(at_index, fragment) else None
            if fragment.index is not None and fragment.name and known.names:
                return None if known.whole() or fragment.name != known.name else known
            return known if not self._opens(known, fragment) else None
        if fragment.id:
            if fragment.index is None:
                return None
            if at_index is None:
                return None
            if not at_index.id:
                return at_index if not self._opens(at_index, fragment) else None
            # Another id at the same place: an unstable id, unless a new call plainly begins.
            return None if at_index.whole() or (fragment.name and fragment.name != at_index.name) else at_index
        if fragment.index is not None:
            if at_index is None:
                return None
            return None if self._opens(at_index, fragment) else at_index
        if not self.slots:
            return None
        last = self.slots[-1]
        return None if self._opens_without_place(last, fragment) else last

    def _opens(self, slot: Slot, fragment: Fragment) -> bool:
        """A name although the call at this place has one and is whole: the next call."""
        return bool(fragment.name and slot.names and slot.whole())

    def _opens_without_place(self, last: Slot, fragment: Fragment) -> bool:
        if not fragment.name or not last.names:
            return False
        if last.whole():
            return True
        if fragment.name == last.name:
            return False
        # A piece of a name, decided against the declared tools, continues it; another name is another call.
        if last.fragments:
            return True
        begun = "".join(last.names)
        return self._tools.get(begun + fragment.name) is None and self._tools.get(begun) is not None


def full_name(names: list[str], tools: Tools) -> str:
    """One name from what the deltas called it: repeated, in pieces, or as growing snapshots.

    What stands in an earlier piece is never left out: `sandbox.` and `Bash` are not `Bash`.
    """
    if not names:
        return ""
    joined = "".join(names)
    snapshots = all(names[-1].startswith(name) for name in names)
    return names[-1] if snapshots and tools.get(joined) is None else joined


def full_arguments(fragments: list[str]) -> tuple[str, tuple[str, ...]]:
    """The arguments from their fragments, which are pieces or, from some servers, growing snapshots."""
    joined = "".join(fragments)
    pairs = itertools.pairwise(fragments)
    if (
        len(fragments) > 1
        and all(later.startswith(earlier) for earlier, later in pairs)
        and _strict(fragments[-1])
        and not _strict(joined)
    ):
        return fragments[-1], ("cumulative snapshots",)
    return joined, ()


def _continues(call: Slot, stray: Slot) -> bool:
    """Do the nameless arguments complete those of the call before, and only so?"""
    joined = "".join([*call.fragments, *stray.fragments])
    return not _strict("".join(call.fragments)) and _strict(joined)


def _strict(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
