"""The form of the events of one answer: in another of its kind nothing but the text can be different.

What is compared are slices, and single bytes are looked for with `in`: the fastest that CPython has.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from json import decoder

from ..wire import sse
from .opener_bytes import LONG, SAFE, calm, whole_safe

read_string = decoder.scanstring  # type: ignore[attr-defined]  # what `json.loads` itself reads a string with

_READ = (b"_call", b"_reason", b"_json")
"""Parts of the names of what may stand in an event beside its text and concerns us."""
NUMBER = re.compile(rb'"sequence_number": ?(?=\d)')
_MOST_DIGITS = 9
STRING = re.compile(rb'[^"\\\n]*+(?:\\.[^"\\\n]*+)*+')
_LF, _QUOTE, _UNDERSCORE, _BACKSLASH = b'\n"_\\'


@cache
def _one_after_another(key: bytes, numbered: bool) -> Callable[[bytes], re.Match[bytes] | None]:
    """Matches events of one form. It says nothing about the first text; all others are harmless.

    What stands before the text is a group, or two around the number. Made when somebody asks for it, for that takes
    some milliseconds.
    """
    # Up to the first key of this name: inside a JSON string its quotes would be escaped.
    up_to = rb'(?:[^"\n]++|"(?!%b))*+'
    value = up_to % key[1:] + key + rb'\s*+:\s*+"'
    name_line = rb'(?:[^"\n]*+\n)?+'
    if not numbered:
        form = rb'(%b)%b("[^\n]*+\n\n)(?:\1%b\2)*+\Z' % (name_line + value, STRING.pattern, SAFE)
        return re.compile(form).match
    counted = name_line + up_to % b'sequence_number"' + NUMBER.pattern
    first = rb'(%b)\d{1,9}+(%b)%b"[^\n]*+\n\n' % (counted, value, STRING.pattern)
    return re.compile(first + rb'(?:\1\d{1,9}+\2%b"[^\n]*+\n\n)*+\Z' % SAFE).match


class Form:
    """What surrounds the text of an event. In another of this form nothing but the text can be different."""

    __slots__ = ("_after", "_before", "_key", "_last", "_lines", "_start", "_tail", "_text", "_top")

    def __init__(self, key: bytes, before: bytes, after: bytes) -> None:
        self._key = key
        self._before = before
        self._after = after
        self._start = len(before)
        self._last = len(after) - 1
        """So many bytes follow the quote that ends the text."""
        self._top = slice(self._start)
        self._text = slice(self._start, -self._last)
        self._tail = slice(-len(after), None)
        self._lines = before.count(b"\n") + after.count(b"\n")

    def harmless(self, block: bytes) -> bool:
        """Is this an event of this form, with nothing suspicious in its text?"""
        if block[self._top] != self._before or block[self._tail] != self._after:
            return False
        size = len(block)
        if size < LONG:
            found = whole_safe(block, self._start)
            return found is not None and found.end() == size - self._last
        text = block[self._text]
        # A line feed would end the event, or half of one that was broken off.
        if not text or _LF in text or text.rfind(self._key) >= 0 or not calm(text):
            return False
        # To find out whether it is one text takes long. It is enough that nothing follows it that we would read.
        return _UNDERSCORE not in text or not any(text.rfind(name) >= 0 for name in _READ)

    def all_harmless(self, block: bytes) -> bool:
        """True if all events of the block have this form, with nothing suspicious in their texts."""
        start = self._start
        if block[self._top] != self._before or block[self._tail] != self._after:
            return False
        line = block.find(b"\n", start, start + LONG)
        if line == len(block) - 2:
            return False
        if line < 0 or len(block) < LONG:
            # Long events, or a few.
            return all(map(self.harmless, sse.split(block)))
        found = _one_after_another(self._key, False)(block) if whole_safe(block, start) else None
        return found is not None and found.end(1) == start and found.group(2) == self._after

    def says(self, mark: bytes) -> bool:
        """Does every event of this form have this, outside its text?"""
        return not mark or mark in self._before or mark in self._after

    def count(self, block: bytes) -> int:
        """How many events these are, if each begins like this form and has no second text; else 0."""
        if not block.startswith(self._before):
            return 0
        if block.find(b"\n", self._start) == len(block) - 2 and block.rfind(self._key) < self._start:
            return 1
        count = block.count(self._before)
        return count if block.count(self._key) == count and block.count(b"\n") == self._lines * count else 0

    def text(self, block: bytes) -> str | None:
        """What an event of this form says, harmless or not; None where it is another event."""
        if block[self._top] != self._before or block[self._tail] != self._after:
            return None
        found = STRING.match(block, self._start)
        return decoded(found.group()) if found and found.end() + 1 == len(block) - self._last else None

    def texts(self, blocks: list[bytes]) -> list[bytes]:
        """What harmless events of this form say, as JSON writes it."""
        text = slice(self._start, -len(self._after))
        return [block[text] for block in blocks]


class NumberedForm:
    """The form of events with a sequence number before their text. What follows the text may vary."""

    __slots__ = (
        "_after",
        "_before",
        "_key",
        "_last",
        "_mark",
        "_middle",
        "_place",
        "_size",
        "_start",
        "_tail",
        "_top",
    )

    def __init__(self, key: bytes, before: bytes, middle: bytes, after: bytes) -> None:
        self._key = key
        self._before = before
        self._middle = middle
        self._start = len(before)
        self._size = len(middle)
        self._last = self._start + _MOST_DIGITS + self._size
        self._mark = b""
        """What was last asked for and is there."""
        self._after = after[: after.find(b":") + 1] or after
        """What follows the text, up to what may vary."""
        self._tail = b""
        """All that followed the last text and its quote, if that was of this form."""
        self._top = slice(self._start)
        self._place = slice(0, 0)
        """Where the middle was last found: it moves only when the number gets longer."""

    def harmless(self, block: bytes) -> bool:
        if block[self._top] != self._before or (block[self._place] != self._middle and not self._found_in(block)):
            return False
        start = self._place.stop
        if len(block) < LONG:
            found = whole_safe(block, start)
            if found is None:
                return False
            tail = block[found.end() :]
            return tail == self._tail or self._may_end(tail)
        end = len(block) - len(self._tail)
        if end <= start or block[end:] != self._tail or block[end - 1] != _QUOTE:
            end = block.find(self._after, start) + 1
            if not end or not self._may_end(block[end:]):
                return False
        text = block[start:end]
        return _LF not in text and text.rfind(self._key) < 0 and calm(text)

    def _may_end(self, tail: bytes) -> bool:
        """Is this the rest of one event, without another text?"""
        if tail.find(b"\n") != len(tail) - 2 or self._key in tail:
            return False
        self._tail = tail
        return True

    def _found_in(self, block: bytes) -> bool:
        at = block.find(self._middle, self._start, self._last)
        self._place = slice(at, at + self._size) if at >= 0 else slice(0, 0)
        return at >= 0

    def all_harmless(self, block: bytes) -> bool:
        if block[self._top] != self._before:
            return False
        line = block.find(b"\n", self._start, self._start + LONG)
        if line == len(block) - 2:
            return False
        if line < 0 or len(block) < LONG:
            return all(map(self.harmless, sse.split(block)))
        found = _one_after_another(self._key, True)(block)
        if found is None or found.group(1) != self._before or found.group(2) != self._middle:
            return False
        # What follows a text may vary, but has none of its own.
        events = block.count(b"\n") // (self._before.count(b"\n") + 2)
        return block.count(self._key) == events and whole_safe(block, found.end(2)) is not None

    def says(self, mark: bytes) -> bool:
        if mark != self._mark and (mark in self._before or mark in self._middle):
            self._mark = mark
        return mark == self._mark

    def count(self, block: bytes) -> int:
        """Events of this kind are counted by whoever knows them."""
        return 0

    def text(self, block: bytes) -> str | None:
        """What an event of this form says, harmless or not; None where it is another event."""
        if block[self._top] != self._before or (block[self._place] != self._middle and not self._found_in(block)):
            return None
        found = STRING.match(block, self._place.stop)
        # A text with two raw CRs in it may not end at all.
        end = found.end() if found else len(block)
        if found is None or block[end : end + 1] != b'"' or not self._may_end(block[end + 1 :]):
            return None
        return decoded(found.group())

    def texts(self, blocks: list[bytes]) -> list[bytes]:
        """What harmless events of this form say, as JSON writes it."""
        texts: list[bytes] = []
        for block in blocks:
            start = block.find(self._middle, self._start) + self._size
            found = STRING.match(block, start)
            texts.append(found.group() if found else b"")
        return texts


def decoded(literal: bytes) -> str | None:
    """A JSON string without its quotes; None where it is none."""
    text = literal.decode("utf-8", "replace")
    if _BACKSLASH not in literal and text.isprintable():
        return text
    with suppress(ValueError):
        return read_string(text + '"', 0)[0]  # type: ignore[no-any-return]
    return None
