"""The text of events that nobody reads: how it is found in their bytes, and whether it could matter.

The search for calls wants to see text only where an opener stands, or what may become one. Both looks here are
at the bytes of JSON strings: an opener's first bytes, the quote or the backslash that may stand in their place,
and the escapes that could hide one. They may be wrong in one way only: to take harmless text for suspicious.
"""

from __future__ import annotations

import re
from json import decoder

from ..textcalls import trie
from ..textcalls.openers import AT_HEAD, CHAINED, LONGEST, THINK_END

_read_string = decoder.scanstring  # type: ignore[attr-defined]  # what `json.loads` itself reads a string with

LONG = 1024
"""In a short event one expression finds the text and looks at it; in a long one single bytes are found faster."""


def _beginnings(openers: tuple[str, ...], depth: int) -> set[str]:
    """The first bytes of openers as characters, all of them or up to where the string ends or an escape begins."""
    found: set[str] = set()
    for opener in openers:
        head = opener.encode().decode("latin-1")[:depth]
        found.add(head)
        found.update(head[:size] + end for size in range(1, len(head)) for end in '"\\')
    return found


def _starting(first: str) -> set[str]:
    return {beginning for beginning in _ANYWHERE if beginning[0] == first}


def _pattern(beginnings: set[str]) -> bytes:
    return b"(?:%b)" % trie.pattern(beginnings).encode("latin-1")


_ANYWHERE = _beginnings((*CHAINED, THINK_END), 5)
_HEADS = _pattern(_beginnings(tuple(AT_HEAD), LONGEST))
_FIRST = "".join(sorted({beginning[0] for beginning in _ANYWHERE}))
_ESCAPE = rb"\\(?:[^\"/bfnrt]|n%b)" % _HEADS
_SUSPECTS = tuple((first.encode("latin-1"), re.compile(_pattern(_starting(first)))) for first in _FIRST)
_HIDDEN = re.compile(_ESCAPE)
_BYTES = re.escape(_FIRST.encode("latin-1"))
_CALM = rb'[^"\\\n%b]*+' % _BYTES
_SAFE = rb"(?!%b)%b(?:(?!%b|%b)(?:\\.|[%b])%b)*+" % (_HEADS, _CALM, _ESCAPE, _pattern(_ANYWHERE), _BYTES, _CALM)
"""A whole string in which nothing is suspicious."""
_WHOLE_SAFE = re.compile(_SAFE + b'"')
_whole_safe = _WHOLE_SAFE.match
_HEAD = re.compile(_HEADS)
_HIDES = (b"\\u00", *(head.encode() for head in AT_HEAD if not set(head) & set(_FIRST)))
"""An escape that could be any of the bytes that are looked for, and the heads that have none of them."""
_HEAD_AT_END = re.compile(
    rb"\\n%b" % _pattern({head[:size] + '"' for head in AT_HEAD for size in range(1, len(head))})
)
_READ = (b"_call", b"_reason", b"_json")
"""Parts of the names of what may stand in an event beside its text and concerns us."""
_NUMBER = re.compile(rb'"sequence_number": ?(?=\d)')
_DIGITS = b"0123456789"
_MOST_DIGITS = 9
_STRING = re.compile(rb'[^"\\\n]*+(?:\\.[^"\\\n]*+)*+')
_string_of = re.compile(_STRING.pattern.decode()).match


class Field:
    """Where the text of an event stands: its key, and how its values are found without reading the event."""

    __slots__ = ("_begins", "_heads", "_safe", "key")

    def __init__(self, name: str) -> None:
        self.key = f'"{name}"'.encode()
        value = rf'"{name}"\s*:\s*"'.encode()
        self._safe = re.compile(value + _WHOLE_SAFE.pattern)
        self._heads = re.compile(value + _HEADS)
        self._begins = re.compile(value.decode())

    def harmless(self, block: bytes, count: int) -> bool:
        """Is there nothing in so many texts that could be an opener, nor become one?"""
        if count == 1 and len(block) < LONG:
            return self._safe.search(block) is not None
        start = block.find(self.key)
        heads = self._heads.match if count == 1 else self._heads.search
        return heads(block, start) is None and not _suspicious(block, start, len(block))

    def says_nothing(self, block: bytes) -> bool:
        return self.key not in block or self._begins.search(block.decode("utf-8", "replace")) is None

    def texts(self, block: bytes, *, strict: bool = True) -> list[str]:
        """ValueError where they are no JSON. Not `strict`: what passed already, whatever it was."""
        text = block.decode("utf-8", "replace")
        found: list[str] = []
        at = 0
        while (begins := self._begins.search(text, at)) is not None:
            try:
                said, at = _read_string(text, begins.end(), strict)
            except ValueError:
                if strict:
                    raise
                broken = _string_of(text, begins.end())
                at = broken.end() if broken else len(text)
                said = text[begins.end() : at].replace("\\n", "\n")
            found.append(said)
        return found

    def form(self, block: bytes) -> Form | NumberedForm | None:
        """The form of an event with one text."""
        begins = self._begins.search(block.decode("latin-1"))
        ends = _STRING.match(block, begins.end()) if begins else None
        if ends is None:
            return None
        before = block[: ends.start()]
        if (number := _NUMBER.search(before)) is not None:
            middle = before[number.end() :].lstrip(_DIGITS)
            return NumberedForm(self.key, before[: number.end()], middle, block[ends.end() :])
        return Form(self.key, before, block[ends.end() :])


