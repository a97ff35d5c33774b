"""One call while its fragments arrive: what they contain, and whether its arguments are complete."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from ..mend.arguments import Finish, mend_arguments
from ..mend.names import mend_name
from ..mend.shape.preflight import takes
from ..mend.shape.shape import mend_shape
from ..mend.steps import MAY_CHANGE_WITH_MORE
from ..tools.declared import Tools
from ..wire.escaper import BATCH, IncrementalEscaper
from ..work import Work
from . import payload
from .brackets import Brackets
from .fragments import full_arguments, full_name, mixed
from .live import LiveCall
from .parts import Fragment, Index
from .refusal_reasons import MIXED
from .resent import Arrival, ComparedCall

_BEGUN_MARK = re.compile(r"(?:(?<!`)`{1,2}|<[^<>]{0,60}|\[[^\[\]]{0,40})\s*\Z")
"""The beginning of a fence or of a token."""


@dataclass(slots=True)
class AssembledCall:
    """A call that is being put together from its fragments. Names are collected, arguments appended."""

    id: str = ""
    names: list[str] = field(default_factory=list)
    fragments: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)
    """Whatever else the upstream sent about the call, kept for the client (signatures and the like)."""
    escaped: IncrementalEscaper = field(default_factory=IncrementalEscaper)
    """Escapes long arguments while they arrive."""
    index: Index = None
    key: str = ""
    """What a repetition of the call has in common with it: the id, or else the index."""
    again: bool = False
    """It may be an earlier call, sent again."""
    earlier: AssembledCall | None = None
    """The call with the same id and index after whose complete arguments this one began."""
    parts: int = 0
    """In how many fragments its arguments arrived."""
    unnamed: bool = False
    """Fragments without a name followed the named one, so a name that arrives later belongs to another call."""
    named_twice: bool = False
    """Its name was repeated, with or without arguments."""
    renamed: bool = False
    """A later fragment had both a name and what may be the beginning of arguments."""
    restated: bool = False
    """It is from a message that repeats the whole answer."""
    refusal_reason: str = ""
    """Why the call must be refused: mostly because its fragments may belong to another call."""
    all_or_none: bool = False
    """Its fragments can be attributed only by their order, so nothing of it is sent before the end."""
    live: LiveCall | None = None
    """The part of it that the client already has (`toolfix_aggregate=false`)."""
    steps: tuple[str, ...] = ()
    """What had to be done to parse its fragments."""
    unfinished: bool = False
    """Its last fragment said that more of the call follows."""
    ended: bool = False
    """The event for its end has arrived, if the protocol has one."""
    followed: bool = False
    """Something else arrived after it."""
    decided: tuple[str, tuple[str, ...]] = ("", ())
    """The arguments as they were last decided, and what had to be done for it."""
    decided_count: int = -1
    """How many fragments there were when the arguments were last decided."""
    ids: set[str] = field(default_factory=set)
    """The ids that its fragments arrived with."""
    last_id: str = ""
    value: dict[str, Any] | None = None
    """The parsed arguments, if they were parsed."""
    fragments_followed: int = 0
    """How many fragments `brackets` has followed."""
    brackets: Brackets = field(default_factory=Brackets)
    closed: bool = False
    """The arguments are complete: nothing can be added to them."""
    parsed_when_complete: bool = False
    """Its arguments were parsed because they looked complete."""
    parsed_when_another_began: bool = False
    """Its arguments were parsed because another call may have begun."""
    blank: int = 0
    """How many fragments at the beginning are known to be only white space."""
    work: Work = field(default_factory=Work)
    """The work budget of the response."""
    tools: Tools = field(default_factory=Tools)
    """The declared tools."""
    answer_id: str = ""
    """The id of the answer in which the call began."""

    @classmethod
    def of(cls, fragment: Fragment) -> AssembledCall:
        """A call that arrived in one piece."""
        call = cls(key=fragment.id, index=fragment.index)
        call.take(fragment)
        return call

    def goes_on_with(self, fragment: Fragment) -> bool:
        """Whether the fragment continues this call, which the upstream marked as unfinished."""
        return self.unfinished and self.index == fragment.index

    def take(self, fragment: Fragment) -> None:
        """Take a whole call, or the next state of a call that the upstream marked as unfinished."""
        self.id = self.id or fragment.id
        self.names += [fragment.name] if fragment.name else []
        self.fragments = [fragment.arguments]
        self.extra.update(fragment.extra)
        self.steps += fragment.steps
        self.unfinished = fragment.unfinished
        self.refuse(fragment.refusal_reason)

    def refuse(self, reason: str) -> None:
        """Refuse the call, unless `reason` is empty. The first reason counts."""
        self.refusal_reason = self.refusal_reason or reason

    @property
    def name(self) -> str:
        return self.names[-1] if self.names else ""

    def add(self, fragment: str) -> None:
        """Append a fragment of the arguments."""
        self.fragments.append(fragment)
        if self.live is None:
            self.escaped.fresh += len(fragment)
            if self.escaped.fresh > BATCH:
                self.escaped.take(self.fragments)

    def join(self, arguments: str) -> None:
        """Replace the fragments by the arguments that they make."""
        self.escaped.join(self.fragments)
        self.fragments = [arguments]

    def pieces(self, arguments: str) -> list[str]:
        """The escaped arguments, if they are long and unchanged; else nothing."""
        escaped = self.escaped
        if not escaped.pieces or len(self.fragments) != 1 or arguments is not self.fragments[0]:
            return []
        escaped.take(self.fragments)
        # They are written only once, and the call is remembered: it must not keep its arguments twice.
        pieces, escaped.pieces = escaped.pieces, []
        return pieces

    @property
    def empty(self) -> bool:
        """Whether it has neither a name nor arguments, and so is no call."""
        return not self.names and not any(self.fragments)

    def note_id(self, identity: str) -> None:
        """Note that a fragment arrived with this id."""
        self.ids.add(identity)
        self.last_id = identity

    def id_returns(self, identity: str) -> bool:
        """Whether this id was used before, and then another one. Ids that change with every fragment do not return,
        so these are two calls."""
        return identity != self.last_id and identity in self.ids

    @property
    def begun(self) -> bool:
        """Whether arguments other than white space have arrived."""
        while self.blank < len(self.fragments):
            if self.fragments[self.blank].strip():
                return True
            self.blank += 1
        return False

    def decide_arguments(self) -> tuple[str, tuple[str, ...]]:
        """The arguments that the fragments make, and what had to be done for it. Refuses the call if its fragments
        belong to two calls."""
        if self.decided_count != len(self.fragments):
            text, steps = self.decided = full_arguments(self.fragments)
            self.check_arguments(text, steps)
            if self.fragments and not steps:
                self.join(text)
            self.decided_count = len(self.fragments)
        return self.decided

    def check_arguments(self, text: str, steps: tuple[str, ...]) -> None:
        """Refuse the call if these arguments are from two calls. A single fragment or a snapshot is from one."""
        if not self.refusal_reason and not steps and len(self.fragments) > 1:
            self.refuse_if_mixed(self.read(text))

    def read(self, text: str) -> Any:
        """The value of the arguments, if they are JSON."""
        self.work.read_json(text)
        value, self.value = payload.read_twice(text)
        return value

    def refuse_if_mixed(self, value: Any) -> None:
        """Refuse the call if `value`, the parsed arguments, is no object and the fragments are from two calls."""
        if not isinstance(value, dict) and mixed(self.fragments, self.work):
            self.refuse(MIXED)

    def final_arguments(self, finish: Finish) -> tuple[str, tuple[str, ...]]:
        """The arguments to be mended, and what had to be done to get them. `finish`: how the answer ended."""
        return self.decide_arguments()

    def finish_for(self, finish: Finish) -> Finish:
        """How the answer ended for this call."""
        # If something follows, the server has sent all of the call, but the model may not have completed it.
        return Finish.UNKNOWN if self.followed and any(self.fragments) else finish

    def to_compare(self, name: str) -> ComparedCall:
        """Its form for comparisons with other calls of the answer."""
        text, _ = self.final_arguments(Finish.COMPLETE)
        index = f"\0{self.index}"
        # A call without an id that may be an earlier one has the key of that call.
        has_id = self.key not in ("", index) and not (self.again and not self.id)
        arrival = Arrival(has_id, self.answer_id)
        return ComparedCall(self.key, name, text, index, not self.refusal_reason, self.restated, arrival)

    def is_strict(self) -> bool:
        """Whether the arguments, as they arrived, are one JSON object that the tool can take."""
        return self.suits(payload.object_in("".join(self.fragments)))

    def suits(self, value: dict[str, Any] | None) -> bool:
        """Whether the tool can take this object. A tool that is not declared takes anything."""
        if value is None:
            return False
        tool = mend_name(full_name(self.names, self.tools), self.tools).tool
        if tool is None:
            return True
        self.work.look_at(value)
        return takes(mend_shape(value, tool).value, tool)

    def looks_complete(self) -> bool:
        """Whether the arguments so far look like a complete value."""
        if self.fragments_followed < len(self.fragments):
            # Joined, because following one long text is much faster than following many fragments.
            text = "".join(self.fragments[self.fragments_followed :])
            self.work.follow(text)
            self.brackets.follow(text)
            self.fragments_followed = len(self.fragments)
        return self.brackets.closed

    def is_complete(self, *, another: bool = False) -> bool:
        """Whether the arguments are complete. `another`: a call may begin, so they are parsed however they look.

        Parsing takes time: each call is parsed once when it looks complete, and once when another may begin.
        """
        if self.closed or self.refusal_reason:
            return self.closed
        if not self.begun:
            return self.again
        if (not self.parsed_when_complete and self.looks_complete()) or (
            another and not self.parsed_when_another_began
        ):
            self.parsed_when_complete = self.parsed_when_complete or not another
            self.parsed_when_another_began = self.parsed_when_another_began or another
            text = full_arguments(self.fragments)[0]
            mended = mend_arguments(text, Finish.CUT, work=self.work)
            self.closed = (
                mended.value is not None and MAY_CHANGE_WITH_MORE.isdisjoint(mended.steps) and not _goes_on(text)
            )
        return self.closed


def _goes_on(text: str) -> bool:
    """Whether a fence around the object is still open, or a token has begun after it."""
    behind = text[text.rfind("}") + 1 :]
    return (text.lstrip().startswith("```") and "```" not in behind) or _BEGUN_MARK.search(behind) is not None
