"""Whether the calls of a region count: what may follow a call, and which text each call replaces.

A model that calls a tool stops there. So a call counts only if nothing but calls, white space and the special
tokens of a template follow it up to the end of the answer; anything else shows that the call was quoted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

from .cursor import CutOff, NotACall, Step
from .openers import BY_OPENER, CHAINED
from .region import Format, ProvenCall, Region
from .tokens import BEGIN_FOREIGN_TURN, BEHIND_A_CALL, without_tokens

CONSENT = frozenset({"ok", "okay", "sure", "done", "yes", "right", "alright", "certainly", "checking", "running"})
"""Words that a model may write after its call without taking it back, if its template allows text there."""
_LONGEST_CONSENT = 16


def anywhere(format: Format, *, begins: bool) -> Callable[[Region], Step[int]]:
    """A reader of calls of any format up to the end of the answer. `begins`: no text came before them."""

    def read(region: Region) -> Step[int]:
        current = format
        while True:
            yield from current.read(region)
            yield from region.finish()
            end, at_head = yield from _skip_tokens(region)
            char = yield from region.peek()
            if not char:
                return end
            glued = begins and format.text_follows and current is format and end == region.offset
            if glued and (yield from _is_word_of_consent(region)):
                return end
            opener, _ = yield from region.ahead(tuple(BY_OPENER) if at_head else CHAINED, space=False)
            if not opener or region.turn_follows:
                raise NotACall
            current = BY_OPENER[opener]

    return read


def _is_word_of_consent(region: Region) -> Step[bool]:
    """Whether nothing follows but one word that does not take the call back."""
    word = ""
    for index in range(_LONGEST_CONSENT):
        char = yield from region.character(index)
        if not char:
            return word in CONSENT
        word = (word + char).rstrip(" .!\r\n").lower()
        if not any(consent.startswith(word) for consent in CONSENT):
            return False
    return False


def entire_message(format: Format) -> Callable[[Region], Step[int]]:
    """A reader of calls of a weak format, which have to be the entire message."""

    def read(region: Region) -> Step[int]:
        try:
            yield from format.read(region)
        except CutOff:
            raise NotACall from None
        end, _ = yield from _skip_tokens(region)
        if (yield from region.peek()) or any(call is None for _, call in region.items):
            raise NotACall
        return end

    return read


def _skip_tokens(region: Region) -> Step[tuple[int, bool]]:
    """Skip white space and the tokens of the last call: where the tokens end, and whether a line begins next."""
    end = region.offset
    while True:
        region.record()
        yield from region.space()
        gap = region.recorded()
        token = yield from region.optional(BEHIND_A_CALL, space=False)
        if not token:
            break
        region.turn_follows = region.turn_follows or token in BEGIN_FOREIGN_TURN
        end = region.offset
    _move_end(region.items, end)
    return end, gap.endswith("\n")


def _move_end(items: list[tuple[int, ProvenCall | None]], end: int) -> None:
    """Let the last call end here, and with it the calls of the same list, which all end where the list ends."""
    listed = items[-1][0] if items else 0
    for index in range(len(items) - 1, -1, -1):
        if items[index][0] != listed:
            break
        items[index] = (end, items[index][1])


def split_at_calls(
    whole: str, items: list[tuple[int, ProvenCall | None]], proven: int
) -> list[str | tuple[ProvenCall, str]]:
    """The region's text in parts, each a text, or a call with the text that it replaces."""
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


def texts_of(calls: list[tuple[ProvenCall, str]]) -> Iterator[tuple[str, str]]:
    """The names and texts of calls as they may be in the request; of the calls in one list, the JSON of each too."""
    yield from ((call.name, text) for call, raw in calls if (text := without_tokens(raw)))
    if not all(raw for _, raw in calls):
        yield from ((call.name, f'"{call.name}", "arguments": {call.arguments}') for call, _ in calls)
