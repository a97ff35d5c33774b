"""The work budget of an answer or a request, counted in steps, never in seconds.

The proxy has one event loop for all streams, so a slow callback makes all the others wait. Every byte that arrives
adds one step to the budget, which holds at most `MOST`; a step takes about a quarter of a microsecond. If the budget
runs out, the answer passes unchanged. The counting does not depend on how the network cut the answer, nor on the
machine, so the result does not either.
"""

from __future__ import annotations

from typing import Any, Final

MOST: Final = 160_000
"""The largest budget: about 40 ms."""

EVENT: Final = 64
"""Parsing an event. No server sends many events with fewer bytes than this."""
EVENT_WITHOUT_DATA: Final = 16
"""Parsing an event without data."""
LINE: Final = 4
"""One line of a long event."""
VALUE: Final = 4
"""Looking at one value of a JSON document in Python."""
COMMA: Final = 3
"""One comma in arguments that have a comma too many: a pattern looks at all of them."""
MENDING: Final = 6
"""A unit of work of the tolerant grammar (`mend/reading/source.py`)."""

CALL: Final = 240
"""Deciding and writing a call: the part of the work that the bytes of its events do not pay for."""

ANSWER: Final = 320
"""Setting up one choice of a document: an answer of its own, with a search of its text."""
TEXT: Final = 400
"""A text of a document that is followed by another one: what its end means for the next text is examined."""

CHARACTERS: Final = 6
"""A step reads two to the power of this many characters of JSON text."""

_SLICE: Final = 64 * 1024
_NOT_SEPARATING: Final = bytes(set(range(256)).difference(b",[{"))


class LimitReached(Exception):
    """A limit of the answer was exceeded: the held bytes are sent as they arrived, and the rest passes."""


class TooMuchWork(LimitReached):
    """The work budget is used up: nothing more is parsed, mended or searched."""


class Work:
    """A budget of steps."""

    __slots__ = ("_left",)

    def __init__(self, most: int = MOST) -> None:
        self._left = most

    def add_bytes(self, size: int) -> None:
        """Add a step for each of the `size` bytes or characters that arrived."""
        left = self._left + size
        self._left = left if left < MOST else max(self._left, MOST)

    def add_text(self, size: int) -> None:
        """Add two steps for each character of text that arrived: short lines and marks are examined one by one."""
        self.add_bytes(2 * size)

    def spares(self, steps: int) -> bool:
        """Whether at least half of the largest budget would be left after `steps`."""
        return self._left - steps >= MOST // 2

    def spend(self, steps: int) -> None:
        """Take `steps` from the budget before the work is done; raises TooMuchWork if there are not enough."""
        self._left -= steps
        if self._left < 0:
            raise TooMuchWork

    def read_json(self, text: str | bytes, *, last: bool = False) -> None:
        """Pay for parsing a JSON text at C speed: long strings cost little, values more, and objects most.

        `last`: nothing else is paid from this budget, so a rest that fits into it in any case is not examined.
        """
        for at in range(0, len(text), _SLICE):
            rest = len(text) - at
            if last and (rest >> CHARACTERS) + (rest >> 1) <= self._left:
                return
            # In slices, because a text that is far too large exceeds the budget within the first ones.
            end = at + _SLICE
            if isinstance(text, str):
                objects = text.count("{", at, end)
                values = objects + text.count(",", at, end) + text.count("[", at, end)
            else:
                # Deleting all other bytes in one pass leaves only a few; counting each mark separately is slower.
                marks = text[at:end].translate(None, _NOT_SEPARATING)
                objects, values = marks.count(b"{"), len(marks)
            self.spend((min(rest, _SLICE) >> CHARACTERS) + (values >> 2) + (objects >> 2))

    def follow(self, text: str) -> None:
        """Pay for following the strings and brackets of a text."""
        self.spend((len(text) >> 6) + (text.count('"') >> 2))

    def look_at(self, value: Any) -> None:
        """Pay for looking at every value inside this one."""
        pending = [value]
        while pending:
            item = pending.pop()
            inside = item.values() if isinstance(item, dict) else item
            self.spend(VALUE * len(inside))
            pending += [entry for entry in inside if isinstance(entry, dict | list)]
