"""The texts of an answer that are looked at one by one: blocks, or parts of items."""

from __future__ import annotations

from collections.abc import Callable

from ..mend.call import Mender
from ..policy import Policy
from ..request.request import Request
from .structured_text import StructuredText, structured_around
from .text_search import TextSearch, searches


class SearchedTexts:
    __slots__ = ("_begin", "_last", "_spoken")

    def __init__(
        self, request: Request, policy: Policy, mender: Mender, *, has_calls: Callable[[], bool] = lambda: False
    ) -> None:
        """`has_calls`: the answer is calls, so that no text of it is the JSON that was asked for."""
        searched = searches(request, policy)

        def begin(after: TextSearch | StructuredText | None) -> TextSearch | StructuredText | None:
            before = after.search if isinstance(after, StructuredText) else after
            search = TextSearch(request, policy, begins=not self._spoken, after=before) if searched else None
            return structured_around(search, request, policy, mender, has_calls)

        self._begin = begin
        self._last: TextSearch | StructuredText | None = None
        self._spoken = False
        """Something was said in one of them."""

    def search_of(self, search: TextSearch | StructuredText | None, text: str) -> TextSearch | StructuredText | None:
        """Whoever looks at the text that says this next; None: it begins."""
        self._last = self._begin(self._last) if search is None else search
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
        """Does it depend on what follows what becomes of the last words that were said?"""
        return self._last is not None and self._last.undecided

    def waits_for_end(self, text: str) -> bool:
        """Would it depend on what follows what becomes of a text that nobody has looked at?"""
        search = self._begin(None)
        if search is not None:
            search.take(text)
        return search is not None and search.undecided
