"""One call while it is put together: the fragments that belong to it, and what they say all together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from . import payload
from .fragments import full_arguments, full_name, is_empty, mixed, with_pairs
from .mend.arguments import mend_arguments
from .mend.finish import Finish
from .mend.lexer import Lexer
from .mend.mender import ReceivedCall
from .parts import Fragment, Json
from .payload import meaning_of
from .reasons import CUT_INSIDE, CUT_OFF, EVENTS_CONTRADICTORY, MAY_CHANGE_WITH_MORE, MIXED
from .tools.declared import Tools

_START: Final = "the start event"
_CARRIERS: Final = ("done", "the item", "the response")
"""The events that repeat a call as a whole, the most reliable first."""


@dataclass(slots=True, eq=False)
class Call(ReceivedCall):
    """One call, put together from its fragments. One that was written as text has none."""

    fragments: list[Fragment] = field(default_factory=list)
    id: str = ""
    body: Json = field(default_factory=dict)
    """Whatever else the upstream sent about it."""
    names: list[str] = field(default_factory=list)
    last_name: str = ""
    pieces: list[str] = field(default_factory=list)
    """The pieces of its arguments, in order."""
    begun: bool = False
    """Arguments other than white space have arrived."""
    ids: set[str] = field(default_factory=set)
    keys: dict[str, None] = field(default_factory=dict)
    """The different keys of its fragments, in the order in which each was used last."""
    slots: set[Any] = field(default_factory=set)
    named_late: bool = False
    """Its name came after arguments."""
    block: bool = False
    """It has an event for its beginning."""
    ended: bool = False
    restated: bool = False
    """An event that repeats the answer has named it."""
    followed: bool = False
    """Another call, or something else, began behind it: nothing of it was cut off."""
    _meaning: tuple[bool, bytes] | None = None
    _lexer: Lexer = field(default_factory=Lexer)
    _followed: int = 0
    """How many pieces the lexer has followed."""
    _complete: bool | None = None

    def add(self, fragment: Fragment) -> None:
        self.fragments.append(fragment)
        if fragment.id:
            self.id = self.id or fragment.id
            self.ids.add(fragment.id)
        if fragment.key:
            self.keys.pop(fragment.key, None)
            self.keys[fragment.key] = None
        self.namespace = fragment.namespace or self.namespace
        self.slots.add(fragment.slot)
        self.named_late = self.named_late or (bool(fragment.name) and not self.names and self.begun)
        if fragment.name:
            self.names.append(fragment.name)
            self.last_name = fragment.name
        if fragment.arguments:
            self.pieces.append(fragment.arguments)
            self.begun = self.begun or not fragment.arguments.isspace()
        self.body = {**self.body, **fragment.body} if fragment.body else self.body
        self.block = self.block or fragment.begins
        self.ended = self.ended or fragment.ends
        self.restated = self.restated or fragment.again
        self.followed = self.followed or fragment.followed
        self.refusal = self.refusal or fragment.refusal
        self.steps += fragment.steps

    def refuse(self, reason: str) -> None:
        """Refuse the call, unless `reason` is empty. The first reason counts."""
        self.refusal = self.refusal or reason

    @property
    def last_key(self) -> str:
        return next(reversed(self.keys), "")

    @property
    def odd(self) -> bool:
        """Whether its fragments differ in a way in which only those of several calls should: it has several ids, its
        name came behind arguments, or with some of the fragments only."""
        return len(self.keys) > 1 or self.named_late or 1 < len(self.names) < len(self.fragments)

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
        """Whether the arguments so far look like a complete value: an object, or a string with one inside."""
        if self._followed < len(self.pieces):
            self._lexer.follow("".join(self.pieces[self._followed :]))
            self._followed = len(self.pieces)
        first = next(filter(str.strip, self.pieces), "").lstrip()
        return self._lexer.closed or (first.startswith('"') and not self._lexer.inside)

    def is_complete(self) -> bool:
        """Whether the arguments can be read as they are, so that nothing more belongs to them. They are read once."""
        if self._complete is None and self.looks_complete():
            mended = mend_arguments(full_arguments(self.pieces)[0], Finish.CUT)
            self._complete = mended.value is not None and MAY_CHANGE_WITH_MORE.isdisjoint(mended.steps)
        return bool(self._complete)


def settle(call: Call, tools: Tools, finish: Finish) -> None:
    """The id, the name, the arguments and the finish of a call; a refusal, if its fragments are not of one call."""
    items = [one for one in call.fragments if one.item]
    if items:  # The last events have the true id.
        told = sorted((one for one in call.fragments if one.id), key=lambda one: (not one.ends, not one.again))
        call.id = told[0].id if told else items[0].item
    call.name = full_name(call.names, tools)
    text, steps = full_arguments(call.pieces)
    call.arguments, chosen = text, tuple[str, ...]()
    if any(one.given is not None for one in call.fragments):
        call.arguments, chosen = _agreed(call, text, finish)
    if call.arguments == text:
        if not steps and len(call.pieces) > 1 and payload.object_in(text) is None and mixed(call.pieces):
            # It may just as well have been cut off, as the model then knows.
            reason = mend_arguments(text, Finish.CUT).reason
            call.refuse(reason if reason.startswith(CUT_OFF) else MIXED)
        call.steps += steps
    call.steps += chosen
    call.finish = finish
    if any(one.cut for one in call.fragments):
        call.finish = Finish.CUT
    elif call.followed and call.arguments.strip():
        # The server has sent all of it, but the model may have left out a bracket.
        call.finish = Finish.UNKNOWN
    elif call.block and not (call.ended or call.stated) and (call.pieces or items) and finish is Finish.COMPLETE:
        call.finish = Finish.UNKNOWN  # The reason came in the middle of the call: more may follow.
    elif (call.block or call.fragments[0].again) and call.ended and call.followed:
        call.finish = Finish.COMPLETE  # Anthropic sends a call without arguments as a block without fragments.
    if not call.arguments and call.finish is Finish.COMPLETE and any(one.given == {} for one in call.fragments):
        call.arguments = "{}"  # The event that began it says that it has no arguments.


def _agreed(call: Call, text: str, finish: Finish) -> tuple[str, tuple[str, ...]]:
    """One text for the arguments, and what had to be done to choose it. The pieces count, unless they are no object
    and an event that repeats the call has one; the event that began it counts if nothing behind it says anything."""
    told = [
        (
            _START if one.begins else _CARRIERS[2 if one.again else 1 if one.ends else 0],
            "" if one.given == {} else payload.text_of(one.given),
        )
        for one in call.fragments
        if one.given is not None
    ]
    joined, last = with_pairs(text), dict(told)
    values = {said: payload.object_in(said) for said in (joined, *(said for _, said in told))}
    if payload.contradict(values.values()):
        call.refuse(EVENTS_CONTRADICTORY)
    start, texts = last.get(_START, ""), [("", joined)] if text else []
    texts += [(kind, last[kind]) for kind in _CARRIERS if last.get(kind)]
    if start and all(is_empty(said) for _, said in texts) and not (texts and is_empty(start)):
        if not call.ended and finish is not Finish.COMPLETE:
            call.refuse(CUT_INSIDE)  # Fragments with other arguments may have been cut off.
        return start, (f"input from {_START}",)
    if all(last.get(kind, text) in (text, joined) for kind in _CARRIERS):
        return text, ()
    # Some servers send an empty object before, or instead of, the real one.
    objects = [(kind, said) for kind, said in texts if values[said] is not None]
    full = [(kind, said) for kind, said in objects if values[said]]
    kind, chosen = (full or objects or [max(texts, key=lambda one: len(one[1]))])[0]
    if not kind:
        return text, ("carriers made to agree",)
    return chosen, (f"arguments taken from {kind}" if text else f"arguments only in {kind}",)
