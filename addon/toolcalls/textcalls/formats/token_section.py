"""A section of calls, each between a begin token and an end token (DeepSeek, Kimi)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..cursor import CutOff, NotACall, Step
from ..region import Region


class TokenSection(NamedTuple):
    """The spellings of each token. The tokens around the section may be missing."""

    begin: tuple[str, ...]
    call: tuple[str, ...]
    call_end: tuple[str, ...]
    end: tuple[str, ...]

    @property
    def openers(self) -> tuple[str, ...]:
        return (*self.begin, *self.call)

    @property
    def behind_a_call(self) -> tuple[str, ...]:
        return (*self.call_end, *self.end, *self.call)

    def read(self, region: Region, read_call: Callable[[Region], Step[None]]) -> Step[None]:
        """Read the section; `read_call` reads a call after its begin token."""
        yield from region.optional(self.begin)
        count = 0
        while (yield from region.optional(self.call)):
            yield from read_call(region)
            count += 1
        if not count:
            raise CutOff if not (yield from region.peek()) else NotACall
        yield from region.optional(self.end)

    def end_call(self, region: Region) -> Step[None]:
        """Read the end token of a call. It may be missing if a token or nothing follows."""
        found, length = yield from region.ahead(self.behind_a_call)
        if found in self.call_end:
            region.pos += length
        elif found is None:
            raise NotACall
