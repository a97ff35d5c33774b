"""Calls at the very end of the reasoning, in an answer that has nothing else.

Some servers do not notice the end of the reasoning: the call arrives as reasoning, and the answer ends without text.
Models also rehearse calls while reasoning, so a call that is followed by anything (more reasoning, text, a call)
does not count. The reasoning itself passes at once: it is watched, never held, and only the part that may still
become a call is kept in memory.
"""

from __future__ import annotations

from ..mend.finish import Finish
from ..policy import Policy
from ..request.request import Request
from ..textcalls.scanner import FoundCall
from ..unread.template import decoded
from ..wire.events import PASS, Pass
from ..work import TooMuchWork
from .text_search import TextSearch


class ReasoningSearch:
    """The reasoning of one answer."""

    __slots__ = ("_policy", "_request", "_ruled_out", "_search")

    def __init__(self, request: Request, policy: Policy) -> None:
        self._request = request
        self._policy = policy
        self._search: TextSearch | None = None
        """Created when reasoning arrives: most answers have none."""
        self._ruled_out = False
        """No call in the reasoning counts, or the one at its end has been taken."""

    @property
    def undecided(self) -> bool:
        """Whether the reasoning ends with a call or the beginning of one."""
        return not self._ruled_out and self._search is not None and self._search.undecided

    def take(self, text: str) -> None:
        """Take the next text of the reasoning."""
        if self._ruled_out or not text:
            return
        try:
            self._search = self._search or TextSearch(self._request, self._policy)
            self._search.take(text)
        except TooMuchWork:
            self.rule_out_calls()

    def rule_out_calls(self) -> None:
        """Something else followed the reasoning: no call in it counts."""
        self._ruled_out = True

    def close(self, finish: Finish) -> tuple[FoundCall, ...]:
        """The calls that the reasoning ends with; none unless the finish reason says that the answer is complete."""
        if not self.undecided or finish is not Finish.COMPLETE:
            return ()
        self._ruled_out = True
        try:
            return self._search.close(finish).calls if self._search is not None else ()
        except TooMuchWork:
            return ()

    def receive(self, literal: bytes, raw: bytes) -> Pass | None:
        """Watch the reasoning of an unparsed event; None if it is no valid JSON string."""
        if not self._ruled_out and (self._search is None or self._search.receive(literal, raw) is None):
            text = decoded(literal)
            if text is None:
                return None
            self.take(text)
        return PASS
