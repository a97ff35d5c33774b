"""Deltas of a Responses stream that look like the last one, told by a few of their bytes."""

from __future__ import annotations

import re

from .events import IncomingEvent

LF = 0x0A
CR = 0x0D
END = slice(-2, None)


_NUMBERS = re.compile(rb'(?:, ?"(?:output|content|summary)_index": ?\d+)+[,}]')
"""Which item and which part of it: they stand right behind its id."""


class Steady:
    """The look of the last healthy delta: a block of nothing but such deltas need not be read.

    What is compared are slices: cut out and compared, bytes take half the time of `startswith` or `find`.
    """

    __slots__ = ("_next", "body", "head", "item", "lines", "place", "top")

    def __init__(self, incoming: IncomingEvent) -> None:
        raw = incoming.raw
        self.lines = raw.count(b"\n") or -1
        """Line feeds an event: looking for single bytes is far cheaper than looking for blank lines."""
        self.item = _mark(raw, "item_id", incoming.text("item_id"))
        self.place = slice(0, len(self.item))
        """Where it was last found: the events differ in front of it only when their number gets longer."""
        begins = raw.find(b"data:") + 5
        begins += raw.startswith(b" ", begins)
        self.head = raw[: begins + raw.startswith(b"{", begins)]
        """Its `event:` line, which says the same as the type inside it, and where its data begins."""
        self.top = slice(len(self.head))
        self._next = b"\n" + self.head
        """Where another event begins: inside a comment it is none."""
        if not self.head.startswith(b"event:"):
            self.lines = -1
        single = self.lines == 3 and self.head.count(b"\n") == 1
        self.body = slice(len(self.head), -2) if single else slice(None)
        """The data, if it is one line: in a single event the next line feed is then the first of the blank line."""

    def covers(self, block: bytes) -> bool:
        if block[self.top] != self.head or (block[self.place] != self.item and not self.found_in(block)):
            return False
        return (LF not in block[self.body] and block[END] == b"\n\n") or self.covers_all(block)

    def covers_lines(self, block: bytes) -> bool:
        """True if the block looks like the last delta and no line ends with a bare CR.

        Where two of those stand inside the JSON, the event ends in its middle.

        What passes is the same bytes with and without them, but what is held must be whole events.
        """
        return self.covers(block) and (CR not in block or block.count(b"\r") == block.count(b"\r\n"))

    def found_in(self, block: bytes) -> bool:
        at = block.find(self.item)
        if at >= 0:
            self.place = slice(at, at + len(self.item))
        return at >= 0

    def covers_all(self, block: bytes) -> bool:
        lines = block.count(b"\n")
        if lines == self.lines:
            return True
        # Each of them: one that names its item twice does not stand for one that has another.
        events = block.split(self._next)
        item = self.item
        return lines == self.lines * len(events) and all(item in event for event in events)


def _mark(raw: bytes, key: str, value: str) -> bytes:
    # A quote inside a JSON string is escaped, so this text is a key and its value wherever it stands.
    close, wide = (f'"{key}":{space}"{value}"'.encode("utf-8", "surrogatepass") for space in ("", " "))
    mark = close if close in raw else wide
    numbers = _NUMBERS.match(raw, raw.find(mark) + len(mark))
    return mark + numbers[0] if mark in raw and numbers else mark
