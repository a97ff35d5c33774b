"""Reading a region of text that is still arriving.

A format is written as a generator over a `Cursor`: straight-line code that yields when it needs more text
than has arrived. Consumed text is dropped from the window, so the work is linear however small the pieces are. No
primitive returns anything that depends on where the text was split. Knows nothing of tools or formats.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from functools import lru_cache
from typing import TypeVar

T = TypeVar("T")
Step = Generator[None, None, T]

_LONGEST_TAG = 512
LOOKAHEAD = 256
"""How much white space may come before a literal that `Cursor.ahead` looks for."""


class NotACall(Exception):
    """The region is not a call: its text is released unchanged."""


class CutOff(Exception):
    """The answer ended inside the region: all of it is text."""


class Cursor:
    __slots__ = (
        "_base",
        "_drained",
        "_records",
        "_undrained",
        "eof",
        "finished",
        "inside",
        "pos",
        "searches",
        "window",
    )

    def __init__(self, text: str) -> None:
        self.window = text
        self.pos = 0
        self.searches = 0
        """The number of searches that the work budget was not charged for yet."""
        self.eof = False
        self.finished = True
        self.inside = False
        """The cursor is inside a value: if this is not a call, the text after it may still belong to the value."""
        self._base = 0
        self._records: list[tuple[list[str], int]] = []
        self._undrained: list[str] = []
        self._drained = 0

    @property
    def offset(self) -> int:
        """How much of the region has been consumed."""
        return self._base + self.pos

    @property
    def rest(self) -> str:
        return self.window[self.pos :]

    def drain(self) -> str:
        """The text that was consumed since the last call of `drain`."""
        pieces, self._undrained = self._undrained, []
        pieces.append(self.window[self._drained : self.pos])
        self._drained = self.pos
        return "".join(pieces)

    def extend(self, text: str) -> None:
        pos = self.pos
        if self._drained < pos:
            self._undrained.append(self.window[self._drained : pos])
        self._drained = 0
        if self._records:
            window = self.window
            for index, (pieces, start) in enumerate(self._records):
                pieces.append(window[start:pos])
                self._records[index] = (pieces, 0)
        self.window = self.window[pos:] + text
        self._base += pos
        self.pos = 0

    def record(self) -> None:
        """Begin to record the text that is consumed. Recordings may be nested."""
        self._records.append(([], self.pos))

    def recorded(self) -> str:
        """End the last recording; return its text."""
        pieces, start = self._records.pop()
        pieces.append(self.window[start : self.pos])
        return "".join(pieces)

    def peek(self) -> Step[str]:
        """The next character; empty at the end of the answer."""
        while self.pos >= len(self.window):
            if self.eof:
                return ""
            yield
        return self.window[self.pos]

    def character(self, skip: int) -> Step[str]:
        """The character after the next `skip` ones; empty at the end of the answer. Consumes nothing."""
        while len(self.window) - self.pos <= skip:
            if self.eof:
                return ""
            yield
        return self.window[self.pos + skip]

    def space(self, characters: str = " \t\r\n") -> Step[None]:
        while True:
            window, pos = self.window, self.pos
            end = len(window)
            while pos < end and window[pos] in characters:
                pos += 1
            self.pos = pos
            if pos < end or self.eof:
                return
            yield

    def ahead(self, literals: Sequence[str], skip: int = 0, space: bool = True) -> Step[tuple[str | None, int]]:
        """The literal that comes next, after white space, and how many characters ahead it ends. Consumes nothing.

        `("", n)`: nothing but white space comes before the end of the answer. `(None, 0)`: something else comes next.
        """
        longest = max(map(len, literals), default=0)
        self.searches += 1 + len(literals) // 4
        while True:
            window = self.window
            start = self.pos + skip
            limit = start + LOOKAHEAD
            while space and start < limit and start < len(window) and window[start] in " \t\r\n":
                start += 1
            rest = window[start : start + longest]
            undecided = not self.eof and any(literal.startswith(rest) and literal != rest for literal in literals)
            if not undecided:
                found = max((each for each in literals if rest.startswith(each)), key=len, default=None)
                if found is not None:
                    return found, start + len(found) - self.pos
                if self.eof and not rest:
                    return "", start - self.pos
                return None, 0
            if start >= limit:
                return None, 0
            yield

    def optional(self, literals: Sequence[str], space: bool = True) -> Step[str | None]:
        """Consume one of the literals, and the white space before it, if it comes next."""
        found, length = yield from self.ahead(literals, space=space)
        if not found:
            return None
        self.pos += length
        return found

    def expect(self, literals: Sequence[str]) -> Step[str]:
        found = yield from self.optional(literals)
        if found is None:
            raise CutOff if not (yield from self.peek()) else NotACall
        return found

    def until(self, literals: Sequence[str], limit: int = 1 << 40) -> Step[tuple[str, str | None]]:
        """Consume the text before the next of the literals. Returns that text and the literal, which is not consumed.

        None instead of the literal: the answer ended, or the next `limit` characters contain none of them.
        """
        pattern, keep = _any_of(tuple(literals))
        start = self.offset
        self.searches += 1
        self.record()
        while True:
            last = self.pos + limit - (self.offset - start)
            match = pattern.search(self.window, self.pos)
            if match is not None and match.start() < last:
                self.pos = match.start()
                return self.recorded(), match.group()
            if match is not None or self.eof:
                self.pos = min(len(self.window), last)
                return self.recorded(), None
            self.pos = min(max(self.pos, len(self.window) - keep), last)
            if self.pos == last:
                return self.recorded(), None
            yield

    def word(self, stops: str) -> Step[str]:
        """Read a name or an id up to one of the characters in `stops`; white space may be around it, not in it."""
        yield from self.space()
        written = ""
        while (char := (yield from self.peek())) and char not in stops and not char.isspace():
            if not (char.isalnum() or char in "_-.:/") or len(written) > 160:
                raise NotACall
            written += char
            self.pos += 1
        yield from self.space()
        char = yield from self.peek()
        if not char:
            raise CutOff
        if char not in stops:
            raise NotACall
        return written

    def tag(self) -> Step[tuple[dict[str, str], bool]]:
        """Read a tag up to and including its `>`: its attributes, and whether it closes itself."""
        pieces: list[str] = []
        quote = ""
        while True:
            char = yield from self.peek()
            if not char:
                raise CutOff
            self.pos += 1
            if quote:
                quote = "" if char == quote else quote
            elif char == ">":
                break
            elif char in "\"'" and pieces and pieces[-1] in "= ":
                quote = char
            elif char == "<":
                raise NotACall
            pieces.append(char)
            if len(pieces) > _LONGEST_TAG:
                raise NotACall
        text = "".join(pieces).rstrip()
        return attributes_of(text), text.endswith("/")


_ATTRIBUTE = re.compile(r"""([\w:.-]+)[ \t\r\n]*=[ \t\r\n]*("[^"]*"|'[^']*'|[^\s>"'/]+)""")


def attributes_of(text: str) -> dict[str, str]:
    """The attributes in the text of a tag, which callers keep short."""
    return {m[1]: m[2][1:-1] if m[2][0] in "\"'" else m[2] for m in _ATTRIBUTE.finditer(text)}


@lru_cache(maxsize=512)
def _any_of(literals: tuple[str, ...]) -> tuple[re.Pattern[str], int]:
    ordered = sorted(set(literals), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, ordered))), len(ordered[0]) - 1
