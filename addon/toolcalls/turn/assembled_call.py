"""One call while its fragments come: what they are, and whether its arguments are closed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from ..calls import PartialCall
from ..mend.arguments import Finish, mend_arguments
from ..work import Work
from . import payload
from .fragments import MIXED, full_arguments, mixed
from .resent import ComparedCall

_NO_STRUCTURE = re.compile(r'"[^"\\]*+(?>\\.[^"\\]*+)*+"|\\.(?>[^"\\{}\[\]]*+\\.)*+', re.DOTALL)
"""A string, or escapes outside of strings. Of one that is open at the end the quote and what follows are left."""
_INSIDE = re.compile(r'[^"\\]*+(?>\\.[^"\\]*+)*+', re.DOTALL)

_GUESSED = frozenset(
    {
        "missing closing bracket",
        "missing braces",
        "closed a cut-off call",
        "text around the object",
        "quotes inside a string",
        "unquoted values",
        "extra closing bracket",
    }
)
"""Readings that another fragment may still change."""

_BEGUN_MARK = re.compile(r"(?:(?<!`)`{1,2}|<[^<>]{0,60}|\[[^\[\]]{0,40})\s*\Z")
"""The beginning of a fence or of a token."""

Place = int | tuple[int, int] | None
"""An index; with the number of a choice that nobody asked for, where calls came in one; None where there is none."""


def index_of(value: object) -> int | None:
    """A number that counts something. A bool is none, although Python takes it for 0 or 1."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


@dataclass(slots=True)
class Fragment:
    """What one delta says about one call. Not frozen: that doubles what making one costs."""

    place: Place
    id: str
    name: str
    arguments: str
    extra: dict[str, Any] = field(default_factory=dict)
    whole: bool = False
    """It tells a whole call, in a message that repeats the answer: to be compared, never appended."""
    steps: tuple[str, ...] = ()
    """What had to be done to read it: then its event cannot go out as it came."""
    unfinished: bool = False
    """The upstream said that more of this call follows."""
    doubt: str = ""
    """Why the call must not run, whatever else comes."""
    placed: bool = True
    """False where `place` is only that of the block that began last."""

    @property
    def key(self) -> str:
        """The id as it is compared: one that differs in case only is no other one."""
        return self.id.casefold()

    @property
    def empty(self) -> bool:
        return not (self.id or self.name or self.arguments or self.extra)


@dataclass(slots=True)
class Slot(PartialCall):
    """A call with its own look at whether its arguments are whole, advanced only over new fragments."""

    place: Place = None
    key: str = ""
    """What a call that was sent again has in common with the first: the id, else the place."""
    again: bool = False
    """It may be an earlier one, sent again."""
    earlier: Slot | None = None
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
    depth: int = 0
    in_string: bool = False
    escaped: bool = False
    opened: bool = False
    closed: bool = False
    asked_at_sight: bool = False
    asked_at_another: bool = False
    blank: int = 0
    """So many fragments at the beginning are known to be nothing but white space."""
    work: Work = field(default_factory=Work)
    """What reading it may take."""

    @classmethod
    def of(cls, fragment: Fragment) -> Slot:
        """A call that came in one piece."""
        slot = cls(key=fragment.id, place=fragment.place)
        slot.take(fragment)
        return slot

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
        # What follows a call says that it was sent whole, not that its server had the end of its arguments.
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
            self._follow(text)
            self.looked = len(self.fragments)
        return self.opened and self.depth <= 0 and not self.in_string

    def _follow(self, text: str) -> None:
        """Follow strings and brackets through the next stretch of the arguments."""
        if not text:
            return
        at = 1 if self.escaped else 0
        self.escaped = False
        if self.in_string:
            at = self._leave(text, at)
        bare = _NO_STRUCTURE.sub("", text[at:])
        self.escaped = self.escaped or bare.endswith("\\")
        bare, quote, _ = bare.partition('"')
        self.in_string = self.in_string or bool(quote)
        opened = bare.count("{") + bare.count("[")
        self.opened = self.opened or opened > 0
        self.depth += opened - bare.count("}") - bare.count("]")

    def _leave(self, text: str, at: int) -> int:
        """Where the string ends that is open here."""
        inside = _INSIDE.match(text, at)
        at = inside.end() if inside else at
        self.in_string = not text.startswith('"', at)
        self.escaped = self.in_string and at < len(text)
        return len(text) if self.in_string else at + 1

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
            mended = mend_arguments(text, Finish.CUT)
            self.closed = mended.value is not None and _GUESSED.isdisjoint(mended.steps) and not _goes_on(text)
        return self.closed


def _goes_on(text: str) -> bool:
    """Is a fence open around the object, or a token begun behind it?"""
    behind = text[text.rfind("}") + 1 :]
    return (text.lstrip().startswith("```") and "```" not in behind) or _BEGUN_MARK.search(behind) is not None
