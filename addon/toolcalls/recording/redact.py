"""Masks credentials, so that they never reach the disk: each byte of one becomes a star.

The number of bytes stays the same. A cheap search finds words that may belong to a credential, and only there are
the patterns tried, because this runs beside live streams. A bare number is masked by ones, so that JSON stays JSON.
A secret that a server splits across deltas cannot be found, as docs/recordings.md says.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from math import log2

from .credentials import KEYS, PARTS, PLACES

_WINDOW = 8 * 1024
"""The bytes that are searched at a time: streams wait while a search holds the interpreter (about 1 ms a window)."""
_LONGEST_WORD = 40
_LOOK_BEHIND, _LOOK_AHEAD = 256, 8 * 1024
"""The bytes before and after a window that may decide whether a word in it belongs to a credential: the patterns that
can fail look no further."""


def _whole(source: str) -> str:
    """A row of the tables with the parts that it names."""
    while (whole := re.sub(r"\{([A-Z_]+)\}", lambda part: PARTS[part[1]], source)) != source:
        source = whole
    return source


_PLACES = [
    (word.encode(), re.compile(_whole(source).encode(), re.IGNORECASE))
    for words, source in PLACES.items()
    for word in _whole(words).split("|")
]
_KEY = re.compile(_whole("|".join(KEYS)).encode())
# Where a key may begin: in a run of its characters, first, behind `_` or `-`, or behind an escape (`\n`, or `\u2192`,
# the arrow that a Read tool writes behind a line's number).
_BEGINNING = re.compile(rb"(?=[\w-]{14})(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=\\u[0-9a-fA-F]{4}))[A-Za-z0-9]")
_NUMBER = re.compile(rb"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_KEY_PART = re.compile(_whole(r"({KEY_LINE_END})|[A-Za-z0-9+/=]+").encode(), re.IGNORECASE)


def redact(text: str) -> str:
    """The text, with everything masked that looks like a credential."""
    return redact_bytes(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")


def redact_bytes(data: bytes, between: Callable[[], None] = lambda: None) -> bytes:
    """The bytes, with everything masked that looks like a credential. `between` is called between two windows."""
    out = bytearray(data)
    for start in range(0, len(data), _WINDOW):
        for first, last, kind in _secrets(data, start):
            secret = data[first:last]
            if kind == "key":
                out[first:last] = _KEY_PART.sub(lambda part: part[1] or b"*" * len(part[0]), secret)
            else:
                out[first:last] = (b"1" if _NUMBER.fullmatch(secret) else b"*") * len(secret)
        between()
    return bytes(out)


def _secrets(data: bytes, start: int) -> Iterator[tuple[int, int, str | None]]:
    """The secrets that begin in one window: where each begins and ends, and of what kind it is."""
    end = min(start + _WINDOW + _LONGEST_WORD, len(data))
    # A run may be megabytes long, and each key in it would be read to its end again and again.
    furthest = end + _LOOK_AHEAD
    known = 0
    for beginning in _BEGINNING.finditer(data, start, end):
        if beginning.start() >= known and (found := _KEY.match(data, beginning.start(), furthest)):
            known = found.end()
            yield *found.span(), None
    lower = data[start:end].lower()
    for word, pattern in _PLACES:
        is_before = "before" in pattern.groupindex
        at = lower.find(word)
        while at >= 0:
            behind, place = at + 1, start + at
            if is_before:
                found = pattern.search(data, max(0, place - _LOOK_BEHIND), place)
            else:
                found = pattern.match(data, place, furthest)
            if found:
                first, last = found.span(found.lastindex or 0)
                if found.lastgroup != "random" or _is_random(data[first:last]):
                    yield first, last, found.lastgroup
                    behind = max(behind, last - start)
            at = lower.find(word, behind)


def _is_random(value: bytes) -> bool:
    """Whether a part of the value is no word, number or version: long, with letters and digits that hardly repeat."""
    for part in re.split(rb"[._~+/=:-]+", value[:512]):
        if len(part) >= 8 and re.search(rb"[A-Za-z]", part) and re.search(rb"[0-9]", part):
            bits = -sum(count / len(part) * log2(count / len(part)) for count in Counter(part).values())
            if bits >= 2.5:
                return True
    return False
