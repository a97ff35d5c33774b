"""Calls one after the other, in a section whose tokens may be missing."""

from __future__ import annotations

from collections.abc import Callable

from .cursor import CutOff, NotACall, Step
from .region import Region

Tokens = tuple[str, ...]


def read_section(
    region: Region, begin: Tokens, call: Tokens, end: Tokens, read_call: Callable[[Region], Step[None]]
) -> Step[None]:
    """Read at least one call. `begin`, `end`: the tokens of the section. `call`: the token that begins a call."""
    yield from region.optional(begin)
    count = 0
    while (yield from region.optional(call)) is not None:
        yield from read_call(region)
        count += 1
    if not count:
        raise CutOff if not (yield from region.peek()) else NotACall
    yield from region.optional(end)
