"""Whether a region stands: what may follow a call, and which text each call takes the place of.

A model that calls a tool stops there. So a call counts only where nothing but calls, white space and the special
tokens of a template follow it up to the end of the answer; whatever else follows shows that it was quoted.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from .cursor import CutOff, NotACall, Step
from .openers import BY_OPENER, CHAINED
from .region import Format, ProvenCall, Region
from .tokens import BEHIND_A_CALL, OF_SOMEBODY_ELSE

CONSENT = frozenset({"ok", "okay", "sure", "done", "yes", "right", "alright", "certainly", "checking", "running"})
"""What a model may say behind its call without taking it back, where its template lets it speak there."""
_LONGEST_CONSENT = 16


def anywhere(format: Format, *, begins: bool) -> Callable[[Region], Step[int]]:
    """Calls of any format up to the end of the answer. `begins`: nothing was said before them."""

    def read(region: Region) -> Step[int]:
        current = format
        while True:
            yield from current.read(region)
            yield from region.finish()
            end, at_head = yield from _behind(region)
            char = yield from region.peek()
            if not char:
                return end
            glued = begins and format.text_follows and current is format and end == region.offset
            if glued and (yield from _is_word_of_consent(region)):
                return end
            opener, _ = yield from region.ahead(tuple(BY_OPENER) if at_head else CHAINED, space=False)
            if not opener or region.answered:
                raise NotACall
            current = BY_OPENER[opener]

    return read


def _is_word_of_consent(region: Region) -> Step[bool]:
    """Is all that follows one word that takes nothing back?"""
    word = ""
    for place in range(_LONGEST_CONSENT):
        char = yield from region.character(place)
        if not char:
            return word in CONSENT
        word = (word + char).rstrip(" .!\r\n").lower()
        if not any(consent.startswith(word) for consent in CONSENT):
            return False
    return False


def entire_message(format: Format) -> Callable[[Region], Step[int]]:
    """Calls of a weak format, which have to be all that the message says."""

    def read(region: Region) -> Step[int]:
        try:
            yield from format.read(region)
        except CutOff:
            raise NotACall from None
        end, _ = yield from _behind(region)
        if (yield from region.peek()) or any(call is None for _, call in region.items):
            raise NotACall
        return end

    return read


def _behind(region: Region) -> Step[tuple[int, bool]]:
    """Past white space and the tokens that belong to the last call: where those end, and whether a line begins."""
    end = region.offset
    while True:
        region.record()
        yield from region.space()
        gap = region.recorded()
        token = yield from region.optional(BEHIND_A_CALL, space=False)
        if not token:
            break
        region.answered = region.answered or token in OF_SOMEBODY_ELSE
        end = region.offset
    if region.items:
        region.items[-1] = (end, region.items[-1][1])
    return end, gap.endswith("\n")


def parted(whole: str, items: list[tuple[int, ProvenCall | None]], proven: int) -> list[str | tuple[ProvenCall, str]]:
    """The region's text, each call in the place of its own part of it."""
    ends = [0, *(end for end, _ in items)]
    out: list[str | tuple[ProvenCall, str]] = []
    for (start, end), (_, call) in zip(pairwise(ends), items, strict=True):
        if call is None:
            out.append(whole[start:end])
        else:
            out.append((call, whole[start:end]))
    if ends[-1] < proven:
        out.append(whole[ends[-1] : proven])
    return out
