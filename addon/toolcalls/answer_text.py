"""The text of one answer: it goes at once, unless its end may be a call. What is held is in the tail, as it came.

Text behind a head is held until something follows it, or the answer ends; then it is text, or a call. A server that
does not notice the end of the reasoning sends the call behind it as reasoning: a call at its very end counts, if the
answer has nothing else. The reasoning itself passes at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .call import Call
from .mend.arguments import mend_arguments
from .mend.finish import Finish
from .mend.names import mend_name
from .mend.strict import read_inside
from .parts import Other, Part, Slot, Text
from .policy import Policy
from .request.request import Request
from .sizes import Searched
from .tail import Tail
from .textcalls.held import FoundCall
from .textcalls.search import Search
from .tools.declared import Tools


@dataclass(slots=True, eq=False)
class Waiting:
    """What waits until calls are decided: a call that was written as text, or something behind a call."""

    behind: int
    """How many fragments came before it."""
    part: Text | Other | None = None
    """What is in the tail."""
    call: FoundCall | None = None
    step: str = ""


class AnswerText:
    """The text of one answer, and the end of its reasoning."""

    def __init__(self, request: Request, policy: Policy, sizes: Searched, tail: Tail, choice: Any = None) -> None:
        self._request, self._policy, self._sizes, self._tail, self._choice = request, policy, sizes, tail, choice
        self._tools = request.written_tools(policy)
        """The tools whose calls are searched for."""
        self.examines = policy.text_calls != "off" and len(self._tools) > 0
        """Text is searched for calls."""
        self._search: Search | None = None
        """The search of the text that arrives: of a block, a part of an item, or the whole answer."""
        self._last: Search | None = None
        """The search of the text before it, if that is over: what it left open quotes what follows."""
        self._thoughts: Search | None = None
        self._thoughts_count = self.examines
        """A call at the end of the reasoning counts, if nothing follows."""
        self._has_text = False
        """The answer has more than white space."""
        self.in_line = False
        """The line has begun with words that begin no call."""
        self.drops_space = True
        """White space behind a call, in a block, is dropped: hosts refuse a block of nothing else in a request."""
        self.slot: Slot = None
        """Where the text that is searched arrives."""
        self._held: deque[tuple[Text | Other, int]] = deque()
        """The text that the search holds, as it is in the tail, and what waits behind it; and how many fragments of
        calls came before each."""
        self._ended = False
        """The block whose text is held has ended."""
        self.waiting: list[Waiting] = []
        """The calls that were written as text, until they are decided, and what waits behind calls."""

    @property
    def holding(self) -> bool:
        return bool(self._held)

    @property
    def undecided(self) -> bool:
        """Whether what follows decides if text is a call."""
        return self._search is not None and self._search.undecided

    @property
    def reasoning_undecided(self) -> bool:
        """Whether the reasoning ends with a call, if nothing else follows it."""
        ends_with_call = self._thoughts_count and self._thoughts is not None and self._thoughts.undecided
        return ends_with_call and not self._has_text

    @property
    def calm(self) -> bool:
        """Whether no text is the beginning of a call."""
        return self._search is None or (self._search.rests and not self._held)

    def pass_texts(self, literals: list[bytes], line_begun: bool | None) -> None:
        """Texts went to the client unparsed: the insides of their JSON strings."""
        if self._search is not None and line_begun is not None:
            self.in_line = line_begun
            text = read_inside(b"".join(literals))
            self._has_text = self._has_text or not text.isspace()
            self._search.skip(text)

    # What arrives

    def take(self, part: Text, behind: int) -> list[Part]:
        """Search a text; what goes now. `behind`: how many fragments of calls came before it."""
        text = part.text
        if not self.examines or not (text or self._held):
            return [part]
        out = self.end_block() if self.slot != part.slot or self._ended else []
        self.slot = part.slot
        if not self._sizes.may_search(len(text)):
            # It may quote what follows, so nothing more is searched.
            return [*out, *self._stop(), part]
        found = self._feed(text)
        self._held.append((part, behind))
        out += self._found(found)
        if self._held and self._held[-1][0] is part:
            self._tail.keep(part)
        return out

    def think(self, text: str) -> None:
        """Watch the reasoning, which has passed."""
        if not self._thoughts_count or not text:
            return
        if self._sizes.may_search(len(text)):
            self._thoughts = self._thoughts or self._new_search(reasoning=True)
            self._thoughts.feed(text)
        else:
            self._thoughts_count = False

    def show(self, part: Other) -> list[Part]:
        """Take something else, which may show the client text; the text that goes before it."""
        self._thoughts_count = self._thoughts_count and part.quiet
        if not self.examines or part.shown == "":
            return self.release()
        self.slot = part.slot if self._search is None else self.slot
        if part.shown is None or not self._sizes.may_search(len(part.shown)):
            return self._stop()
        out = self.release()
        self._feed(part.shown)
        if self._search is not None and self._search.held:
            self._search.release()
        return out

    def end(self, part: Other) -> list[Part]:
        """Take the end of a block: if its text may still become a call, it waits behind that text."""
        if self._search is None or self.slot != part.slot:
            return [part]
        if not self.undecided:
            return [*self.end_block(), part]
        self._ended = True
        self.keep_behind(part)
        return []

    def keep_behind(self, part: Other) -> None:
        """Keep something behind the text that is held."""
        self._held.append((part, 0))
        self._tail.keep(part)

    # What goes

    def release(self) -> list[Part]:
        """The text is followed by something else: what is held of it is no call."""
        return self._found(self._search.release()) if self._search is not None and self._held else []

    def end_block(self) -> list[Part]:
        """The text is over. The next is searched on its own."""
        out = self.release()
        self._last, self._search, self._ended = self._search or self._last, None, False
        return out

    def close(self, finish: Finish, *, calls: bool) -> list[Part]:
        """The answer ends: what is held of its text, or the end of its reasoning, is a call or not. `calls`: the
        answer has other calls."""
        if self.reasoning_undecided and self._thoughts is not None and finish is Finish.COMPLETE and not calls:
            self._thoughts_count = False
            for call in self._thoughts.close():
                if isinstance(call, FoundCall):
                    self.waiting.append(Waiting(0, call=call, step="written as reasoning"))
        if self._search is None:
            return []
        return self._found(self._search.close({Finish.COMPLETE: True, Finish.CUT: False}.get(finish)))

    def pop_waiting(self) -> list[Waiting]:
        waiting, self.waiting = self.waiting, []
        for one in waiting:
            if one.part is not None:
                self._tail.let_go(one.part)
        return waiting

    def would_quote_after(self, text: str) -> bool:
        """Whether a call that followed the text so far and `text` would be quoted or only an example."""
        if not self.examines or not self._sizes.may_search(len(text)):
            return True
        search = self._begun()
        structure = search.structure_at_end().copy()
        structure.add("".join(part.text for part, _ in self._held if isinstance(part, Text)) + text)
        return search.off or not structure.may_begin()

    # The search

    def _begun(self) -> Search:
        """The search of the text that arrives."""
        if self._search is None:
            self._search, self.in_line = self._new_search(), False
        return self._search

    def _new_search(self, *, reasoning: bool = False) -> Search:
        request, policy = self._request, self._policy
        structure = None
        if self._last is not None and not reasoning:
            structure = self._last.structure_at_end()
            structure.end_block()
        return Search(
            self._tools,
            max_held=policy.max_held_bytes,
            resolve=self._declared,
            texts=lambda: None if request.read_by_model.overflows else request.read_by_model.texts,
            # If the request asked for JSON, a message of nothing but JSON is that answer, not a call.
            weak=not request.json_wanted,
            whole=policy.text_calls == "whole",
            structure=structure,
            reasoning=reasoning,
        )

    def _declared(self, name: str) -> str | None:
        """The declared tool that a written name must mean; None if its calls are not searched for."""
        named = mend_name(name, self._request.tools)
        return named.name if named.tool is not None and self._tools.get(named.name) is not None else None

    def _feed(self, text: str) -> list[str | FoundCall]:
        line = text.rpartition("\n")[2].strip()
        found = self._begun().feed(text)
        self._has_text = self._has_text or bool(line or text.strip())
        self.in_line = bool(line) or (self.in_line and "\n" not in text)
        return found

    def _stop(self) -> list[Part]:
        """The client gets text that cannot be read: nothing more is searched. Returns what was held before."""
        out = self.release()
        self._search, self.examines, self._has_text = None, False, True
        return out

    def _found(self, found: list[str | FoundCall]) -> list[Part]:
        """What the search lets go, in the parts that it came in; calls are kept until they are decided."""
        out: list[Part] = []
        before = 0
        for one in found:
            parts = self._let_go(len(one if isinstance(one, str) else one.raw))
            # White space in front of a call may have arrived before a structured call, and the call after it.
            before = next((at for part, at in parts if isinstance(part, Text) and part.text.strip()), before)
            if isinstance(one, FoundCall):
                text = Text(one.raw, self.slot, choice=self._choice)
                self.waiting.append(Waiting(before, text, one, "written as text"))
                self._tail.keep(text)
            for part, _ in parts:
                if isinstance(part, Text):
                    idle = self.drops_space and self.waiting and self.slot is not None and part.text.isspace()
                    out += [part] if isinstance(one, str) and not idle else []
                elif isinstance(one, str) or part.ends:
                    # The block that a call was written in ends before the call.
                    out.append(part)
                else:
                    self.waiting.append(Waiting(before, part))
                    self._tail.keep(part)
        return out

    def _let_go(self, left: int) -> list[tuple[Text | Other, int]]:
        """The next characters that were held, in the parts that they came in, and what waits behind them; a text may
        be cut."""
        out: list[tuple[Text | Other, int]] = []
        while self._held and (left or isinstance(self._held[0][0], Other) or not self._held[0][0].text):
            part, before = self._held.popleft()
            self._tail.let_go(part)
            if isinstance(part, Text):
                whole, size = part.piece_of or part, len(part.text)
                if size > left:
                    rest = Text(part.text[left:], part.slot, part.body, choice=part.choice, piece_of=whole)
                    self._held.appendleft((rest, before))
                    self._tail.keep(rest)
                    part = Text(part.text[:left], part.slot, part.body, choice=part.choice, piece_of=whole)
                left -= min(left, size)
            out.append((part, before))
        return out


def in_order(calls: list[Call], waiting: Sequence[Waiting], tools: Tools) -> Iterator[Call | Other]:
    """Structured calls, calls that were written as text, and what waits behind them, in the order of the answer.

    A call that is there in both forms comes once, in the place of the first. One that was only written has no
    fragments.
    """
    left = list(calls)
    told = {id(call): (mend_name(call.name, tools).name, _value(call.arguments)) for call in calls if waiting}
    for one in waiting:
        while left and left[0].first.number < one.behind:
            yield left.pop(0)
        if one.call is None:
            if isinstance(one.part, Other):
                yield one.part
            continue
        meant = one.call.name, _value(one.call.arguments)
        alike = next((call for call in left if told[id(call)] == meant), None)
        if alike is not None:
            left.remove(alike)
            yield alike
        elif meant not in told.values():
            yield Call(name=one.call.name, arguments=one.call.arguments, steps=(one.step,))
    yield from left


def _value(arguments: str) -> Any:
    value = mend_arguments(arguments, Finish.COMPLETE).value
    return repr(value) if value is not None else arguments
