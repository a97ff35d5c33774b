"""Which declared tool a written name means. Exact, or one tool after folding case and separators."""

from __future__ import annotations

import re
from collections.abc import Callable

from ..tools import Tools

Resolve = Callable[[str], str | None]

_PREFIX = re.compile(r"(?:(?:functions?|tools?|default_api|namespace)[.:/])+", re.IGNORECASE)
_INDEX = re.compile(r":\d{1,6}$")
_SEPARATORS = re.compile(r"[-_.\s:/]+")
_PREFIXES = ("functions.", "function.", "tools.", "tool.", "default_api.")


def fold(name: str) -> str:
    if name.isidentifier():
        return name.replace("_", "").lower()
    return _SEPARATORS.sub("", name).lower()


class Names:
    # Both are made when the first opener asks: most answers have none.
    __slots__ = ("_by_fold", "_names", "_resolve", "_tools", "addressed")

    def __init__(self, tools: Tools, resolve: Resolve | None = None) -> None:
        self._tools = tools
        self._names: frozenset[str] = frozenset()
        self._by_fold: dict[str, str | None] = {}
        self._resolve = resolve
        self.addressed: set[str] = set()
        """Whom the answer has spoken to so far, in a format that names the recipient of text too."""

    @property
    def _exact(self) -> frozenset[str]:
        if not self._names:
            self._names = frozenset(tool.name for tool in self._tools)
        return self._names

    @property
    def _folded(self) -> dict[str, str | None]:
        if not self._by_fold:
            for name in self._exact:
                key = fold(name)
                self._by_fold[key] = None if key in self._by_fold else name
        return self._by_fold

    def resolve(self, written: str) -> str | None:
        written = written.strip()
        return self.strict(written) or (self._resolve(written) if self._resolve and written else None)

    def strict(self, written: str) -> str | None:
        """As `resolve`, without the plugged-in resolver."""
        if written in self._exact:
            return written
        bare = _INDEX.sub("", _PREFIX.sub("", written, count=1) if _PREFIX.match(written) else written)
        if bare in self._exact:
            return bare
        return self._folded.get(fold(bare))

    def begins(self, written: str) -> bool:
        """Can this be the beginning of a declared name?"""
        low = written.lower()
        if any(prefix.startswith(low) for prefix in _PREFIXES):
            return True
        match = _PREFIX.match(written)
        key = fold(written[match.end() :] if match else written)
        return any(folded.startswith(key) for folded in self._folded)
