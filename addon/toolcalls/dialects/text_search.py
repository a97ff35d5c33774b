"""The text of an answer on its way through the search for tool calls written as text.

Shared by the dialects: text in, text and calls out, and an account of what is held back, so that the
books can give it back. With no declared tools there is nothing to search for and no `TextSearch` at all.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from ..calls import Outcome
from ..mend.arguments import Finish, mend_arguments
from ..mend.call import Mender
from ..mend.names import mend_name
from ..policy import Policy
from ..request.request import Request
from ..textcalls.scanner import FoundCall, Scanner
from ..tools.declared import Tools
from ..unread.forms import Form, NumberedForm
from ..unread.passed_text import Field, PassedText
from ..wire import sse

WRITTEN_AS_TEXT = "written as text"
TEXT = Field("text")
_LESSONS = 8
"""After so many forms that no event repeated, no more are learned: this server varies its events."""
_MOST_UNREAD = 1024 * 1024
"""Nearly every answer is shorter, and without an opener in it nobody asks how its text is quoted."""


class TextPiece(NamedTuple):
    """Text of one event. `source` is the event, if this is all that it says: then it can go out as it came."""

    text: str
    source: Any = None


@dataclass(slots=True, frozen=True)
class SearchResult:
    """What may go out now, in the order in which it was said."""

    parts: tuple[TextPiece | FoundCall, ...] = ()

    @property
    def pieces(self) -> list[TextPiece]:
        return [part for part in self.parts if isinstance(part, TextPiece)]

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)

    @property
    def calls(self) -> tuple[FoundCall, ...]:
        return tuple(part for part in self.parts if isinstance(part, FoundCall))


class TextSearch:
    """One stream of text: the content of a choice, a text block, a text part."""

    __slots__ = (
        "_ahead",
        "_field",
        "_form",
        "_held",
        "_lessons",
        "_new_scanner",
        "_resting",
        "_scanner",
        "_unread",
    )

    def __init__(
        self,
        request: Request,
        policy: Policy,
        field: Field = TEXT,
        *,
        begins: bool = True,
        after: TextSearch | None = None,
    ) -> None:
        """`field`: where events have the text. `begins`: nothing was said before, so that this may be a message
        that is nothing but a call. `after`: the text of the answer that stands before this one."""
        tools = request.tools
        ours = _searched(request, policy)
        self._new_scanner = partial(
            Scanner,
            ours,
            max_held=policy.max_held_bytes,
            resolve=lambda name: _declared(name, tools, ours),
            in_request=request.heard.holds,
        )
        quoting = after._scanner.take_quoting() if after is not None else None
        self._scanner: Scanner = self._new_scanner(begins=begins, quoting=quoting)
        self._field = field
        self._held: deque[TextPiece] = deque()
        self._ahead: deque[tuple[str, list[str | FoundCall]]] = deque()
        """Texts that were searched before their events are read."""
        self._resting = False
        """Nothing is held, searched ahead or expected: harmless events pass."""
        self._form: Form | NumberedForm | None = None
        self._lessons = _LESSONS
        self._unread = PassedText(field)
        """Events that passed, and whose texts the scanner does not know of yet."""

    @property
    def holding(self) -> bool:
        return bool(self._held)

    @property
    def undecided(self) -> bool:
        """Does it depend on how the text ends whether what is held is a call?"""
        return self._scanner.undecided and bool(self._held)

    @property
    def held(self) -> str:
        """The text that is held back right now."""
        return "".join(piece.text for piece in self._held)

    def take(self, text: str, source: Any = None) -> SearchResult:
        said = self._take(text, source)
        self._settle()
        return said

    def _take(self, text: str, source: Any) -> SearchResult:
        if not self._ahead:
            self._catch_up()
            found = self._scanner.feed(text)
        else:
            known, found = self._ahead.popleft()
            if known != text:
                before = self._search_anew()
                return SearchResult(before + self._take(text, source).parts)
        if not self._held and found == [text]:
            return SearchResult((TextPiece(text, source),))
        if text:
            self._held.append(TextPiece(text, source))
        return self._released(found)

    def close(self, finish: Finish) -> SearchResult:
        """The answer is over: what is held is a call or text."""
        self._resting = False
        self._unread = PassedText(self._field)
        if self._ahead:
            return SearchResult(self._search_anew())
        return self._released(self._scanner.close({Finish.COMPLETE: True, Finish.CUT: False}.get(finish)))

    def pass_on(self) -> SearchResult:
        """Something else follows what is held: so that is text, as it came."""
        self._catch_up()
        said = SearchResult(self._search_anew()) if self._ahead else self._released(self._scanner.pass_on())
        self._settle()
        return said

    def _search_anew(self) -> tuple[TextPiece, ...]:
        """A text was searched that nobody told: its event could not be read. What is held goes on as it is."""
        held = tuple(self._held)
        self._held.clear()
        self._ahead.clear()
        self._scanner = self._new_scanner(begins=False)
        return held

    def _released(self, found: list[str | FoundCall]) -> SearchResult:
        parts: list[TextPiece | FoundCall] = []
        for part in found:
            pieces = self._taken(len(part) if isinstance(part, str) else len(part.raw))
            parts += pieces if isinstance(part, str) else [part]
        return SearchResult(tuple(parts))

    def _taken(self, size: int) -> list[TextPiece]:
        """So many characters of what is held: whole events as they came, parts of events as text."""
        out: list[TextPiece] = []
        while size:
            piece = self._held.popleft()
            if len(piece.text) > size:
                self._held.appendleft(TextPiece(piece.text[size:]))
                piece = TextPiece(piece.text[:size])
            out.append(piece)
            size -= len(piece.text)
        return out

    # Events that are not read

    def repeats(self, block: bytes) -> bool:
        """True if `block` is one event of the learnt form whose text passes."""
        form = self._form
        if form is None:
            return False
        if not self._resting or not form.harmless(block):
            return self._goes_on(form, block)
        self._lessons = _LESSONS
        unread = self._unread
        unread.alike.append(block)
        unread.size += len(block)
        if unread.size > _MOST_UNREAD:
            self._catch_up()
        return True

    def all_repeat(self, block: bytes, mark: bytes = b"") -> bool:
        """True if all events of the block have the learnt form and this mark, and their texts pass."""
        form = self._form
        if form is None or not self._resting or not form.says(mark) or not form.all_harmless(block):
            return False
        self._lessons = _LESSONS
        self._skip(block)
        return True

    def _goes_on(self, form: Form | NumberedForm, block: bytes) -> bool:
        """The event has the learnt form, but the scanner must see its text: True if that passes."""
        text = None if self._held or self._ahead or self._scanner.off else form.text(block)
        return text is not None and self._searched_ahead([text], block)

    def alike(self, block: bytes) -> int:
        """How many texts these events have, if they begin like one that passed; 0 where that does not tell."""
        return self._form.count(block) if self._form is not None else 0

    def passes(self, block: bytes, count: int) -> bool:
        """Do whole events go on as they are? `count`: so many texts stand in them, and those are the ones that
        would be taken, one after the other; 0 where that is not certain."""
        if self._resting and count and self._field.harmless(block, count):
            self._learn(block if count == 1 else sse.split(block)[0])
            self._skip(block)
            return True
        return self._passes(block, count)

    def _learn(self, event: bytes) -> None:
        form = self._field.form(event) if self._lessons else None
        if form is not None:
            self._lessons -= 1
            self._form = form
            self._unread.learn(form)

    def _passes(self, block: bytes, count: int) -> bool:
        """A closer look."""
        if self._held:
            return False
        if not count or self._scanner.off:
            return not self._ahead and (self._scanner.off or self._field.says_nothing(block))
        try:
            texts = self._field.texts(block)
        except ValueError:  # no JSON: whoever reads the event will see
            return False
        return self._searched_ahead(texts, block)

    def _searched_ahead(self, texts: list[str], block: bytes) -> bool:
        if self._resting and not any(map(self._scanner.needs, texts)):
            self._skip(block)
            return True
        passes = self._search_ahead(texts)
        self._settle()
        return passes

    def _search_ahead(self, texts: list[str]) -> bool:
        """Search the texts of events that are not read yet. What was found waits for those that have to be."""
        ahead = self._ahead
        if ahead:
            # Asked before, for the whole block: now for its events, one by one.
            text, found = ahead[0]
            if texts and (texts != [text] or found != [text]):
                return False
            if texts:
                ahead.popleft()
            return True
        self._catch_up()
        for text in filter(None, texts):
            found = self._scanner.feed(text)
            ahead.append((text, found))
            if found != [text]:
                return False
        ahead.clear()
        return True

    def _settle(self) -> None:
        self._resting = self._scanner.resting and not (self._held or self._ahead)

    def _skip(self, block: bytes) -> None:
        self._unread.add(block)
        if self._unread.size > _MOST_UNREAD:
            self._catch_up()

    def _catch_up(self) -> None:
        """Tell the scanner what passed unread."""
        if self._unread.size:
            self._scanner.skip(self._unread.take())


def searches(request: Request, policy: Policy) -> bool:
    """Is text searched for calls at all?"""
    if not policy.text_calls or not request.calls_wanted:
        return False
    return any(tool.kind == "function" and policy.touches(tool.name) for tool in request.tools)


def search(text: str, request: Request, policy: Policy, finish: Finish, before: Iterable[str] = ()) -> SearchResult:
    """Search a text that is here as a whole; `before`: what the answer says before it."""
    prose: TextSearch | None = None
    for earlier in before:
        prose = TextSearch(request, policy, begins=False, after=prose)
        prose.take(earlier)
        prose.pass_on()
    prose = TextSearch(request, policy, begins=prose is None, after=prose)
    first, last = prose.take(text), prose.close(finish)
    return SearchResult(first.parts + last.parts)


def mend_found(call: FoundCall, mender: Mender, *, before_error: bool = False, legal: bool = False) -> Outcome:
    """A call that was written as text is whole, however the answer ended. It gets an id of ours."""
    steps = (WRITTEN_AS_TEXT,)
    return mender.mend(
        call.name, call.arguments, Finish.COMPLETE, steps=steps, before_error=before_error, id="", legal=legal
    )


def repeated(name: str, arguments: str, told: Iterable[Outcome]) -> bool:
    """Is a call that was written as text one of the structured calls? Then those win."""
    outcomes = [outcome for outcome in told if outcome.name == name]
    return bool(outcomes) and _value(arguments) in [_value(outcome.arguments) for outcome in outcomes]


def _value(arguments: str) -> Any:
    return mend_arguments(arguments, Finish.COMPLETE).value


def _searched(request: Request, policy: Policy) -> Tools:
    """The tools whose calls are looked for: functions that the client allows and the user wants touched."""
    tools, allowed = request.tools, request.allowed
    ours = [tool for tool in tools if tool.kind == "function" and (allowed is None or tool.name in allowed)]
    if policy.tools:
        ours = [tool for tool in ours if policy.touches(tool.name)]
    return tools if len(ours) == len(tools) else Tools(ours)


def _declared(name: str, tools: Tools, ours: Tools) -> str | None:
    """The declared tool that a written name can only mean."""
    named = mend_name(name, tools)
    return named.name if named.tool is not None and ours.get(named.name) is not None else None
