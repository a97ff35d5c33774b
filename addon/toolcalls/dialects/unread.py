"""The text of events that nobody reads: how it is found in their bytes, and whether it could matter.

The search for calls wants to see text only where an opener stands, or what may become one. Both looks here are
at the bytes of JSON strings: an opener's first bytes, the quote or the backslash that may stand in their place,
and the escapes that could hide one. They may be wrong in one way only: to take harmless text for suspicious.
"""

from __future__ import annotations

import re
from contextlib import suppress
from json import decoder

from ..textcalls import trie
from ..textcalls.openers import AT_HEAD, CHAINED, FIRST_BEHIND, LONGEST, THINK_END

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


def _pattern(beginnings: set[str]) -> bytes:
    return b"(?:%b)" % trie.pattern(beginnings).encode("latin-1")


def _suspect(first: str) -> bytes:
    """What of the openers that begin with this character is suspicious."""
    head = re.escape(first)
    rests = trie.pattern(beginning[1:] for beginning in _ANYWHERE if beginning[0] == first)
    # At the beginning of a text it is not known what stands before it.
    place = f'(?<![^"{FIRST_BEHIND[first]}]{head})' if first in FIRST_BEHIND else ""
    return f"{head}{place}(?:{rests})".encode("latin-1")


_ANYWHERE = _beginnings((*CHAINED, THINK_END), 5)
_HEADS = _pattern(_beginnings(tuple(AT_HEAD), LONGEST))
_FIRST = "".join(sorted({beginning[0] for beginning in _ANYWHERE}))
_ESCAPE = rb"\\(?:[^\"/bfnrt]|n%b)" % _HEADS
_SUSPECTS = tuple((ord(first), re.compile(_suspect(first)).search) for first in _FIRST)
_HIDDEN = re.compile(_ESCAPE)
_BYTES = re.escape(_FIRST.encode("latin-1"))
_CALM = rb'[^"\\\n%b]*+' % _BYTES
_SUSPICIOUS = b"|".join((_ESCAPE, *map(_suspect, _FIRST)))
_SAFE = rb"(?!%b)%b(?:(?!%b)(?:\\.|[%b])%b)*+" % (_HEADS, _CALM, _SUSPICIOUS, _BYTES, _CALM)
"""A whole string in which nothing is suspicious."""
_WHOLE_SAFE = re.compile(_SAFE + b'"')
_whole_safe = _WHOLE_SAFE.match
_head = re.compile(_HEADS).match
_FIRST_OF_HEADS = frozenset(ord(head[0]) for head in AT_HEAD)
_HIDES = ((ord("0"), b"\\u00"), *((ord(head[0]), head.encode()) for head in AT_HEAD if not set(head) & set(_FIRST)))
"""An escape that could be any of the bytes that are looked for, and the heads that have none of them. Each with a
byte of it that is rare: where that is missing, the rest is not looked for."""
_head_at_end = re.compile(
    rb"\\n%b" % _pattern({head[:size] + '"' for head in AT_HEAD for size in range(1, len(head))})
).search
_LAST = slice(-LONGEST - 3, None)
_LF, _QUOTE, _UNDERSCORE, _BACKSLASH = b'\n"_\\'
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
        return heads(block, start) is None and not _suspicious(block[start:])

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
    """What surrounds the text of an event. In another of this form nothing but the text can be different.

    What is compared are slices, and single bytes are looked for with `in`: the fastest that CPython has.
    """

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
            found = _whole_safe(block, self._start)
            return found is not None and found.end() == size - self._last
        text = block[self._text]
        # A line feed would end the event, or half of one that was broken off.
        if _LF in text or text.rfind(self._key) >= 0 or not _calm(text):
            return False
        # To find out whether it is one text takes long. It is enough that nothing follows it that we would read.
        return _UNDERSCORE not in text or not any(text.rfind(name) >= 0 for name in _READ)

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
        found = _STRING.match(block, self._start)
        return _decoded(found.group()) if found and found.end() + 1 == len(block) - self._last else None

    def texts(self, blocks: list[bytes]) -> list[bytes]:
        """What harmless events of this form say, as JSON writes it."""
        text = slice(self._start, -len(self._after))
        return [block[text] for block in blocks]


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
        """All that followed the last text and its quote, if that was of this form."""
        self._top = slice(self._start)
        self._place = slice(0, 0)
        """Where the middle was last found: it moves only when the number gets longer."""

    def harmless(self, block: bytes) -> bool:
        if block[self._top] != self._before or (block[self._place] != self._middle and not self._found_in(block)):
            return False
        start = self._place.stop
        if len(block) < LONG:
            found = _whole_safe(block, start)
            return found is not None and self._may_end(block[found.end() :])
        end = len(block) - len(self._tail)
        if block[end:] != self._tail or block[end - 1] != _QUOTE:
            end = block.find(self._after, start) + 1
            if not end or not self._may_end(block[end:]):
                return False
        text = block[start:end]
        return _LF not in text and text.rfind(self._key) < 0 and _calm(text)

    def _may_end(self, tail: bytes) -> bool:
        """Is this the rest of one event, without another text?"""
        if tail != self._tail:
            if tail.find(b"\n") != len(tail) - 2 or self._key in tail:
                return False
            self._tail = tail
        return True

    def _found_in(self, block: bytes) -> bool:
        at = block.find(self._middle, self._start, self._last)
        self._place = slice(at, at + self._size) if at >= 0 else slice(0, 0)
        return at >= 0

    def count(self, block: bytes) -> int:
        """Events of this kind are counted by whoever knows them."""
        return 0

    def text(self, block: bytes) -> str | None:
        """As in `Form`."""
        if block[self._top] != self._before or (block[self._place] != self._middle and not self._found_in(block)):
            return None
        found = _STRING.match(block, self._place.stop)
        if found is None or block[found.end()] != _QUOTE or not self._may_end(block[found.end() + 1 :]):
            return None
        return _decoded(found.group())

    def texts(self, blocks: list[bytes]) -> list[bytes]:
        """As in `Form`."""
        texts: list[bytes] = []
        for block in blocks:
            start = block.find(self._middle, self._start) + self._size
            found = _STRING.match(block, start)
            texts.append(found.group() if found else b"")
        return texts


