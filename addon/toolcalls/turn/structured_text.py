"""The text of an answer that the request wanted as JSON.

As long as it is strict JSON it passes as it comes. From the event on in which it stops being that (a fence, other
words, a broken value) it is held; at the end it is mended (`mend/structured.py`), or goes out as it came. Where text
is searched for calls too, that search comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from ..mend.finish import Finish
from ..mend.mender import Mender
from ..mend.prefix import StrictPrefix
from ..policy import Policy
from ..request.request import Request
from ..textcalls.lead_ins.taken_back import takes_back
from ..textcalls.scanner import FoundCall
from ..unread.template import decoded
from ..wire.events import PASS, Pass
from .text_search import SearchResult, TextPiece, TextSearch

_MOST: Final = 64 * 1024
"""Longer text that is broken is not mended, as long arguments are not."""

_SCALARS: Final = tuple('"-0123456789')
"""A text that begins so is a string or a number, if it is JSON at all: nothing to be mended."""

MendRest = Callable[[str, str, Finish], str | None]
"""The text, the beginning that the client has, how the answer ended → the whole text; None where nothing changes."""


class StructuredText:
    """Has the members of a `TextSearch`."""

    __slots__ = ("_held", "_mend", "_prefix", "_sent", "_size", "_spoke", "mended", "search")

    def __init__(self, search: TextSearch | None, mend: MendRest) -> None:
        self.search = search
        """The search for calls, where there is one."""
        self._mend: MendRest | None = mend
        """None once nothing is mended any more."""
        self.mended: str | None = None
        """The whole text, where it was mended."""
        self._prefix = StrictPrefix(lists=True)
        self._sent: list[str] = []
        self._held: list[TextPiece] = []
        self._size = 0
        """How much text came."""
        self._spoke = False

    @property
    def holding(self) -> bool:
        return bool(self._held) or (self.search is not None and self.search.holding)

    @property
    def undecided(self) -> bool:
        """Is text held until it is known how the text ends?"""
        return bool(self._held) or self._lacks_end or (self.search is not None and self.search.undecided)

    @property
    def _lacks_end(self) -> bool:
        """Is what went out not closed yet? At the end of the answer something is missing then."""
        return self._mend is not None and bool(self._sent) and not self._prefix.complete

    @property
    def spoke(self) -> bool:
        """Was anything said but white space?"""
        return self._spoke

    @property
    def held(self) -> str:
        """The text that is held back right now."""
        return "".join(piece.text for piece in self._held) + (self.search.held if self.search is not None else "")

    def take(self, text: str, source: Any = None) -> SearchResult:
        """Look at a text; `source` is the event that says it and nothing else."""
        self._spoke = self._spoke or bool(text.strip())
        found = self.search.take(text, source).parts if self.search is not None else (TextPiece(text, source),)
        return self._looked_at(found)

    def pass_on(self) -> SearchResult:
        """Something else follows what is held: so that is no answer in JSON, and goes out as it came."""
        found = self.search.pass_on().parts if self.search is not None else ()
        return SearchResult((*self._let_go(), *found))

    def close(self, finish: Finish) -> SearchResult:
        """The answer is over: what is held is mended, or goes out as it came."""
        found = self.search.close(finish) if self.search is not None else SearchResult()
        looked = self._looked_at(found.parts)
        if self._mend is None or not (self._held or self._lacks_end):
            return SearchResult((*looked.parts, *self._let_go()))
        sent = "".join(self._sent)
        whole = self._mend(sent + "".join(piece.text for piece in self._held), sent, finish)
        if whole is None:
            return SearchResult((*looked.parts, *self._let_go()))
        self._let_go()
        self.mended = whole
        return SearchResult((*looked.parts, TextPiece(whole[len(sent) :])))

    def receive(self, literal: bytes, raw: bytes) -> Pass | None:
        """Let the text of an event pass that is not read: None where it has to be."""
        if self.search is not None or self._held:
            return None
        text = decoded(literal)
        if text is None:
            return None
        if self._mend is not None:
            if self._prefix.feed(text) < len(text):
                return None
            self._keep(text)
        return PASS

    def _looked_at(self, parts: Iterable[TextPiece | FoundCall]) -> SearchResult:
        out: list[TextPiece | FoundCall] = []
        for part in parts:
            if (
                isinstance(part, TextPiece)
                and not (self._sent or self._held)
                and part.text.lstrip().startswith(_SCALARS)
            ):
                self._let_go()
            if isinstance(part, FoundCall):
                # The answer is a call: what is said beside it is not the JSON that was asked for.
                out += [*self._let_go(), part]
            elif self._mend is None or (not self._held and self._prefix.feed(part.text) == len(part.text)):
                out.append(part)
                self._keep(part.text)
            else:
                self._held.append(part)
                self._size += len(part.text)
                out += self._let_go() if self._size > _MOST else ()
        return SearchResult(tuple(out))

    def _keep(self, text: str) -> None:
        """A part of the JSON that went out."""
        if self._mend is None:
            return
        self._sent.append(text)
        self._size += len(text)
        if self._size > _MOST:
            self._let_go()

    def _let_go(self) -> list[TextPiece]:
        """Nothing is mended from here on; what was held goes out."""
        held, self._held = self._held, []
        self._sent.clear()
        self._mend = None
        return held


def mends_structured(request: Request, policy: Policy) -> bool:
    """Is the text of the answer JSON that was asked for, and mended as such?"""
    return policy.structured and request.structured is not None


def structured_around(
    search: TextSearch | None,
    request: Request,
    policy: Policy,
    mender: Mender,
    has_calls: Callable[[], bool] = lambda: False,
) -> TextSearch | StructuredText | None:
    """What a text of the answer goes through: the search for calls, and the mending of JSON; None if neither applies.

    `has_calls`: asked at the end of the text, whether the answer is calls instead.
    """
    wanted = request.structured if policy.structured else None
    if wanted is None:
        return search
    mend = mender.mend_structured
    return StructuredText(
        search, lambda text, sent, finish: None if has_calls() else mend(text, sent, wanted, finish, takes_back)
    )
