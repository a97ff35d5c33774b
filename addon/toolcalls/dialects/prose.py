"""The text of an answer on its way through the search for tool calls written as text.

Shared by the dialects: text in, text and calls out, and an account of what is held back, so that the
books can give it back. With no declared tools there is nothing to search for and no `Prose` at all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..mend.names import mend_name
from ..policy import Policy
from ..textcalls.scanner import FoundCall, Scanner
from ..tools import Tools


@dataclass(slots=True, frozen=True)
class Said:
    """What may go out now."""

    text: str
    calls: tuple[FoundCall, ...] = ()


class Prose:
    """One stream of text: the content of a choice, a text block, a text part."""

    __slots__ = ("_held", "_scanner")

    def __init__(self, tools: Tools, policy: Policy) -> None:
        self._scanner = Scanner(tools, max_held=policy.max_held_bytes, resolve=lambda name: _declared(name, tools))
        self._held: list[str] = []

    @property
    def holding(self) -> bool:
        return bool(self._held)

    @property
    def held(self) -> str:
        """The text that is held back right now."""
        return "".join(self._held)

    def take(self, text: str) -> Said:
        return self._account(text, self._scanner.feed(text))

    def close(self, *, finished: bool) -> Said:
        """The text is over; `finished` is False when the answer was cut off."""
        return self._account("", self._scanner.close(finished))

    def _account(self, text: str, parts: list[str | FoundCall]) -> Said:
        if text:
            self._held.append(text)
        if not parts:
            return Said("")
        out = "".join(part for part in parts if isinstance(part, str))
        calls = tuple(part for part in parts if isinstance(part, FoundCall))
        size = len(out) + sum(len(call.raw) for call in calls)
        if len(self._held) == 1 and size == len(text):
            self._held.clear()
        else:
            rest = self.held[size:]
            self._held = [rest] if rest else []
        return Said(out, calls)

    def quiet(self, block: bytes, pattern: re.Pattern[bytes]) -> bool:
        """A cheap look at whole events: True only if no text in them can matter. `pattern` finds their texts:
        the first group is the text up to its end or its first backslash, the second that character."""
        if self._held:
            return False
        for text, end in pattern.findall(block):
            if end != b'"' or self._scanner.needs(text.decode("utf-8", "replace")):
                return False
        return True


def _declared(name: str, tools: Tools) -> str | None:
    """The declared tool that a written name can only mean."""
    named = mend_name(name, tools)
    return named.name if named.tool is not None and named.tool.kind == "function" else None


def search(text: str, tools: Tools, policy: Policy, *, finished: bool) -> Said:
    """The same for a text that is here as a whole."""
    prose = Prose(tools, policy)
    first, last = prose.take(text), prose.close(finished=finished)
    return Said(first.text + last.text, first.calls + last.calls)


def searches(tools: Tools, policy: Policy) -> bool:
    """Is text searched for calls at all?"""
    return policy.text_calls and len(tools) > 0
