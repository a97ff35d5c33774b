"""The texts of an answer that are searched one by one: blocks, or parts of items."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..mend.mender import Mender
from ..policy import Policy
from ..request.request import Request
from .structured_text import StructuredText, new_search
from .text_search import TextSearch


class SearchedTexts:
    __slots__ = ("_has_text", "_last", "_new_search", "_stopped")

    def __init__(
        self,
        request: Request,
        policy: Policy,
        mender: Mender,
        *,
        find_calls: bool,
        has_calls: Callable[[], bool] = lambda: False,
    ) -> None:
        """`find_calls`: search them for calls. `has_calls`: whether the answer has calls, so that none of its texts
        is the JSON that was requested."""
        self._new_search = partial(new_search, request, policy, mender, find_calls=find_calls, has_calls=has_calls)
        self._last: TextSearch | StructuredText | None = None
        self._has_text = False
        """One of the texts has more than white space."""
        self._stopped = False
        """The client got text that could not be read: no text is searched any more."""

    def search_of(self, search: TextSearch | StructuredText | None, text: str) -> TextSearch | StructuredText | None:
        """The search that gets this text: the given one, or a new one if that is None."""
        if search is None:
            search = self._new_search(begins=not self._has_text, after=self._last)
            if self._stopped and search is not None:
                search.stop()
        self._last = search
        self._has_text = self._has_text or bool(text.strip())
        return search

    def stop(self) -> None:
        """Search no text that begins from now on."""
        self._stopped = True

    @property
    def has_text(self) -> bool:
        """Whether the texts have anything other than white space."""
        return self._has_text or (self._last is not None and self._last.has_text)

    def is_last(self, search: TextSearch | StructuredText | None) -> bool:
        """Whether this is the search of the last text."""
        return search is not None and search is self._last

    @property
    def undecided(self) -> bool:
        """Whether the end of the last text may still become a call, depending on what follows."""
        return self._last is not None and self._last.undecided

    def waits_for_end(self, text: str) -> bool:
        """Whether this text, if it were the first, would have to wait for what follows."""
        search = self._new_search(begins=not self._has_text)
        if search is not None:
            search.take(text)
        return search is not None and search.undecided
