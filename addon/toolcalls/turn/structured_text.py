"""The text of an answer that the request wanted as JSON.

As long as it is strict JSON it passes at once. From the event on in which it is not (a fence, other words, a broken
value) it is held; at the end it is mended (`mend/structured.py`) or sent as it arrived. If text is also searched for
calls, that search comes first.
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
"""Broken text with more characters is not mended, like long arguments."""

_SCALARS: Final = tuple('"-0123456789')
"""A text that begins like this is a string or a number, if it is JSON at all: nothing to mend."""

MendRest = Callable[[str, str, Finish], str | None]
"""The text, the beginning that the client has, how the answer ended → the whole text; None if nothing changes."""


class StructuredText:
    """One text that was requested as JSON. Used like a `TextSearch`."""

    __slots__ = ("_has_text", "_held", "_mend", "_prefix", "_sent", "_size", "mended", "search")

    def __init__(self, search: TextSearch | None, mend: MendRest) -> None:
        self.search = search
        """The search for calls, if text is searched."""
        self._mend: MendRest | None = mend
        """None once nothing is mended any more."""
        self.mended: str | None = None
        """The whole text, if it was mended."""
        self._prefix = StrictPrefix(lists=True)
        self._sent: list[str] = []
        self._held: list[TextPiece] = []
        self._size = 0
        """How many characters have arrived."""
        self._has_text = False

    @property
    def behind(self) -> Any:
        """The last structured call before the text that arrives now."""
        return self.search.behind if self.search is not None else None

    @behind.setter
    def behind(self, call: Any) -> None:
        if self.search is not None:
            self.search.behind = call

    @property
    def holding(self) -> bool:
        return bool(self._held) or (self.search is not None and self.search.holding)

    @property
    def undecided(self) -> bool:
        """Whether the text can only be decided at its end."""
        return bool(self._held) or self._lacks_end or (self.search is not None and self.search.undecided)

    @property
    def _lacks_end(self) -> bool:
        """Whether the JSON sent so far is incomplete: if the answer ended now, something would be missing."""
        return self._mend is not None and bool(self._sent) and not self._prefix.complete

    @property
    def has_text(self) -> bool:
        """Whether there was any text other than white space."""
        return self._has_text

    @property
    def held(self) -> str:
        """The text that is held back right now."""
        return "".join(piece.text for piece in self._held) + (self.search.held if self.search is not None else "")

    def take(self, text: str, source: Any = None) -> SearchResult:
        """Take the next text; `source`: the event, if it contains only this text."""
        self._has_text = self._has_text or bool(text.strip())
        found = self.search.take(text, source).parts if self.search is not None else (TextPiece(text, source),)
        return self._pass_or_hold(found)

    def release(self) -> SearchResult:
        """Release held text unchanged, because something else follows it: it is not the requested JSON."""
        found = self.search.release().parts if self.search is not None else ()
        return SearchResult((*self._stop_mending(), *found))

    def show(self, text: str) -> SearchResult:
        """Take text that the client gets in any case, so the rest is not all of the JSON. Returns what was held."""
        before = self.release()
        self._has_text = self._has_text or bool(text.strip())
        if self.search is not None:
            self.search.show(text)
        return before

    def stop(self) -> SearchResult:
        """Stop searching and mending, because the client gets text that cannot be read. Returns what was held."""
        before = self.release()
        if self.search is not None:
            self.search.stop()
        return before

    def close(self, finish: Finish) -> SearchResult:
        """End the text with the answer: held text is mended or released unchanged."""
        found = self.search.close(finish) if self.search is not None else SearchResult()
        passed = self._pass_or_hold(found.parts)
        if self._mend is None or not (self._held or self._lacks_end):
            return SearchResult((*passed.parts, *self._stop_mending()))
        sent = "".join(self._sent)
        whole = self._mend(sent + "".join(piece.text for piece in self._held), sent, finish)
        if whole is None:
            return SearchResult((*passed.parts, *self._stop_mending()))
        self._stop_mending()
        self.mended = whole
        return SearchResult((*passed.parts, TextPiece(whole[len(sent) :])))

    def receive(self, literal: bytes, raw: bytes) -> Pass | None:
        """Let the text of an unparsed event pass; None if the event has to be parsed."""
        if self.search is not None or self._held:
            return None
        text = decoded(literal)
        if text is None:
            return None
        if self._mend is not None:
            if self._prefix.feed(text) < len(text):
                return None
            self._remember(text)
        return PASS

    def _pass_or_hold(self, parts: Iterable[TextPiece | FoundCall]) -> SearchResult:
        """Hold these parts from the first on that is no strict JSON; return those before it, and all calls."""
        out: list[TextPiece | FoundCall] = []
        for part in parts:
            if (
                isinstance(part, TextPiece)
                and not (self._sent or self._held)
                and part.text.lstrip().startswith(_SCALARS)
            ):
                self._stop_mending()
            if isinstance(part, FoundCall):
                # The answer is a call: the text beside it is not the requested JSON.
                out += [*self._stop_mending(), part]
            elif self._mend is None or (not self._held and self._prefix.feed(part.text) == len(part.text)):
                out.append(part)
                self._remember(part.text)
            else:
                self._held.append(part)
                self._size += len(part.text)
                out += self._stop_mending() if self._size > _MOST else ()
        return SearchResult(tuple(out))

    def _remember(self, text: str) -> None:
        """Remember a part of the JSON that is sent."""
        if self._mend is None:
            return
        self._sent.append(text)
        self._size += len(text)
        if self._size > _MOST:
            self._stop_mending()

    def _stop_mending(self) -> list[TextPiece]:
        """Stop mending and return the held text, which is sent unchanged."""
        held, self._held = self._held, []
        self._sent.clear()
        self._mend = None
        return held


def mends_structured(request: Request, policy: Policy) -> bool:
    """Whether the request asked for JSON, and the text is mended as such."""
    return policy.structured and request.structured is not None


def new_search(
    request: Request,
    policy: Policy,
    mender: Mender,
    *,
    find_calls: bool,
    begins: bool = True,
    after: TextSearch | StructuredText | None = None,
    has_calls: Callable[[], bool] = lambda: False,
) -> TextSearch | StructuredText | None:
    """What a text of the answer goes through: the search for calls, the mending of JSON, both, or None.

    `find_calls`: text is searched for calls. `begins`, `after`: see `TextSearch`. `has_calls`: called at the end of
    the text; whether the answer has calls, so that the text is not the JSON.
    """
    before = after.search if isinstance(after, StructuredText) else after
    search = TextSearch(request, policy, begins=begins, after=before) if find_calls else None
    wanted = request.structured if policy.structured else None
    if wanted is None:
        return search
    mend = mender.mend_structured
    return StructuredText(
        search, lambda text, sent, finish: None if has_calls() else mend(text, sent, wanted, finish, takes_back)
    )
