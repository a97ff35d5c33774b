"""Calls at the very end of the reasoning of an answer that says nothing else.

Some servers never notice that the model has stopped thinking: its call arrives as reasoning, and the answer ends
without a word. Models also rehearse calls in their thoughts, so nothing counts that is followed by anything: by more
reasoning, a text, a call. The reasoning itself passes as it comes. It is watched, never held, and what is
kept of it is a region that may still turn out to be a call.
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

    __slots__ = ("_answered", "_search")

    def __init__(self, request: Request, policy: Policy) -> None:
        self._search = TextSearch(request, policy)
        self._answered = False

    @property
    def undecided(self) -> bool:
        """Is there a call at the end of the reasoning, or the beginning of one?"""
        return not self._answered and self._search.undecided

    def take(self, text: str) -> None:
        """The model thinks."""
        if self._answered or not text:
            return
        try:
            self._search.take(text)
        except TooMuchWork:
            self.answered()

    def answered(self) -> None:
        """Something else was said: whatever was thought is a thought."""
        self._answered = True

    def close(self, finish: Finish) -> tuple[FoundCall, ...]:
        """The calls that the reasoning ends with. Only a model that says it is done may mean them."""
        if not self.undecided or finish is not Finish.COMPLETE:
            return ()
        self._answered = True
        try:
            return self._search.close(finish).calls
        except TooMuchWork:
            return ()

    def receive(self, literal: bytes, raw: bytes) -> Pass | None:
        """Watch the reasoning of an event that is not read: None where it is no JSON string."""
        if not self._answered and self._search.receive(literal, raw) is None:
            text = decoded(literal)
            if text is None:
                return None
            self.take(text)
        return PASS
