"""What waits in one answer: one list, in the order in which the model made it.

In it are texts that may become calls, what was said about calls, calls that were written as text, and whatever must
not overtake these. All of it is in the tail too, as it came.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from .call import Call
from .mend.arguments import mend_arguments
from .mend.finish import Finish
from .mend.names import mend_name
from .parts import Fragment, Other, Part, Slot, Text
from .tail import Tail
from .textcalls.held import FoundCall
from .tools.declared import Tools


@dataclass(slots=True, eq=False, kw_only=True)
class Written(Text):
    """A call that was written as this text. It waits until calls are decided."""

    call: FoundCall
    step: str = "written as text"


class Waiting:
    """The list, and what is known of it without a look at each part."""

    def __init__(self, tail: Tail, choice: Any = None) -> None:
        self._tail, self._choice = tail, choice
        self._parts: list[Part] = []
        self._first_text = 0
        """Where the first text stands that may become a call."""
        self.texts = self.written = 0
        """How many such texts there are, and how many written calls."""
        self.fragments: list[Fragment] = []
        """What was said about calls."""

    @property
    def text(self) -> str:
        """All text that may become a call."""
        return "".join(part.text for part in self._parts if _may_become_call(part))

    def add(self, part: Part) -> None:
        """This part waits, behind all that waits already."""
        if isinstance(part, Fragment):
            self.fragments.append(part)
        elif isinstance(part, Written):
            self.written += 1
        elif isinstance(part, Text):
            self._first_text = self._first_text if self.texts else len(self._parts)
            self.texts += 1
        self._parts.append(part)
        self._tail.keep(part)

    def release(self, found: Sequence[str | FoundCall], slot: Slot, *, drops_space: bool) -> list[Part]:
        """What goes, now that the search has told what the first of the text is: text, or a call, which takes its
        place. `slot`: where the text arrived. `drops_space`: white space behind a call, in a block, is dropped."""
        if not found:
            return []
        rest = deque(self._parts[self._first_text :])
        del self._parts[self._first_text :]
        out: list[Part] = []
        for one in found:
            if isinstance(one, str):
                drops = drops_space and self.written > 0 and slot is not None
                out += [part for part in self._cut(rest, len(one)) if not (drops and _is_space(part))]
            else:
                out += self._replace(rest, Written(one.raw, slot, choice=self._choice, call=one))
        self._first_text = len(self._parts)
        self._parts += rest
        return out

    def _replace(self, rest: deque[Part], call: Written) -> list[Part]:
        """Put a call where the first word of its text stands; the end of its block goes before it.

        White space at the beginning of its text does not count: of `"\\n"`, a fragment of a native call and
        `"<tool_call>…"` the native call is the first.
        """
        out: list[Part] = []
        placed = False
        for part in self._cut(rest, len(call.text)):
            if not isinstance(part, Text):
                out.append(part)
            elif not (placed or _is_space(part)):
                self.add(call)
                placed = True
        if not placed:
            self.add(call)
        return out

    def _cut(self, rest: deque[Part], size: int) -> Iterator[Part]:
        """The next characters of the text, in the parts that they came in, and what may go with them."""
        while rest and (size or not (_may_become_call(rest[0]) and rest[0].text)):
            part = rest.popleft()
            if _may_become_call(part):
                self._tail.let_go(part)
                self.texts -= 1
                whole, text = part.piece_of or part, part.text
                if len(text) > size:
                    more = Text(text[size:], part.slot, part.body, choice=part.choice, piece_of=whole)
                    part = Text(text[:size], part.slot, part.body, choice=part.choice, piece_of=whole)
                    rest.appendleft(more)
                    self._tail.keep(more)
                    self.texts += 1
                size -= len(part.text)
                yield part
            elif isinstance(part, Other) and (part.ends or part.of_text or not self._parts):
                self._tail.let_go(part)
                yield part
            else:
                self._parts.append(part)

    def pop(self) -> list[Part]:
        """All but the text that may become a call, and what is behind it."""
        at = self._first_text if self.texts else len(self._parts)
        behind: list[Part] = [part for part in self._parts[at:] if not isinstance(part, Fragment | Written)]
        gone = [*self._parts[:at], *(part for part in self._parts[at:] if isinstance(part, Fragment | Written))]
        for part in gone:
            self._tail.let_go(part)
        self._parts, self._first_text = behind, 0
        self.fragments, self.written = [], 0
        return gone


def _may_become_call(part: Part) -> TypeGuard[Text]:
    return isinstance(part, Text) and not isinstance(part, Written)


def _is_space(part: Part) -> bool:
    return isinstance(part, Text) and part.text.isspace()


def in_order(parts: Sequence[Part], calls: list[Call], tools: Tools) -> Iterator[Call | Other]:
    """What waited, in its order, with the calls that its fragments are, each where it began.

    A call that was also written as text comes once, in the place of the first. One that was only written has no
    fragments.
    """
    left = {call.first.number: call for call in calls}
    written = any(isinstance(part, Written) for part in parts)
    told = {id(call): _meaning(mend_name(call.name, tools).name, call.arguments) for call in calls if written}
    number = 0
    for part in parts:
        if isinstance(part, Fragment):
            call = left.pop(number, None)
            number += 1
            yield from () if call is None else (call,)
        elif isinstance(part, Written):
            meant = _meaning(part.call.name, part.call.arguments)
            call = next((call for call in left.values() if told[id(call)] == meant), None)
            if call is not None:
                yield left.pop(call.first.number)
            elif meant not in told.values():
                yield Call(name=part.call.name, arguments=part.call.arguments, steps=(part.step,))
        elif isinstance(part, Other):
            yield part


def _meaning(name: str, arguments: str) -> tuple[str, Any]:
    value = mend_arguments(arguments, Finish.COMPLETE).value
    return name, repr(value) if value is not None else arguments
