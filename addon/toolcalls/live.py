"""A call that goes out while it arrives (`toolfix_aggregate=false`).

As long as the arguments are a prefix of strict JSON, they are sent at once. From the first character that breaks it,
the rest is held. At the end the whole is mended: either it continues what was sent, or the call is refused, and
nothing more is sent that could complete it. Only one call goes out at a time: as soon as a fragment may be of
another, all wait.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from .call import Call
from .calls import continues
from .fragments import full_name
from .ids import Ids
from .mend.lexer import StrictPrefix
from .outcome import Outcome
from .parts import Fragment, Other, Part, Piece, Slot, Text, Thought, read_together
from .payload import object_in
from .reasons import MIXED, RENAMED_LIVE, SENT_WHOLE
from .tools.declared import Tools
from .waiting import Tail

_COMMA = re.compile(r",\s*\Z")


class Live:
    """The call of one answer that goes out."""

    def __init__(self, tools: Tools, tail: Tail, ids: Ids, *, in_blocks: bool) -> None:
        """`in_blocks`: the client has only one block open at a time, and each has an event for its beginning."""
        self._tools, self._tail, self._ids, self._in_blocks = tools, tail, ids, in_blocks
        self._call = Call()
        """What was said since calls were decided last, as long as that is of one call."""
        self._mixed = self._goes = False
        """It may be of several; the client has the beginning of it."""
        self._number, self.id, self._name = 0, "", ""
        """The position among the calls of the answer, the id and the name, as the client has them."""
        self._sent: list[str] = []
        self._held = ""
        """What was read and not sent: what broke the prefix, or a comma, which is wrong if a bracket follows."""
        self._prefix = StrictPrefix()
        self._kept: list[Fragment] = []
        """What the client has nothing of, as it stands in the tail."""
        self._answer_id: str | None = None
        """The id of the answer that the last call was in which went out."""
        self._left_open: set[Slot] = set()
        """The slots of blocks that were decided before their end came: pieces there may be theirs."""

    def is_followed_by(self, part: Part) -> bool:
        """Whether a part is of another block than the call that goes out; a call, only if this one is complete."""
        if not (self._goes and self._in_blocks):
            return False
        if isinstance(part, Other):
            return part.begins or part.ends or part.slot is not None
        if isinstance(part, Fragment):
            return part.begins and self._prefix.complete
        return isinstance(part, Text | Thought)

    # While it arrives

    def take(self, one: Fragment, sent: int, *, free: bool, knows: Callable[[str], bool]) -> Piece | None:
        """What may go now of the call that this fragment belongs to. `sent`: how many calls the client has; `free`:
        nothing that waits comes before them; `knows`: whether the client has a call with an id."""
        if one.number == 0:
            self._call, self._goes, self._kept, self._prefix = Call(), False, [], StrictPrefix()
            self._mixed = one.slot in self._left_open
        call, begins = self._call, not self._goes
        self._mixed = self._mixed or not self._is_next(one)
        call.add(one)
        self._kept.append(one)
        if self._mixed or self._prefix.broken or (begins and not (free and self._may_begin(call, knows))):
            return None
        if begins:
            self._goes, self._number, self._answer_id = True, sent, one.answer_id
            self.id, self._name = self._ids.unique(call.id), full_name(call.names, self._tools)
            self._sent, self._held = [], ""
        new = "".join(call.pieces) if begins else one.arguments
        fits = self._prefix.feed(new)
        text = self._held + new[:fits]
        comma = None if self._in_blocks else _COMMA.search(text)
        part = text[: comma.start()] if comma else text
        self._held = text[len(part) :] + new[fits:]
        if not (part or begins):
            return None
        self._sent.append(part)
        first = call.fragments[0]
        self._tail.let_go(*self._kept)
        self._kept = [Fragment(first.slot, arguments=self._held, choice=first.choice)] if self._held else []
        for kept in self._kept:
            self._tail.keep(kept)
        return self._piece(part, begins=begins)

    def _is_next(self, one: Fragment) -> bool:
        """Whether a fragment itself says that it is of this call."""
        call, place = self._call, one.item or one.slot
        if place is None or not one.placed or one.refusal or one.whole or one.again:
            return False
        if not call.fragments:
            return True
        other = one.begins or place != (call.fragments[0].item or call.fragments[0].slot)
        other = other or (bool(one.key) and one.key not in call.keys)
        return not other and (bool(one.item) or continues(call, one, self._tools))

    def _may_begin(self, call: Call, knows: Callable[[str], bool]) -> bool:
        """Whether all that the client gets first of a call is known and final."""
        tool = self._tools.get(call.last_name, call.namespace or None)
        if tool is not None and tool.kind == "custom":
            return False  # Its input is no JSON.
        given = any(one.given if self._in_blocks else one.given is not None for one in call.fragments)
        begun = bool(call.names) and (call.begun or self._in_blocks) and not (call.named_late or given)
        same_answer = self._answer_id in (None, call.fragments[0].answer_id)
        return begun and same_answer and not any(map(knows, (*call.keys, *call.ids)))

    def _piece(self, arguments: str, *, begins: bool = False, ends: bool = False) -> Piece:
        fragments, body = self._call.fragments, self._call.body if begins else {}
        first, last = fragments[0], fragments[-1]
        piece = Piece(self._number, self.id, self._name, arguments, begins, ends, slot=first.slot, body=body)
        piece.fragments, piece.choice = fragments if ends else (first, last), first.choice
        alone = self._in_blocks and last.source is not None and last.source.parts == [last]
        named = not begins or (self.id, self._name) == (last.id, last.name)
        if alone and named and last.source and (arguments, begins, ends) == (last.arguments, last.begins, last.ends):
            read_together(last.source.raw, [piece])  # It says just what its event says.
        return piece

    # When it is decided

    def judge(self, calls: list[Call], new: list[Call]) -> list[Call]:
        """The calls that are decided now: `new`, and the one of which the client has a part."""
        decided = [call for call in calls if call in new or self._has_sent(call)]
        for call in decided:
            if call not in new:
                call.refuse(SENT_WHOLE)
            elif not self._left_open.isdisjoint(call.slots) and object_in("".join(call.pieces)) is None:
                call.refuse(MIXED)
        self._left_open.update(call.fragments[0].slot for call in calls if call.block and not call.ended)
        return decided

    def _has_sent(self, call: Call) -> bool:
        """Whether the client has the beginning of this call."""
        return self._goes and call.fragments[0] is self._call.fragments[0]

    def finish(self, call: Call) -> bool:
        """Whether the client has the beginning of a call: it is decided as the client has it."""
        if not self._has_sent(call):
            return False
        self._tail.let_go(*self._kept)
        self._kept = []
        if call.name != self._name:
            call.refuse(RENAMED_LIVE)
        call.name, call.sent = self._name, "".join(self._sent)
        return True

    def last(self, call: Call, outcome: Outcome) -> Piece:
        """The rest of the call."""
        # One that is not mended, or dropped before an error, gets no end of ours.
        ends = (call.ended or not outcome.left_alone) and not outcome.dropped
        self._call, self._goes = call, False
        piece = self._piece(outcome.arguments[len(call.sent or "") :], ends=ends)
        piece.outcome = outcome
        return piece
