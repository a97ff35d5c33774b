"""One call while its fragments come: what they are, and whether its arguments are closed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from ..mend.arguments import Finish, mend_arguments
from ..mend.steps import MAY_CHANGE_WITH_MORE
from ..wire.escaper import IncrementalEscaper
from ..work import Work
from . import payload
from .brackets import Brackets
from .fragments import MIXED, full_arguments, mixed
from .parts import Fragment, Place
from .resent import ComparedCall

_BEGUN_MARK = re.compile(r"(?:(?<!`)`{1,2}|<[^<>]{0,60}|\[[^\[\]]{0,40})\s*\Z")
"""The beginning of a fence or of a token."""


@dataclass(slots=True)
class AssembledCall:
    """The fragments of one call on their way to a complete one. Names are collected, arguments appended."""

    id: str = ""
    names: list[str] = field(default_factory=list)
    fragments: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)
    """Whatever else the upstream said about the call, kept for the client (signatures and the like)."""
    escaped: IncrementalEscaper = field(default_factory=IncrementalEscaper)
    """Long arguments on their way into an event."""
    place: Place = None
    key: str = ""
    """What a call that was sent again has in common with the first: the id, else the place."""
    again: bool = False
    """It may be an earlier one, sent again."""
    earlier: AssembledCall | None = None
    """The call with the same id at the same place, behind whose arguments it began."""
    parts: int = 0
    """In how many fragments its arguments came."""
    unnamed: bool = False
    """It went on without a name: where one comes again, it is that of another call."""
    named_twice: bool = False
    """Its name came again, with or without arguments."""
    renamed: bool = False
    """Its name came again with what may be the beginning of arguments."""
    restated: bool = False
    """A message that repeats the whole answer told it."""
    doubt: str = ""
    """Why its fragments may be those of another call."""
    unsure: bool = False
    """Only the order of fragments tells whose they are: nothing of it goes out before the end."""
    steps: tuple[str, ...] = ()
    """What had to be done to read its fragments."""
    unfinished: bool = False
    """Its last fragment said that more of it follows."""
    followed: bool = False
    """Something else came behind it."""
    joined: tuple[int, str, tuple[str, ...]] = (0, "", ())
    """How many fragments were joined last, to what, and what had to be done for that."""
    settled: int = -1
    """How many fragments there were when it was last asked whether they are those of one call."""
    ids: set[str] = field(default_factory=set)
    """The ids under which its fragments came."""
    last_id: str = ""
    value: dict[str, Any] | None = None
    """What its arguments are, where that was looked at."""
    looked: int = 0
    """How many fragments `brackets` were followed through."""
    brackets: Brackets = field(default_factory=Brackets)
    closed: bool = False
    """Nothing can be added to its arguments."""
    asked_at_sight: bool = False
    """Its arguments were read when they looked closed."""
    asked_at_another: bool = False
    """Its arguments were read when another call may have begun."""
    blank: int = 0
    """So many fragments at the beginning are known to be nothing but white space."""
    work: Work = field(default_factory=Work)
    """What reading it may take."""

    @classmethod
    def of(cls, fragment: Fragment) -> AssembledCall:
        """A call that came in one piece."""
        call = cls(key=fragment.id, place=fragment.place)
        call.take(fragment)
        return call

    def goes_on_with(self, fragment: Fragment) -> bool:
        """Is this more of a call of which the upstream said that more follows?"""
        return self.unfinished and self.place == fragment.place

    def take(self, fragment: Fragment) -> None:
        """All of a call, or what the upstream says next about one of which it said that more follows."""
        self.id = self.id or fragment.id
        self.names += [fragment.name] if fragment.name else []
        self.fragments = [fragment.arguments]
        self.extra.update(fragment.extra)
        self.steps += fragment.steps
        self.unfinished = fragment.unfinished
        self.doubt = self.doubt or fragment.doubt

    @property
    def name(self) -> str:
        return self.names[-1] if self.names else ""

    def add(self, fragment: str) -> None:
        """The next fragment of its arguments."""
        if fragment:
            self.fragments.append(fragment)
            self.escaped.grew(self.fragments, len(fragment))

    def join(self, arguments: str) -> None:
        """The fragments are these arguments."""
        self.escaped.join(self.fragments)
        self.fragments = [arguments]

    def pieces(self, arguments: str) -> list[str]:
        """What is to be written, where the arguments are long and those that came; else nothing."""
        escaped = self.escaped
        if not escaped.pieces or len(self.fragments) != 1 or arguments is not self.fragments[0]:
            return []
        escaped.take(self.fragments)
        # They are written once, and the call is remembered: not with all its bytes twice.
        pieces, escaped.pieces = escaped.pieces, []
        return pieces

    @property
    def empty(self) -> bool:
        """Neither a name nor arguments: it is no call."""
        return not self.names and not any(self.fragments)

    def hear(self, identity: str) -> None:
        """A fragment came under this id."""
        self.ids.add(identity)
        self.last_id = identity

    def comes_back(self, identity: str) -> bool:
        """Did another id take its place since? Ids that change with every fragment do not come back: two calls do."""
        return identity != self.last_id and identity in self.ids

    @property
    def begun(self) -> bool:
        """Has it arguments?"""
        while self.blank < len(self.fragments):
            if self.fragments[self.blank].strip():
                return True
            self.blank += 1
        return False

    def from_fragments(self) -> tuple[str, tuple[str, ...]]:
        """The arguments that the fragments make, joined once, and what had to be done for that."""
        if self.joined[0] != len(self.fragments):
            self.joined = (len(self.fragments), *full_arguments(self.fragments))
        return self.joined[1:]

    def settle(self) -> tuple[str, tuple[str, ...]]:
        """The arguments that the fragments make, once it is known whether those are of one call."""
        if self.settled != len(self.fragments):
            text, steps = self.from_fragments()
            self.look_at(text, steps)
            if self.fragments and not steps:
                self.join(text)
                self.joined = (1, text, ())
            self.settled = len(self.fragments)
        return self.from_fragments()

    def look_at(self, text: str, steps: tuple[str, ...]) -> None:
        """Doubt the call if these arguments are those of two. One fragment, or a snapshot, is of one."""
        if not self.doubt and not steps and len(self.fragments) > 1:
            self.doubt_if_mixed(self.read(text))

    def read(self, text: str) -> Any:
        """What its arguments are, if they are JSON."""
        self.work.read_json(text)
        value, self.value = payload.read_twice(text)
        return value

    def doubt_if_mixed(self, value: Any) -> None:
        """`value`: what the arguments are. What is no object may be the fragments of two calls."""
        if not isinstance(value, dict) and mixed(self.fragments, self.work):
            self.doubt = self.doubt or MIXED

    def final_arguments(self, finish: Finish) -> tuple[str, tuple[str, ...]]:
        """The arguments as the answer tells them, and what had to be done for that. `finish`: how it ended."""
        return self.settle()

    def finish_for(self, finish: Finish) -> Finish:
        """How the answer ended for this call."""
        # That something follows proves that the call was sent whole, not that the model had finished its arguments.
        return Finish.UNKNOWN if self.followed and any(self.fragments) else finish

    def to_compare(self, name: str) -> ComparedCall:
        """What it is compared by with other calls of the answer."""
        text, _ = self.final_arguments(Finish.COMPLETE)
        index = f"\0{self.place}"
        compared = ComparedCall(self.key, name, text, index, certain=not self.doubt, restated=self.restated)
        compared.borrowed = self.again and not self.id
        return compared

    def is_strict(self) -> bool:
        """Are the arguments, as they came, one JSON object?"""
        return payload.object_in("".join(self.fragments)) is not None

    def whole(self) -> bool:
        """Do the arguments so far look like a closed value?"""
        if self.looked < len(self.fragments):
            # Joined, for a stretch of many fragments is looked at in no time, and fragment by fragment it is not.
            text = "".join(self.fragments[self.looked :])
            self.work.follow(text)
            self.brackets.follow(text)
            self.looked = len(self.fragments)
        return self.brackets.closed

    def is_closed(self, *, another: bool = False) -> bool:
        """Can nothing be added to the arguments? `another`: a call may begin, so they are read however they look.

        Reading them is work: each call is read once when it looks closed, and once when another may begin.
        """
        if self.closed or self.doubt:
            return self.closed
        if not self.begun:
            return self.again
        if (not self.asked_at_sight and self.whole()) or (another and not self.asked_at_another):
            self.asked_at_sight = self.asked_at_sight or not another
            self.asked_at_another = self.asked_at_another or another
            text = full_arguments(self.fragments)[0]
            mended = mend_arguments(text, Finish.CUT, work=self.work)
            self.closed = (
                mended.value is not None and MAY_CHANGE_WITH_MORE.isdisjoint(mended.steps) and not _goes_on(text)
            )
        return self.closed


def _goes_on(text: str) -> bool:
    """Is a fence open around the object, or a token begun behind it?"""
    behind = text[text.rfind("}") + 1 :]
    return (text.lstrip().startswith("```") and "```" not in behind) or _BEGUN_MARK.search(behind) is not None
