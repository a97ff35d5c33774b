"""Which declared tool a written name means."""

from __future__ import annotations

from collections.abc import Callable

from ..tools.declared import Tools
from ..tools.spelling import declared_of, readings

Resolve = Callable[[str], str | None]


class Names:
    __slots__ = ("_resolve", "_tools", "addressed")

    def __init__(self, tools: Tools, resolve: Resolve | None = None) -> None:
        self._tools = tools
        self._resolve = resolve
        self.addressed: set[str] = set()
        """The recipients that the answer has named so far, in a format that names one for text too."""

    def resolve(self, written: str) -> str | None:
        """The declared tool that a written name means, by its spelling or else by the plugged-in resolver."""
        written = written.strip()
        return self.strict(written) or (self._resolve(written) if self._resolve and written else None)

    def strict(self, written: str) -> str | None:
        """The one declared tool that a written name spells; None if there is none, or more than one."""
        for _, matches in readings(written, declared_of(self._tools)):
            if matches:
                return matches[0].name if len(matches) == 1 else None
        return None

    def begins(self, written: str) -> bool:
        """Whether this can be the beginning of a declared name."""
        return declared_of(self._tools).begins(written)