class Form:
    """What surrounds the text of an event. In another of this form nothing but the text can be different."""

    __slots__ = ("_after", "_before", "_end", "_key", "_lines", "_start", "_tail", "_top")

    def __init__(self, key: bytes, before: bytes, after: bytes) -> None:
        self._key = key
        self._before = before
        self._after = after
        self._start = len(before)
        self._end = len(after)
        # Cut out and compared, bytes take half the time of `startswith`.
        self._top = slice(self._start)
        self._tail = slice(-self._end, None)
        self._lines = before.count(b"\n") + after.count(b"\n")

    def harmless(self, block: bytes) -> bool:
        """Is this an event of this form, with nothing suspicious in its text?"""
        if block[self._top] != self._before or block[self._tail] != self._after:
            return False
        start, end = self._start, len(block) - self._end
        if len(block) < LONG:
            text = _whole_safe(block, start)
            return text is not None and text.end() == end + 1
        # A line feed would end the event, or half of one that was broken off.
        if block.find(b"\n", start, end) >= 0 or block.rfind(self._key) > start or not _calm(block, start, end):
            return False
        # To find out whether it is one text takes long. It is enough that nothing follows it that we would read.
        return block.find(b"_", start, end) < 0 or not any(block.rfind(name, start, end) >= 0 for name in _READ)

    def count(self, block: bytes) -> int:
        """How many events these are, if each begins like this form and has no second text; else 0."""
        if not block.startswith(self._before):
            return 0
        if block.find(b"\n", self._start) == len(block) - 2 and block.rfind(self._key) < self._start:
            return 1
        count = block.count(self._before)
        return count if block.count(self._key) == count and block.count(b"\n") == self._lines * count else 0


class NumberedForm:
    """The same for events that are numbered, before their text. What follows it may vary."""

    __slots__ = ("_after", "_before", "_key", "_last", "_middle", "_place", "_size", "_start", "_tail", "_top")

    def __init__(self, key: bytes, before: bytes, middle: bytes, after: bytes) -> None:
        self._key = key
        self._before = before
        self._middle = middle
        self._start = len(before)
        self._size = len(middle)
        self._last = self._start + _MOST_DIGITS + self._size
        self._after = after[: after.find(b":") + 1] or after
        """What follows the text, up to what may vary."""
        self._tail = b""
        """All that followed the last short text, if that was of this form."""
        self._top = slice(self._start)
        self._place = slice(0, 0)
        """Where the middle was last found: it moves only when the number gets longer."""

    def harmless(self, block: bytes) -> bool:
        if block[self._top] != self._before or (block[self._place] != self._middle and not self._found_in(block)):
            return False
        start = self._place.stop
        if len(block) < LONG:
            text = _whole_safe(block, start)
            if text is None:
                return False
            tail = block[text.end() :]
            if tail != self._tail:
                if tail.find(b"\n") != len(tail) - 2 or self._key in tail:
                    return False
                self._tail = tail
            return True
        end = block.find(self._after, start)
        if end < 0 or block.find(b"\n", start) != len(block) - 2 or block.rfind(self._key) > end:
            return False
        return _calm(block, start, end)

    def _found_in(self, block: bytes) -> bool:
        at = block.find(self._middle, self._start, self._last)
        self._place = slice(at, at + self._size) if at >= 0 else slice(0, 0)
        return at >= 0

    def count(self, block: bytes) -> int:
        """Events of this kind are counted by whoever knows them."""
        return 0


def _calm(block: bytes, start: int, end: int) -> bool:
    """Is there nothing suspicious in the one long text that begins and ends here?"""
    if _HEAD.match(block, start) is not None or _has_opener(block, start, end + 1):
        return False
    # Escapes are many in code, and each of them takes its time: so what they could hide is looked for without them.
    # From the end on, for CPython searches backwards in half the time.
    for head in _HIDES:
        if block.rfind(head, start, end) >= 0:
            return False
    return _HEAD_AT_END.search(block, max(start, end - LONGEST - 2), end + 1) is None


def _suspicious(block: bytes, start: int, end: int) -> bool:
    """Is there an opener in these texts, or what may become one, or an escape that could hide it?"""
    return _has_opener(block, start, end) or _HIDDEN.search(block, start, end) is not None


def _has_opener(block: bytes, start: int, end: int) -> bool:
    for first, suspect in _SUSPECTS:
        # A search for one byte is a search through memory, several times as fast as the expression's own.
        at = block.find(first, start, end)
        if at >= 0 and suspect.search(block, at, end) is not None:
            return True
    return False
