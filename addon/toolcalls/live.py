"""Calls that go out while they arrive (`toolfix_aggregate=false`).

As long as the arguments are a prefix of strict JSON, they are sent at once. From the first character that breaks it,
the rest is held. At the end the whole is mended: either it continues what was sent, or the call is refused, and
nothing more is sent that could complete it. As soon as only the order tells whose a fragment is, all wait.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .call import Call
from .calls import continues
from .fragments import full_name
from .mend.live import StrictPrefix
from .outcome import Outcome
from .parts import Fragment, Piece
from .payload import object_in
from .reasons import MIXED, RENAMED_LIVE, SENT_WHOLE
from .tail import Tail
from .tools.declared import Tools

_COMMA = re.compile(r",\s*\Z")


@dataclass(slots=True, eq=False)
class LiveCall:
    """A call of which the client has the beginning. `number`: its position among the calls of the answer."""

    call: Call
    number: int
    id: str
    name: str
    holds_commas: bool = True
    begun: bool = False
    kept: list[Fragment] = field(default_factory=list)
    """What the client has nothing of, as it stands in the tail."""
    _sent: list[str] = field(default_factory=list)
    _held: str = ""
    """What was read and not sent: what broke the prefix, or a comma, which is wrong if a bracket follows."""
    _taken: int = 0
    """How many pieces were read."""
    _prefix: StrictPrefix = field(default_factory=StrictPrefix)

    @property
    def complete(self) -> bool:
        """Whether the client has a whole object."""
        return self._prefix.complete

    @property
    def sent(self) -> str:
        return "".join(self._sent)

    def next(self) -> Piece | None:
        """What may go of the pieces that came since."""
        new = "".join(self.call.pieces[self._taken :])
        self._taken = len(self.call.pieces)
        if self._prefix.broken:
            return None
        fits = self._prefix.feed(new)
        text = self._held + new[:fits]
        comma = _COMMA.search(text) if self.holds_commas else None
        part = text[: comma.start()] if comma else text
        self._held = text[len(part) :] + new[fits:]
        self._sent += [part] if part else []
        if not part and self.begun:
            return None
        begins, self.begun = not self.begun, True
        return self.piece(part, begins=begins)

    def piece(self, arguments: str, *, begins: bool = False, ends: bool = False) -> Piece:
        fragments, body = self.call.fragments, self.call.body if begins else {}
        piece = Piece(self.number, self.id, self.name, arguments, begins, ends, slot=fragments[0].slot, body=body)
        piece.fragments = fragments if ends else (fragments[0], fragments[-1])
        piece.choice = fragments[0].choice
        return piece

    def last(self, outcome: Outcome) -> Piece:
        """The rest of the call, once it is decided."""
        ends = self.call.ended or not outcome.left_alone
        piece = self.piece(outcome.arguments[len(self.sent) :], ends=ends)
        piece.left_alone = outcome.left_alone
        return piece

    def rest(self) -> Fragment | None:
        """What was read and not sent, as a fragment."""
        first = self.call.fragments[0]
        return Fragment(first.slot, arguments=self._held, choice=first.choice) if self._held else None


class Live:
    """The calls of one answer that are going out."""

    def __init__(self, tools: Tools, tail: Tail, new_id: Callable[[str], str]) -> None:
        self._tools, self._tail, self._new_id = tools, tail, new_id
        self._places: dict[Any, Call] = {}
        self._calls: dict[Fragment, LiveCall] = {}
        """The first fragment → the call that went out."""
        self._keys: set[str] = set()
        """The ids of these calls."""
        self.open: LiveCall | None = None
        """The call that began last, until it is decided."""
        self.one_at_a_time = False
        """Such a call makes the others wait."""
        self._left_open: set[Any] = set()
        """The places of calls that were decided before their end came."""
        self._stopped = False

    def take(self, one: Fragment, sent: int, *, free: bool, knows: Callable[[str], bool]) -> Piece | None:
        """What may go now of the call that this fragment belongs to. `sent`: how many calls the client has; `free`:
        nothing that is held comes before a call that begins; `knows`: whether the client has a call with an id."""
        call = self._call_of(one)
        free = free and not (self.one_at_a_time and (self.open is not None or one.number))
        flowing = self._calls.get(call.first) if call is not None else None
        if call is None or not (flowing or (free and self._may_begin(call, knows))):
            return None
        if flowing is None:
            name = full_name(call.names, self._tools)
            kept, commas = list(call.fragments), not self.one_at_a_time
            flowing = LiveCall(call, sent, self._new_id(call.id), name, holds_commas=commas, kept=kept)
            self._keys.update(call.keys, call.ids)
            self._calls[call.first] = self.open = flowing
        else:
            flowing.kept.append(one)
        piece = flowing.next()
        if piece is not None:
            self._keep(flowing, flowing.rest())
        return piece

    def _call_of(self, one: Fragment) -> Call | None:
        """The call that this fragment belongs to, as far as the fragment itself says so."""
        place = one.item or one.slot
        call = self._places.get(place)
        mixed = place in self._left_open or (call is not None and not call.ended)
        self._stopped = self._stopped or (one.begins and mixed)
        if call is None or one.begins:
            call = self._places[place] = Call()
        elif not (one.item or continues(call, one, self._tools)) or (one.key and one.key not in call.keys):
            self._stopped = True
        self._stopped = self._stopped or place is None or not one.placed or bool(one.refusal)
        call.add(one)
        return None if self._stopped or one.whole or one.again else call

    def _may_begin(self, call: Call, knows: Callable[[str], bool]) -> bool:
        """Whether all that the client gets first of a call is known and final."""
        known = any(key in self._keys or knows(key) for key in (*call.keys, *call.ids))
        same_answer = next(reversed(self._calls), call.first).answer_id == call.first.answer_id
        tool = self._tools.get(call.last_name, call.namespace or None)
        if tool is not None and tool.kind == "custom":
            return False  # Its input is no JSON.
        given = any(one.given if self.one_at_a_time else one.given is not None for one in call.fragments)
        begun = bool(call.names) and (call.begun or self.one_at_a_time) and not (call.named_late or given)
        return begun and not known and same_answer

    def _keep(self, flowing: LiveCall, rest: Fragment | None) -> None:
        for fragment in flowing.kept:
            self._tail.let_go(fragment)
        flowing.kept = [] if rest is None else [rest]
        if rest is not None:
            self._tail.keep(rest)

    def restart(self, calls: list[Call], new: list[Call]) -> list[Call]:
        """The calls so far are decided now: `new`, and those of which the client has a part."""
        for call in new:
            if not self._left_open.isdisjoint(call.slots) and object_in("".join(call.pieces)) is None:
                call.refuse(MIXED)  # What is wrong with it may be words of the one that was left open.
        self._left_open.update(place for place, call in self._places.items() if call.block and not call.ended)
        self._places = {}
        partly = [call for call in calls if call not in new and call.first in self._calls]
        for call in partly:
            call.refuse(SENT_WHOLE)
        return [call for call in calls if call in new or call in partly]

    def finish(self, call: Call) -> LiveCall | None:
        """The call as it went out so far, if it did. It is decided as the client has it."""
        flowing = self._calls.get(call.first)
        if flowing is not None:
            self.open = None if self.open is flowing else self.open
            self._keep(flowing, None)
            if call.name != flowing.name:
                call.refuse(RENAMED_LIVE)
            call.name, call.sent = flowing.name, flowing.sent
        return flowing
