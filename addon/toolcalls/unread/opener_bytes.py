"""Whether the text of an event could be a tool call, or become one, told by the bytes of its JSON string.

What is looked for are an opener's first bytes, the quote or the backslash that may stand in their place, and the
escapes that could hide one. It may be wrong in one way only: to take harmless text for suspicious.
"""

from __future__ import annotations

import re

from ..textcalls import thoughts, trie
from ..textcalls.openers import AT_HEAD, CHAINED, FIRST_BEHIND, LONGEST

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


def _beyond(first: str) -> set[bytes]:
    """How the openers that begin with this letter go on, as far as they are looked at."""
    return {
        beginning[1:].encode("latin-1") for beginning in _ANYWHERE if beginning[0] == first and beginning.isalpha()
    }


_ANYWHERE = _beginnings((*CHAINED, *thoughts.ENDS), 5)
HEADS = _pattern(_beginnings(tuple(AT_HEAD), LONGEST))
_FIRST = "".join(sorted({beginning[0] for beginning in _ANYWHERE}))
_ESCAPE = rb"\\(?:[^\"/bfnrt]|n%b)" % HEADS
_SUSPECTS = tuple((ord(first), re.compile(_suspect(first)).search) for first in _FIRST if first not in FIRST_BEHIND)
_GLUED = tuple(
    (ord(first), re.compile(_suspect(first)).search, tuple(_beyond(first)))
    for first in _FIRST
    if first in FIRST_BEHIND
)
"""Letters that openers begin with which count only behind another character, and how those openers go on."""
_HIDDEN = re.compile(_ESCAPE)
_BYTES = re.escape(_FIRST.encode("latin-1"))
_CALM = rb'[^"\\\n%b]*+' % _BYTES
_SUSPICIOUS = b"|".join((_ESCAPE, *map(_suspect, _FIRST)))
SAFE = rb"(?!%b)%b(?:(?!%b)(?:\\.|[%b])%b)*+" % (HEADS, _CALM, _SUSPICIOUS, _BYTES, _CALM)
"""A whole string in which nothing is suspicious."""
WHOLE_SAFE = re.compile(SAFE + b'"')
whole_safe = WHOLE_SAFE.match
_head = re.compile(HEADS).match
_FIRST_OF_HEADS = frozenset(ord(head[0]) for head in AT_HEAD)
_HIDES = ((ord("0"), b"\\u00"), *((ord(head[0]), head.encode()) for head in AT_HEAD if not set(head) & set(_FIRST)))
"""An escape that could be any of the bytes that are looked for, and the heads that have none of them. Each with a
byte of it that is rare: where that is missing, the rest is not looked for."""
_head_at_end = re.compile(
    rb"\\n%b" % _pattern({head[:size] + '"' for head in AT_HEAD for size in range(1, len(head))})
).search
_LAST = slice(-LONGEST - 3, None)
_BACKSLASH = 0x5C


def calm(text: bytes) -> bool:
    """Is there nothing suspicious in one long text, up to the quote that ends it?"""
    if text[0] in _FIRST_OF_HEADS and _head(text) is not None:
        return False
    if _has_marked_opener(text):
        return False
    for letter, suspect, rests in _GLUED:
        # A letter is everywhere; what follows it in an opener is not, and at the end the last bytes are enough.
        if letter in text and (any(rest in text for rest in rests) or suspect(text[-LONGEST - 3 :])):
            return False
    # Escapes are many in code, and each of them takes its time: so what they could hide is looked for without them.
    # From the end on, for CPython searches backwards in half the time.
    for rare, hidden in _HIDES:
        if rare in text and text.rfind(hidden) >= 0:
            return False
    last = text[_LAST]
    return _BACKSLASH not in last or _head_at_end(last) is None


def suspicious(texts: bytes) -> bool:
    """Is there an opener in these events, or what may become one, or an escape that could hide it?"""
    return _has_opener(texts) or _HIDDEN.search(texts) is not None


def _has_opener(text: bytes) -> bool:
    return _has_marked_opener(text) or any(letter in text and suspect(text) for letter, suspect, _ in _GLUED)


def _has_marked_opener(text: bytes) -> bool:
    """Does an opener stand in it that begins with a mark, not with a letter?"""
    # A search for one byte is a search through memory, several times as fast as the expression's own.
    for first, suspect in _SUSPECTS:  # noqa: SIM110  # a generator for `any` costs twice as much
        if first in text and suspect(text, text.find(first)) is not None:
            return True
    return False