def _decoded(literal: bytes) -> str | None:
    """A JSON string without its quotes; None where it is none."""
    text = literal.decode("utf-8", "replace")
    if _BACKSLASH not in literal and text.isprintable():
        return text
    with suppress(ValueError):
        return _read_string(text + '"', 0)[0]  # type: ignore[no-any-return]
    return None


def _calm(text: bytes) -> bool:
    """Is there nothing suspicious in one long text, up to the quote that ends it?"""
    if (text[0] in _FIRST_OF_HEADS and _head(text) is not None) or _has_opener(text):
        return False
    # Escapes are many in code, and each of them takes its time: so what they could hide is looked for without them.
    # From the end on, for CPython searches backwards in half the time.
    for rare, hidden in _HIDES:
        if rare in text and text.rfind(hidden) >= 0:
            return False
    last = text[_LAST]
    return _BACKSLASH not in last or _head_at_end(last) is None


def _suspicious(texts: bytes) -> bool:
    """Is there an opener in these events, or what may become one, or an escape that could hide it?"""
    return _has_opener(texts) or _HIDDEN.search(texts) is not None


def _has_opener(text: bytes) -> bool:
    # A search for one byte is a search through memory, several times as fast as the expression's own.
    for first, suspect in _SUSPECTS:  # noqa: SIM110  # a generator for `any` costs twice as much
        if first in text and suspect(text, text.find(first)) is not None:
            return True
    return False


class Unread:
    """Events that passed, in their order. What they said is read when somebody wants to know, most often never."""

    __slots__ = ("_field", "_form", "_runs", "alike", "size")

    def __init__(self, field: Field) -> None:
        self._field = field
        self._form: Form | NumberedForm | None = None
        self.alike: list[bytes] = []
        """Events of the form that was learned last, each with one text. Who adds one adds its size too."""
        self.size = 0
        self._runs: list[tuple[Form | NumberedForm | None, list[bytes]]] = []

    def learn(self, form: Form | NumberedForm | None) -> None:
        self._begin_run()
        self._form = form

    def add(self, block: bytes) -> None:
        """Events that have any form and any number of texts."""
        self._begin_run()
        self._runs.append((None, [block]))
        self.size += len(block)

    def _begin_run(self) -> None:
        if self.alike:
            self._runs.append((self._form, self.alike))
            self.alike = []

    def take(self) -> str:
        """All that they said."""
        self._begin_run()
        said = "".join(self._said(form, blocks) for form, blocks in self._runs)
        self._runs.clear()
        self.size = 0
        return said

    def _said(self, form: Form | NumberedForm | None, blocks: list[bytes]) -> str:
        if form is not None:
            # JSON strings one after another are one JSON string, but for the quotes between them.
            joined = b"".join(form.texts(blocks)).decode("utf-8", "replace")
            if '"' not in joined and "\\" not in joined:
                return joined
            with suppress(ValueError):
                said, end = _read_string(joined + '"', 0, False)
                if end > len(joined):
                    return said  # type: ignore[no-any-return]
        return "".join(self._field.texts(b"".join(blocks), strict=False))
