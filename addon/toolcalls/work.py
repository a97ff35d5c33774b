"""How much work an answer or a request may cause: counted in steps, never in seconds.

The proxy has one loop for all its streams, so whoever makes one callback of ours long makes all the others wait.
Every byte that comes allows one step, and `MOST` steps may be saved up; a step takes a quarter of a microsecond or
so. What would take more is not done: the answer passes as it came. Steps are counted at the same places however the
network cut the answer, and on every machine, so that what comes out is the same too.
"""

from __future__ import annotations

from typing import Any, Final

MOST: Final = 160_000
"""What may be saved up: about 40 ms."""

EVENT: Final = 64
"""An event that is read. No server sends shorter ones for long."""
SILENT: Final = 16
"""An event without data."""
LINE: Final = 4
"""A line of an event that has many."""
VALUE: Final = 4
"""A value of a JSON document, looked at in Python."""
COMMA: Final = 3
"""A comma in arguments that have one too many: all of them are found by a pattern."""
MENDING: Final = 6
"""A unit of work of the tolerant grammar (`mend/reading/source.py`)."""

CALL: Final = 240
"""A call that is decided and written: as much of what it takes as the events that tell it do not pay for."""

ANSWER: Final = 320
"""A choice of a document: an answer of its own, with all that searches its text."""
TEXT: Final = 400
"""A text of a document that another one follows: what its end shows of the next one is looked at."""

CHARACTERS: Final = 6
"""Two to the power of this: so many characters of a JSON text are read in a step."""

_SLICE: Final = 64 * 1024
_NOT_SEPARATING: Final = bytes(set(range(256)).difference(b",[{"))


class LimitReached(Exception):
    """The answer has more of something than we keep: what is held goes out as it came, and the rest passes."""


class TooMuchWork(LimitReached):
    """More steps than there were: nothing more is read, mended or searched."""


class Work:
    """The steps that are left."""

    __slots__ = ("_left",)

    def __init__(self, most: int = MOST) -> None:
        self._left = most

    def came(self, size: int) -> None:
        """So many bytes or characters came: each allows a step."""
        left = self._left + size
        self._left = left if left < MOST else max(self._left, MOST)

    def said(self, size: int) -> None:
        """So many characters of text came: short lines and marks are looked at one by one, so each allows two."""
        self.came(2 * size)

    def spares(self, steps: int) -> bool:
        """Would half of what may be saved up be left behind so many steps?"""
        return self._left - steps >= MOST // 2

    def spend(self, steps: int) -> None:
        """So many steps are about to be taken."""
        self._left -= steps
        if self._left < 0:
            raise TooMuchWork

    def read_json(self, text: str | bytes, *, last: bool = False) -> None:
        """A JSON text is about to be read at C speed: long strings cost little, values more, and objects most.

        `last`: nothing else is paid for, so what cannot be too much whatever it is, is not looked at.
        """
        for at in range(0, len(text), _SLICE):
            rest = len(text) - at
            if last and (rest >> CHARACTERS) + (rest >> 1) <= self._left:
                return
            # In slices: what is far too much is seen in its first ones.
            end = at + _SLICE
            if isinstance(text, str):
                objects = text.count("{", at, end)
                values = objects + text.count(",", at, end) + text.count("[", at, end)
            else:
                # One walk over the bytes leaves the marks, of which there are few; to count each of them takes more.
                marks = text[at:end].translate(None, _NOT_SEPARATING)
                objects, values = marks.count(b"{"), len(marks)
            self.spend((min(rest, _SLICE) >> CHARACTERS) + (values >> 2) + (objects >> 2))

    def follow(self, text: str) -> None:
        """The strings and brackets of a text are about to be followed by patterns."""
        self.spend((len(text) >> 5) + (3 * text.count('"') >> 3))

    def look_at(self, value: Any) -> None:
        """Every value inside this one is about to be looked at."""
        pending = [value]
        while pending:
            item = pending.pop()
            inside = item.values() if isinstance(item, dict) else item
            self.spend(VALUE * len(inside))
            pending += [entry for entry in inside if isinstance(entry, dict | list)]
