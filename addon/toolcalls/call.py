"""One call while it is put together: the fragments that belong to it, and what they say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from . import payload
from .fragments import full_arguments
from .mend.arguments import mend_arguments
from .mend.finish import Finish
from .mend.lexer import Lexer
from .parts import Fragment, Json
from .payload import meaning_of
from .reasons import MAY_CHANGE_WITH_MORE


@dataclass(slots=True, eq=False)
class Call:
    """One call, put together from its fragments. One that was written as text has none."""

    fragments: list[Fragment] = field(default_factory=list)
    id: str = ""
    name: str = ""
    arguments: str = ""
    finish: Finish = Finish.COMPLETE
    """How the answer ended for this call."""
    sent: str | None = None
    """The arguments that the client has already, if the call was sent while it arrived."""
    body: Json = field(default_factory=dict)
    """Whatever else the upstream sent about it."""
    namespace: str = ""
    steps: tuple[str, ...] = ()
    refusal: str = ""
    """Why it must not run, whatever its arguments are."""
    names: list[str] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    """The pieces of its arguments, in order."""
    keys: dict[str, None] = field(default_factory=dict)
    """The different keys of its fragments, in the order in which each was used last."""
    slots: set[Any] = field(default_factory=set)
    named_late: bool = False
    """Its name came after arguments."""
    block: bool = False
    """It has an event for its beginning."""
    overlaps: bool = False
    """Another call was open while it was."""
    ended: bool = False
    followed: bool = False
    """Another call, or something else, began behind it: nothing of it was cut off."""
    _meaning: tuple[bool, bytes] | None = None
    _lexer: Lexer = field(default_factory=Lexer)
    _followed_pieces: int = 0
    _closed: bool = False
    _read_when: set[bool] = field(default_factory=set)

    def add(self, fragment: Fragment) -> None:
        self.fragments.append(fragment)
        self.id = self.id or fragment.id
        if fragment.key:
            self.keys.pop(fragment.key, None)
            self.keys[fragment.key] = None
        self.namespace = fragment.namespace or self.namespace
        self.slots.add(fragment.slot)
        self.named_late = self.named_late or (bool(fragment.name) and not self.names and self.begun)
        self.names += [fragment.name] if fragment.name else []
        self.pieces += [fragment.arguments] if fragment.arguments else []
        self.body = {**self.body, **fragment.body} if fragment.body else self.body
        self.block = self.block or fragment.begins
        self.ended = self.ended or fragment.ends
        self.followed = self.followed or fragment.followed
        self.refuse(fragment.refusal)
        self.steps += fragment.steps

    def refuse(self, reason: str) -> None:
        """Refuse the call, unless `reason` is empty. The first reason counts."""
        self.refusal = self.refusal or reason

    @property
    def first(self) -> Fragment:
        """Its first fragment; an empty one, if it was written as text."""
        return self.fragments[0] if self.fragments else Fragment()

    @property
    def last_key(self) -> str:
        return next(reversed(self.keys), "")

    @property
    def last_name(self) -> str:
        return self.names[-1] if self.names else ""

    @property
    def begun(self) -> bool:
        """Whether arguments other than white space have arrived."""
        return any(map(str.strip, self.pieces))

    @property
    def last_words(self) -> int:
        """The number of the last fragment with arguments; -1 if there is none."""
        return next((one.number for one in reversed(self.fragments) if one.arguments), -1)

    @property
    def empty(self) -> bool:
        """Whether it has neither a name nor arguments, and so is no call."""
        return not (self.names or self.pieces or any(one.given for one in self.fragments))

    @property
    def ids(self) -> set[str]:
        """The ids that its events give it."""
        return {one.id for one in self.fragments if one.id}

    @property
    def home(self) -> Any:
        """The slot in which it begins or ends."""
        return next((one for one in self.fragments if one.begins or one.ends), self.first).slot

    @property
    def says(self) -> str:
        """Its arguments so far, or else those that an event has as a whole."""
        return "".join(self.pieces) or next((payload.text_of(one.given) for one in self.fragments if one.given), "")

    @property
    def stated(self) -> bool:
        """Whether an event has said its arguments as a whole, behind its beginning."""
        return any(one.given is not None and not one.begins for one in self.fragments)

    @property
    def meaning(self) -> tuple[bool, bytes]:
        """Whether the arguments can be read without closing them, and a hash, equal for all that mean the same."""
        if self._meaning is None:
            self._meaning = meaning_of(self.arguments)
        return self._meaning

    def looks_complete(self) -> bool:
        """Whether the arguments so far look like a complete value."""
        if self._followed_pieces < len(self.pieces):
            self._lexer.follow("".join(self.pieces[self._followed_pieces :]))
            self._followed_pieces = len(self.pieces)
        return self._lexer.closed

    def is_complete(self, *, another: bool = False) -> bool:
        """Whether the arguments can be read as they are, so that nothing more belongs to them.

        They are read once when they look complete, and once when another call may begin (`another`).
        """
        if not self._closed and self.begun and (another or self.looks_complete()) and another not in self._read_when:
            self._read_when.add(another)
            mended = mend_arguments(full_arguments(self.pieces)[0], Finish.CUT)
            self._closed = mended.value is not None and MAY_CHANGE_WITH_MORE.isdisjoint(mended.steps)
        return self._closed

    def awaits_a_value(self) -> bool:
        """Whether another value may follow the arguments so far."""
        self.looks_complete()
        before = next((text for piece in reversed(self.pieces) if (text := piece.rstrip())), "")
        return not self._lexer.inside and before.endswith((":", ",", "["))
