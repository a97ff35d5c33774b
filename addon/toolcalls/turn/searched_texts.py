"""The texts of an answer that are looked at one by one: blocks, or parts of items."""

from __future__ import annotations

from collections.abc import Callable

from ..mend.mender import Mender
from ..policy import Policy
from ..request.request import Request
from .structured_text import StructuredText, structured_around
from .text_search import TextSearch, searches


class SearchedTexts:
    __slots__ = ("_last", "_new_search", "_spoken")

    def __init__(
        self, request: Request, policy: Policy, mender: Mender, *, has_calls: Callable[[], bool] = lambda: False
    ) -> None:
        """`has_calls`: the answer is calls, so that no text of it is the JSON that was asked for."""
        searched = searches(request, policy)

        def new_search(after: TextSearch | StructuredText | None) -> TextSearch | StructuredText | None:
            before = after.search if isinstance(after, StructuredText) else after
            search = TextSearch(request, policy, begins=not self._spoken, after=before) if searched else None
            return structured_around(search, request, policy, mender, has_calls)

        self._new_search = new_search
        self._last: TextSearch | StructuredText | None = None
        self._spoken = False
        """Something was said in one of them."""

    def search_of(self, search: TextSearch | StructuredText | None, text: str) -> TextSearch | StructuredText | None:
        """The search that gets this text: the given one, or a new one if that is None."""
        self._last = self._new_search(self._last) if search is None else search
        self._spoken = self._spoken or not text.isspace()
        return self._last

    @property
    def spoke(self) -> bool:
        """Was anything said in them but white space?"""
        return self._spoken or (self._last is not None and self._last.spoke)

    def is_last(self, search: TextSearch | StructuredText | None) -> bool:
        """Is it the text that was looked at last?"""
        return search is not None and search is self._last

    @property
    def undecided(self) -> bool:
        """May the last words still turn out to be a call, depending on what follows?"""
        return self._last is not None and self._last.undecided

    def waits_for_end(self, text: str) -> bool:
        """Would this text, searched from its beginning, wait for what follows?"""
        search = self._new_search(None)
        if search is not None:
            search.take(text)
        return search is not None and search.undecided
