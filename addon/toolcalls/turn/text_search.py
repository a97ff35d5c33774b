"""The text of an answer on its way through the search for tool calls written as text.

Shared by the dialects: text in, text and calls out, and an account of what is held back, so that
failing open can release it. With no declared tools there is nothing to search for and no `TextSearch` at all.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..mend.arguments import Finish
from ..mend.names import mend_name
from ..policy import Policy
from ..request.request import Request
from ..textcalls.block_borders import end_block, shows_behind
from ..textcalls.quoting import Quoting
from ..textcalls.scanner import MOST_SKIPPED, SKIPPED_BEYOND, FoundCall, Scanner
from ..tools.declared import Tools
from ..unread.opener_bytes import can_open
from ..unread.passed_text import PassedText
from ..wire.events import PASS, Pass
from ..work import Work


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
        return [part for part in self.parts if isinstance(part, TextPiece) and part.text]

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)

    @property
    def calls(self) -> tuple[FoundCall, ...]:
        return tuple(part for part in self.parts if isinstance(part, FoundCall))

    def without_idle_space(self) -> SearchResult:
        """All but white space behind calls: a block of nothing else is refused in the next request."""
        kept: list[TextPiece | FoundCall] = []
        behind_call = False
        for part in self.parts:
            behind_call = behind_call or isinstance(part, FoundCall)
            if isinstance(part, FoundCall) or part.text.strip() or not behind_call:
                kept.append(part)
        return SearchResult(tuple(kept))


class TextSearch:
    """One stream of text: the content of a choice, a text block, a text part."""

    __slots__ = ("_held", "_most_unread", "_scanner", "_spoke", "_unread", "_work")

    def __init__(
        self,
        request: Request,
        policy: Policy,
        *,
        begins: bool = True,
        after: TextSearch | None = None,
    ) -> None:
        """`begins`: nothing was said before, so that this may be a message that is nothing but a call.

        `after`: the text of the answer that stands before this one.
        """
        tools = request.tools
        ours = _searched(request, policy)
        quoting = after._pop_quoting() if after is not None else None
        work: Work = after._work if after is not None else Work()
        self._work: Work = work
        self._scanner = Scanner(
            ours,
            max_held=policy.max_held_bytes,
            resolve=lambda name: _declared(name, tools, ours),
            in_request=lambda name, text: request.heard.holds(name, text, work),
            begins=begins and (quoting is None or not quoting.said),
            # Where JSON was asked for, a message that is nothing but JSON is that.
            weak=request.structured is None,
            quoting=quoting,
            work=work,
        )
        self._held: deque[TextPiece] = deque()
        self._unread = PassedText()
        """Texts that passed, and that the scanner does not know of yet."""
        self._most_unread = MOST_SKIPPED
        self._spoke = False

    @property
    def holding(self) -> bool:
        return bool(self._held)

    @property
    def undecided(self) -> bool:
        """Does it depend on how the text ends whether what is held is a call?"""
        return self._scanner.undecided and bool(self._held)

    @property
    def spoke(self) -> bool:
        """Was anything said but white space?"""
        self._catch_up()
        return self._spoke

    @property
    def held(self) -> str:
        """The text that is held back right now."""
        return "".join(piece.text for piece in self._held)

    def take(self, text: str, source: Any = None) -> SearchResult:
        """Search a text; `source` is the event that says it and nothing else."""
        self._catch_up()
        self._spoke = self._spoke or bool(text.strip())
        found = self._scanner.feed(text)
        if not self._held and found == [text]:
            return SearchResult((TextPiece(text, source),))
        if text:
            self._held.append(TextPiece(text, source))
        return self._released(found)

    def close(self, finish: Finish) -> SearchResult:
        """The answer is over: what is held is a call or text."""
        self._unread = PassedText()
        return self._released(self._scanner.close({Finish.COMPLETE: True, Finish.CUT: False}.get(finish)))

    def pass_on(self) -> SearchResult:
        """Something else follows what is held: so that is text, as it came."""
        self._catch_up()
        return self._released(self._scanner.pass_on())

    def shows_behind(self, text: str) -> bool:
        """Would a call be quoted, or only be shown, that stood behind what was said and this text?"""
        self._catch_up()
        scanner = self._scanner
        return scanner.off or shows_behind(scanner.pop_quoting(), self.held + text, self._work)

    def receive(self, literal: bytes, raw: bytes) -> Pass | None:
        """Let the text of an event pass that is not read: None where the scanner has to see it."""
        if not self._scanner.resting:
            return PASS if self._scanner.off and not self._held else None
        if can_open(literal):
            return None
        unread = self._unread
        unread.add(literal)
        if unread.size > self._most_unread:
            self._most_unread = SKIPPED_BEYOND
            self._catch_up()
        return PASS

    def _catch_up(self) -> None:
        """Tell the scanner what passed unread."""
        if self._unread.size:
            self._work.said(self._unread.size)
            text = self._unread.take()
            self._spoke = self._spoke or bool(text.strip())
            self._scanner.skip(text)

    def _pop_quoting(self) -> Quoting:
        """What is open where this text ends."""
        self._catch_up()
        quoting = self._scanner.pop_quoting()
        end_block(quoting, self._work)
        return quoting

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


def searches(request: Request, policy: Policy) -> bool:
    """Is text searched for calls at all?"""
    if not policy.text_calls or not request.calls_wanted:
        return False
    return any(tool.kind == "function" and policy.touches(tool.name) for tool in request.tools)


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
