"""Searches the text of an answer for tool calls written as text.

Shared by the dialects: text goes in, text and calls come out, and the held text is tracked with its events, so that
whole events can be sent as they arrived. Without declared tools there is nothing to search for, and no `TextSearch`.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ..mend.arguments import Finish
from ..mend.names import mend_name
from ..policy import Policy
from ..request.request import Request
from ..textcalls.block_borders import end_block, would_quote_after
from ..textcalls.quoting import Quoting
from ..textcalls.scanner import FoundCall, Scanner
from ..textcalls.skipped_text import MOST_SKIPPED, SKIPPED_BEYOND
from ..tools.declared import Tools
from ..unread.opener_bytes import can_open
from ..unread.passed_text import text_of
from ..wire.events import PASS, Pass
from ..work import Work


class TextPiece(NamedTuple):
    """Text of one event. `source`: the event, if it contains nothing else and can be sent as it arrived."""

    text: str
    source: Any = None
    behind: Any = None
    """The last structured call before this text."""


@dataclass(slots=True, frozen=True)
class SearchResult:
    """What may be sent now, in the order of the text."""

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
        """The result without white space after calls: hosts reject blocks of white space in the next request."""
        kept: list[TextPiece | FoundCall] = []
        behind_call = False
        for part in self.parts:
            behind_call = behind_call or isinstance(part, FoundCall)
            if isinstance(part, FoundCall) or part.text.strip() or not behind_call:
                kept.append(part)
        return SearchResult(tuple(kept))


class TextSearch:
    """One stream of text: the content of a choice, a text block, a text part."""

    __slots__ = ("_has_text", "_held", "_most_unread", "_scanner", "_unread", "_unread_size", "_work", "behind")

    def __init__(
        self,
        request: Request,
        policy: Policy,
        *,
        begins: bool = True,
        after: TextSearch | None = None,
    ) -> None:
        """`begins`: no text came before this one, so the message may be nothing but a call.

        `after`: the search of the text before this one in the answer.
        """
        tools = request.tools
        ours = _searched(request, policy)
        quoting = after._end_block() if after is not None else None
        work: Work = after._work if after is not None else Work()
        self._work: Work = work
        self._scanner = Scanner(
            ours,
            max_held=policy.max_held_bytes,
            resolve=lambda name: _declared(name, tools, ours),
            in_request=lambda name, text: request.read_by_model.contains_call(name, text, work),
            begins=begins and (quoting is None or not quoting.has_visible_text),
            # If the request asked for JSON, a message of nothing but JSON is that answer, not a call.
            weak=request.structured is None,
            quoting=quoting,
            work=work,
        )
        self.behind: Any = None
        """The last structured call before the text that arrives now."""
        self._held: deque[TextPiece] = deque()
        self._unread: list[bytes] = []
        """The literals of texts that passed and that the scanner has not been given yet."""
        self._unread_size = 0
        self._most_unread = MOST_SKIPPED
        self._has_text = False

    @property
    def holding(self) -> bool:
        return bool(self._held)

    @property
    def undecided(self) -> bool:
        """Whether it depends on the end of the text if the held text is a call."""
        return self._scanner.undecided and bool(self._held)

    @property
    def has_text(self) -> bool:
        """Whether there was any text other than white space."""
        self._catch_up()
        return self._has_text

    @property
    def held(self) -> str:
        """The text that is held back right now."""
        return "".join(piece.text for piece in self._held)

    def take(self, text: str, source: Any = None) -> SearchResult:
        """Search a text; `source`: the event, if it contains only this text."""
        self._catch_up()
        self._has_text = self._has_text or bool(text.strip())
        found = self._scanner.feed(text)
        if not self._held and found == [text]:
            return SearchResult((TextPiece(text, source),))
        if text:
            self._held.append(TextPiece(text, source, self.behind))
        return self._released(found)

    def close(self, finish: Finish) -> SearchResult:
        """End the search with the answer: decide whether held text is a call."""
        return self._released(self._scanner.close({Finish.COMPLETE: True, Finish.CUT: False}.get(finish)))

    def release(self) -> SearchResult:
        """Release held text unchanged, because something else follows it: it is no call."""
        self._catch_up()
        return self._released(self._scanner.release())

    def show(self, text: str) -> SearchResult:
        """Take text that the client gets in any case: no call, but it may quote one. Returns what was held before."""
        before = self.release() if self._held else SearchResult()
        self.take(text)
        if self._held:
            self.release()
        return before

    def stop(self) -> SearchResult:
        """Stop searching, because the client gets text that cannot be read. Returns what was held before."""
        before = self.release()
        self._scanner.stop()
        return before

    def would_quote_after(self, text: str) -> bool:
        """Whether a call that followed the text so far and `text` would be quoted or only an example."""
        self._catch_up()
        scanner = self._scanner
        return scanner.off or would_quote_after(scanner.quoting_at_end(), self.held + text, self._work)

    def receive(self, literal: bytes, raw: bytes) -> Pass | None:
        """Let the text of an unparsed event pass; None if the scanner has to see it."""
        if not self._scanner.resting:
            return PASS if self._scanner.off and not self._held else None
        if can_open(literal):
            return None
        self._unread.append(literal)
        self._unread_size += len(literal)
        if self._unread_size > self._most_unread:
            self._most_unread = SKIPPED_BEYOND
            self._catch_up()
        return PASS

    def _catch_up(self) -> None:
        """Give the scanner the text that passed without being parsed."""
        if self._unread_size:
            self._work.add_text(self._unread_size)
            text = text_of(self._unread)
            self._unread, self._unread_size = [], 0
            self._has_text = self._has_text or bool(text.strip())
            self._scanner.skip(text)

    def _end_block(self) -> Quoting:
        """Which quotations are still open at the end of this text."""
        self._catch_up()
        quoting = self._scanner.quoting_at_end()
        end_block(quoting, self._work)
        return quoting

    def _released(self, found: list[str | FoundCall]) -> SearchResult:
        parts: list[TextPiece | FoundCall] = []
        behind: Any = None
        for part in found:
            pieces = self._pop_held(len(part) if isinstance(part, str) else len(part.raw))
            # White space in front of a call may have arrived before a structured call, and the call after it.
            behind = next((piece.behind for piece in pieces if piece.text.strip()), behind)
            parts += pieces if isinstance(part, str) else [replace(part, behind=behind)]
        return SearchResult(tuple(parts))

    def _pop_held(self, size: int) -> list[TextPiece]:
        """Remove the next `size` characters of held text; only whole events keep their source."""
        out: list[TextPiece] = []
        while size:
            piece = self._held.popleft()
            if len(piece.text) > size:
                self._held.appendleft(TextPiece(piece.text[size:], behind=piece.behind))
                piece = TextPiece(piece.text[:size], behind=piece.behind)
            out.append(piece)
            size -= len(piece.text)
        return out


def is_searched(request: Request, policy: Policy) -> bool:
    """Whether text is searched for calls at all."""
    if not policy.text_calls or not request.calls_wanted:
        return False
    return any(tool.kind == "function" and policy.touches(tool.name) for tool in request.tools)


def _searched(request: Request, policy: Policy) -> Tools:
    """The tools whose calls are searched for: functions that the client allows and the user wants mended."""
    tools, allowed = request.tools, request.allowed
    if tools.only_functions and allowed is None and not policy.tools:
        return tools
    ours = [tool for tool in tools if tool.kind == "function" and (allowed is None or tool.name in allowed)]
    if policy.tools:
        ours = [tool for tool in ours if policy.touches(tool.name)]
    return tools if len(ours) == len(tools) else Tools(ours)


def _declared(name: str, tools: Tools, ours: Tools) -> str | None:
    """The declared tool that a written name must mean; None if there is none, or its calls are not searched for."""
    named = mend_name(name, tools)
    return named.name if named.tool is not None and ours.get(named.name) is not None else None
