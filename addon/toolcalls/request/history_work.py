"""The work budget for one history, counted in steps before the work is done, so that no long history stops the proxy.

Each pass over a history visits all its entries, and may end in a walk over the text to change them. A pass that would
be too much is not made: the history is sent as the passes before left it. A history gets the same passes in every
later request, until it is too long, so that prompt caches hold.
"""

from __future__ import annotations

from typing import Any, Final

from ..work import TooMuchWork, Work
from .contents_as_messages import inner

LOOKING: Final = 2
RECALLING: Final = 12
MENDING: Final = 6
PAIRING: Final = 20
LOOPS: Final = 2
"""Steps per entry, for each kind of pass."""

_MOST: Final = 180_000
"""About 45 ms. A turn of one call and its result is three or four entries: 1,200 to 1,600 such turns get all passes,
and 4,500 to 5,800 the pass over ids and arguments."""
_MESSAGES: Final = ("messages", "contents")
_INSIDE: Final = ("tool_calls", "content", "parts")


class HistoryWork:
    """The steps that are left for one request."""

    __slots__ = ("_body", "_entries", "_left", "_walk", "exceeded")

    def __init__(self, request: dict[str, Any], body: bytes) -> None:
        self._left = Work(_MOST)
        self._entries = _entries_of(request)
        self._body = body
        self._walk: int | None = None
        self.exceeded = False
        """A pass was not made."""

    def allows(self, steps: int) -> bool:
        """Whether a pass with this many steps per entry is allowed; once one is not, no later pass is."""
        return self._may_spend(steps * self._entries)

    def allows_changes(self, steps: int) -> bool:
        """Whether a pass is allowed that may change the text, which is walked then. Long strings are no work."""
        if self._walk is None:
            # Keys, and items of lists. Commas count little, because most are inside texts such as code and tables.
            self._walk = (self._body.count(b'":') >> 1) + (self._body.count(b",") >> 4)
        return self._may_spend(self._walk) and self.allows(steps)

    def _may_spend(self, steps: int) -> bool:
        try:
            self._left.spend(steps)
        except TooMuchWork:
            self.exceeded = True
        return not self.exceeded


def _entries_of(request: dict[str, Any]) -> int:
    """The number of messages, calls and blocks of a history; a Responses item counts as a message and a call."""
    asked = inner(request)[0]
    items = asked.get("input")
    messages = [message for key in _MESSAGES if isinstance(asked.get(key), list) for message in asked[key]]
    inside = (message.get(key) for message in messages if isinstance(message, dict) for key in _INSIDE)
    blocks = sum(len(one) for one in inside if isinstance(one, list))
    return 2 * len(items) + len(messages) + blocks if isinstance(items, list) else len(messages) + blocks
