"""The text of an answer on its way through the search for tool calls written as text.

Shared by the dialects: text in, text and calls out, and an account of what is held back, so that the
books can give it back. With no declared tools there is nothing to search for and no `Prose` at all.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from json import decoder
from typing import Any, NamedTuple

from ..calls import Outcome
from ..mend.arguments import Finish, mend_arguments
from ..mend.call import Mender
from ..mend.names import mend_name
from ..policy import Policy
from ..textcalls.quoting import QUOTES
from ..textcalls.scanner import FoundCall, Scanner
from ..tools import Tools

WRITTEN_AS_TEXT = "written as text"

_read_string = decoder.scanstring  # type: ignore[attr-defined]  # what `json.loads` itself reads a string with


class Piece(NamedTuple):
    """Text of one event. `source` is the event, if this is all that it says: then it can go out as it came."""

    text: str
    source: Any = None


@dataclass(slots=True, frozen=True)
class Said:
    """What may go out now, in the order in which it was said."""

    parts: tuple[Piece | FoundCall, ...] = ()

    @property
    def pieces(self) -> list[Piece]:
        return [part for part in self.parts if isinstance(part, Piece)]

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)

    @property
    def calls(self) -> tuple[FoundCall, ...]:
        return tuple(part for part in self.parts if isinstance(part, FoundCall))


class Prose:
    """One stream of text: the content of a choice, a text block, a text part."""

    __slots__ = ("_ahead", "_held", "_new_scanner", "_scanner")

    def __init__(self, tools: Tools, policy: Policy, *, begins: bool = True) -> None:
        """`begins`: nothing was said before, so that this may be a message that is nothing but a call."""
        ours = _searched(tools, policy)
        self._new_scanner = partial(
            Scanner, ours, max_held=policy.max_held_bytes, resolve=lambda name: _declared(name, tools, ours)
        )
        self._scanner = self._new_scanner(begins=begins)
        self._held: deque[Piece] = deque()
        self._ahead: deque[tuple[str, list[str | FoundCall]]] = deque()
        """Texts that were searched before their events are read."""

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

    def take(self, text: str, source: Any = None) -> Said:
        if not self._ahead:
            found = self._scanner.feed(text)
        else:
            known, found = self._ahead.popleft()
            if known != text:
                before = self._search_anew()
                return Said(before + self.take(text, source).parts)
        if not self._held and found == [text]:
            return Said((Piece(text, source),))
        if text:
            self._held.append(Piece(text, source))
        return self._released(found)

    def close(self, *, finished: bool) -> Said:
        """The text is over; `finished` is False when the answer was cut off."""
        if self._ahead:
            return Said(self._search_anew())
        return self._released(self._scanner.close(finished))

    def _search_anew(self) -> tuple[Piece, ...]:
        """A text was searched that nobody told: its event could not be read. What is held goes on as it is."""
        held = tuple(self._held)
        self._held.clear()
        self._ahead.clear()
        self._scanner = self._new_scanner(begins=False)
        return held

    def _released(self, found: list[str | FoundCall]) -> Said:
        parts: list[Piece | FoundCall] = []
        for part in found:
            pieces = self._taken(len(part) if isinstance(part, str) else len(part.raw))
            parts += pieces if isinstance(part, str) else [part]
        return Said(tuple(parts))

    def _taken(self, size: int) -> list[Piece]:
        """So many characters of what is held: whole events as they came, parts of events as text."""
        out: list[Piece] = []
        while size:
            piece = self._held.popleft()
            if len(piece.text) > size:
                self._held.appendleft(Piece(piece.text[size:]))
                piece = Piece(piece.text[:size])
            out.append(piece)
            size -= len(piece.text)
        return out

    def calm(self, block: bytes, field: Field) -> bool:
        """A cheap look at whole events: is there nothing in their texts that could matter?"""
        if self._held or self._ahead or not self._scanner.calm:
            return False
        count = block.count(field.key)
        return field.calm.search(block) is not None if count == 1 else len(field.calm.findall(block)) == count

    def passes(self, block: bytes, field: Field, *, exact: bool) -> bool:
        """A closer look: do their texts go on as they are? `exact`: the texts that are found are those that
        will be taken, one after the other, where the events have to be read after all."""
        if self._held:
            return False
        texts = field.text.findall(block)
        if not exact:
            needs = self._scanner.needs
            return not self._ahead and not any(
                b"\\" in text or needs(text.decode("utf-8", "replace")) for text in texts
            )
        try:
            return self._search_ahead([_read(text) for text in texts])
        except ValueError:  # no JSON: whoever reads the event will see
            return False

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
        for text in filter(None, texts):
            found = self._scanner.feed(text)
            ahead.append((text, found))
            if found != [text]:
                return False
        ahead.clear()
        return True


class Field:
    """Where the text of an event stands: its key, and how its values are found without reading the event."""

    __slots__ = ("calm", "key", "text")

    def __init__(self, name: str) -> None:
        self.key = f'"{name}"'.encode()
        value = self.key + rb'\s*:\s*"'
        # Nothing of what `Scanner.needs` looks for, nor an escape that could hide it.
        calm = rb"[^\"\\<\[\]`=']*"
        widths: dict[int, list[bytes]] = {}
        for quote in sorted(QUOTES):
            widths.setdefault(len(quote.encode()), []).append(re.escape(quote.encode()))
        unquoted = b"".join(b"(?<!%b)" % b"|".join(same) for same in widths.values())
        self.calm = re.compile(value + calm + rb"(?:(?:'[a-z]|=(?=[^f\"\\]))" + calm + rb")*" + unquoted + rb'"')
        self.text = re.compile(value + rb'([^"\\]*(?:\\.[^"\\]*)*)"', re.DOTALL)


def _read(text: bytes) -> str:
    """The value of a JSON string without its quotes."""
    plain = text.decode("utf-8", "replace")
    return _read_string(f'{plain}"', 0)[0] if "\\" in plain else plain


def searches(tools: Tools, policy: Policy) -> bool:
    """Is text searched for calls at all?"""
    return policy.text_calls and len(_searched(tools, policy)) > 0


def search(text: str, tools: Tools, policy: Policy, *, finished: bool, begins: bool = True) -> Said:
    """The same for a text that is here as a whole."""
    prose = Prose(tools, policy, begins=begins)
    first, last = prose.take(text), prose.close(finished=finished)
    return Said(first.parts + last.parts)


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


def _searched(tools: Tools, policy: Policy) -> Tools:
    """The tools whose calls are looked for: functions that the user wants touched."""
    ours = [tool for tool in tools if tool.kind == "function" and policy.touches(tool.name)]
    return tools if len(ours) == len(tools) else Tools(ours)


def _declared(name: str, tools: Tools, ours: Tools) -> str | None:
    """The declared tool that a written name can only mean."""
    named = mend_name(name, tools)
    return named.name if named.tool is not None and ours.get(named.name) is not None else None
