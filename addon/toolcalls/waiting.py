"""What waits: in one answer, a list in the order in which the model made it; in the stream, the tail.

In the list are texts that may become calls, what was said about calls, calls that were written as text, and whatever
must not overtake these.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from .call import Call
from .mend.names import mend_name
from .parts import Fragment, Other, Part, Slot, Text
from .payload import meaning_of
from .textcalls.held import FoundCall
from .tools.declared import Tools


class Tail:
    """The parts of a stream that we took and have not sent, in the order of their arrival.

    It is all that has to be sent if something fails. What an event changes in it counts only once the event has been
    answered (`commit`): if anything raises before that, nothing of the event was sent, and the tail is as it was.
    """

    __slots__ = ("_parts", "changes", "size")

    def __init__(self) -> None:
        self._parts: dict[Part, int] = {}
        self.changes: list[tuple[Part, bool]] = []
        """What the event that is being answered has changed, and in which order: kept, or let go."""
        self.size = 0
        """How many bytes its events have."""

    def __bool__(self) -> bool:
        return bool(self._parts)

    def keep(self, part: Part) -> None:
        """Nothing of this part is sent now."""
        self.changes.append((part, True))

    def let_go(self, *parts: Part) -> None:
        """These parts are sent, or are no longer needed."""
        self.changes += [(part, False) for part in parts]

    def commit(self) -> None:
        """The event was answered: what it changed counts."""
        for part, kept in self.changes:
            if kept:
                size = len(part.source.raw) // len(part.source.parts) + 1 if part.source is not None else 1
                self._parts[part] = size
                self.size += size
            else:
                self.size -= self._parts.pop(part, 0)
                if isinstance(part, Fragment):
                    part.source = None  # Its call is kept for comparison; the bytes of its event are not.
        self.changes = []

    def drain(self) -> list[Part]:
        """All of it, without what the last event changed, if that was not answered."""
        parts = list(self._parts)
        self._parts, self.changes, self.size = {}, [], 0
        return parts


@dataclass(slots=True, eq=False, kw_only=True)
class Written(Text):
    """A call that was written as this text. It waits until calls are decided."""

    call: FoundCall
    step: str = "written as text"


class Waiting:
    """The list of one answer, and what is known of it without a look at each part. All of it is in the tail too."""

    def __init__(self, tail: Tail, choice: Any = None, *, in_blocks: bool = False) -> None:
        """`in_blocks`: white space behind a call is dropped, because hosts refuse a block of nothing else."""
        self._tail, self.choice, self._in_blocks = tail, choice, in_blocks
        self._parts: list[Part] = []
        self.texts: deque[Part] = deque()
        """What waits from the first text on that may become a call: nothing, if there is none."""
        self.written = 0
        """How many written calls there are."""
        self.fragments: list[Fragment] = []
        """What was said about calls."""
        self.open = 0
        """How many of the calls have begun and not ended, by events of their own."""

    @property
    def ended(self) -> bool:
        """Whether calls wait, and all of them have ended."""
        return bool(self.fragments) and self.fragments[-1].ends and self.open <= 0

    @property
    def text(self) -> str:
        """All text that may become a call."""
        return "".join(part.text for part in self.texts if _may_become_call(part))

    def add(self, part: Part) -> None:
        """This part waits, behind all that waits already."""
        if isinstance(part, Fragment):
            self.fragments.append(part)
            self.open += part.begins - part.ends
        self.written += isinstance(part, Written)
        may_become_call = isinstance(part, Text) and not isinstance(part, Written)
        (self.texts if self.texts or may_become_call else self._parts).append(part)
        self._tail.keep(part)

    def release(self, found: Sequence[str | FoundCall], slot: Slot) -> list[Part]:
        """What goes, now that the search has told what the first of the text is: text, or a call. `slot`: where it
        arrived.

        A call takes the place of the first word of its text, and the end of its block goes before it. White space at
        the beginning does not count: of `"\\n"`, a fragment of a native call and `"<tool_call>…"` the native call is
        the first.
        """
        if not found:
            return []
        rest, self.texts = self.texts, deque()
        out: list[Part] = []
        for one in found:
            call = None if isinstance(one, str) else Written(one.raw, slot, choice=self.choice, call=one)
            size = len(one if isinstance(one, str) else one.raw)
            drops_space, written = self._in_blocks and self.written > 0, self.written
            while rest and (size or not (_may_become_call(rest[0]) and rest[0].text)):
                part = rest.popleft()
                if _may_become_call(part):
                    part = self._cut(part, size, rest)
                    size -= len(part.text)
                    if call is None:
                        out += [] if drops_space and part.text.isspace() else [part]
                    elif self.written == written and not part.text.isspace():
                        self.add(call)
                elif isinstance(part, Other) and (part.ends or part.of_text or not self._parts):
                    self._tail.let_go(part)
                    out.append(part)
                else:
                    self._parts.append(part)
            if call is not None and self.written == written:
                self.add(call)
        self.texts = rest
        return out

    def _cut(self, part: Text, size: int, rest: deque[Part]) -> Text:
        """The first characters of a text that waits no longer; more of it stays in the rest."""
        self._tail.let_go(part)
        if len(part.text) <= size:
            return part
        whole = part.piece_of or part
        first, more = (
            Text(text, part.slot, part.body, choice=part.choice, piece_of=whole)
            for text in (part.text[:size], part.text[size:])
        )
        rest.appendleft(more)
        self._tail.keep(more)
        return first

    def pop(self) -> list[Part]:
        """All but the text that may become a call, and what is behind it."""
        gone = [*self._parts, *(part for part in self.texts if isinstance(part, Fragment | Written))]
        self.texts = deque(part for part in self.texts if not isinstance(part, Fragment | Written))
        self._tail.let_go(*gone)
        self._parts, self.fragments, self.written, self.open = [], [], 0, 0
        return gone


def _may_become_call(part: Part) -> TypeGuard[Text]:
    return isinstance(part, Text) and not isinstance(part, Written)


def in_order(parts: Sequence[Part], calls: list[Call], tools: Tools) -> Iterator[Call | Other]:
    """What waited, in its order, with the calls that its fragments are, each where it began.

    A call that was also written as text comes once, in the place of the first. One that was only written has no
    fragments.
    """
    left = {call.fragments[0].number: call for call in calls}
    compared = calls if any(isinstance(part, Written) for part in parts) else []
    told = {(mend_name(call.name, tools).name, call.meaning): call for call in compared}
    for part in parts:
        call = left.pop(part.number, None) if isinstance(part, Fragment) else None
        if isinstance(part, Other):
            yield part
        elif isinstance(part, Written):
            same = told.get((part.call.name, meaning_of(part.call.arguments)))
            made = Call(name=part.call.name, arguments=part.call.arguments, steps=(part.step,))
            call = made if same is None else left.pop(same.fragments[0].number, None)
        if call is not None:
            yield call
