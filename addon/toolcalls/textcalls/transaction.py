"""Whether a region stands: what may follow a call, and which text each call takes the place of."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from .cursor import CutOff, NotACall, Step
from .formats import ORPHANS
from .openers import BY_OPENER, CHAINED
from .region import Draft, Format, Region


def anywhere(format: Format, thinking: bool, inline: bool) -> Callable[[Region], Step[int]]:
    def read(region: Region) -> Step[int]:
        current, end = format, 0
        while True:
            try:
                yield from current.read(region)
            except NotACall:
                if current.tokens and end and not thinking:
                    return end
                raise
            end = region.offset
            while (yield from region.optional(ORPHANS, space=False)):
                end = region.offset
            # The closers of a wrapper belong to its last call.
            if region.items:
                region.items[-1] = (end, region.items[-1][1])
            char = yield from region.peek()
            if current.tokens and char.isalpha() and not thinking and not inline:
                return end
            yield from region.space(" \t\r\n" if thinking else " \t\r")
            char = yield from region.peek()
            if not char and inline and not current.tokens and not region.finished:
                raise NotACall  # a sentence that was cut off behind its example
            if not char or (char == "\n" and not thinking):
                return end
            opener, _ = yield from region.ahead(CHAINED, space=False)
            if not opener:
                raise NotACall  # prose follows on the same line: it speaks about the call
            current = BY_OPENER[opener]

    return read


def entire_message(format: Format) -> Callable[[Region], Step[int]]:
    def read(region: Region) -> Step[int]:
        try:
            yield from format.read(region)
        except CutOff:
            raise NotACall from None
        end = region.offset
        if region.items:
            region.items[-1] = (end, region.items[-1][1])
        yield from region.space()
        if (yield from region.peek()) or any(draft is None for _, draft in region.items):
            raise NotACall
        if not region.finished:
            raise NotACall  # the answer was cut off: this is not the entire message
        return end

    return read


def parted(whole: str, items: list[tuple[int, Draft | None]], proven: int) -> list[str | tuple[Draft, str]]:
    """The region's text, each call in the place of its own part of it."""
    ends = [0, *(end for end, _ in items)]
    out: list[str | tuple[Draft, str]] = []
    for (start, end), (_, draft) in zip(pairwise(ends), items, strict=True):
        if draft is None:
            out.append(whole[start:end])
        else:
            out.append((draft, whole[start:end]))
    if ends[-1] < proven:
        out.append(whole[ends[-1] : proven])
    return out
