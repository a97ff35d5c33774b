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

from .credentials import BEFORE, COMMANDS, EXACT_PLACES, KEYS, OTHER_KEYS, PARTS, PLACES, Place

_WINDOW = 8 * 1024
"""The bytes that are searched at a time: streams wait while a search holds the interpreter (about 1 ms a window)."""
_LONGEST_WORD = 40
_LOOK_BEHIND, _LOOK_AHEAD = 256, 8 * 1024
"""The bytes before and after a window that may decide whether a word in it belongs to a credential: the patterns that
can fail look no further."""
_MOST_HARMLESS = 65_536
_harmless: set[int] = set()
"""Hashes of windows without a credential."""


def _pattern(source: str, flags: int = 0) -> re.Pattern[bytes]:
    """The pattern, with the parts that it names."""
    while (whole := re.sub(r"\{([A-Z_]+)\}", lambda part: PARTS[part[1]], source)) != source:
        source = whole
    return re.compile(source.encode(), flags)


def _shapes() -> str:
    """The keys of the table as one pattern, grouped by first letter, because most runs begin with none of these."""
    by_letter: dict[str, list[str]] = {}
    for shape in KEYS:
        mixed = "(?=[A-Za-z0-9_-]{0,200}?(?:[A-Z0-9]|[a-z]{16}))" if shape.mixed else ""
        follows = f"{mixed}{shape.alphabet}{{{shape.least},}}"
        for beginning in shape.beginnings.split():
            by_letter.setdefault(beginning[0], []).append(re.escape(beginning[1:]) + follows)
    rows = (f"{letter}(?:{'|'.join(rest)})" for letter, rest in by_letter.items())
    return "|".join((*rows, *OTHER_KEYS))


def _words(places: tuple[Place, ...], flags: int) -> list[tuple[bytes, re.Pattern[bytes], str]]:
    """Each word with its pattern, and the kind of its secrets."""
    patterns = [(place, _pattern(place.pattern, flags)) for place in places]
    return [(word.encode(), pattern, place.kind) for place, pattern in patterns for word in place.words.split("|")]


_PLACES = _words(EXACT_PLACES, 0) + _words((*COMMANDS, *PLACES), re.IGNORECASE)
_BEFORE = _words((BEFORE,), re.IGNORECASE)
# In a run of at least 14 characters of keys the shapes are tried at its beginning, after each `_` or `-`, and behind
# an escape: `\n`, or the arrow that a Read tool writes behind a line's number (`\u2192`).
_BEGINNING = _pattern(r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=\\u[0-9a-fA-F]{4}))[A-Za-z0-9](?=[A-Za-z0-9_-]{13})")
_SHAPED = _pattern(_shapes())
_RUN = b"a" * 14
_RUNS = bytes(0x61 if chr(byte).isascii() and (chr(byte).isalnum() or byte in b"_-") else 0x20 for byte in range(256))
"""Maps the characters of a run to `a` and all others to a space, so that a plain search for 14 `a` finds the runs."""
_NUMBER = re.compile(rb"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_KEY_PART = _pattern(r"({KEY_LINE_END})|[A-Za-z0-9+/=]+", re.IGNORECASE)


def redact(text: str) -> str:
    """The text, with everything masked that looks like a credential."""
    return redact_bytes(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")


def redact_bytes(data: bytes, between: Callable[[], None] = lambda: None) -> bytes:
    """The bytes, with everything masked that looks like a credential. `between` is called between two windows."""
    out = bytearray(data)
    for start in range(0, len(data), _WINDOW):
        # An agent sends its history again with every turn: a window without a credential is remembered by its hash.
        key = hash(data[max(0, start - _LOOK_BEHIND) : start + _WINDOW + _LOOK_AHEAD])
        if key in _harmless:
            continue
        masked = list(_secrets(data, start))
        for first, last, kind in masked:
            out[first:last] = _mask(data[first:last], kind)
        if not masked:
            if len(_harmless) >= _MOST_HARMLESS:
                _harmless.clear()
            _harmless.add(key)
        between()
    return bytes(out)


def _secrets(data: bytes, start: int) -> Iterator[tuple[int, int, str]]:
    """The secrets that begin in one window: where each begins and ends, and of what kind it is."""
    end = min(start + _WINDOW + _LONGEST_WORD, len(data))
    window = data[start:end]
    # A run may be megabytes long, and each key in it would be read to its end again and again.
    furthest = end + _LOOK_AHEAD
    for first, last in _runs(window):
        known = 0
        for beginning in _BEGINNING.finditer(data, start + first, start + last):
            if beginning.start() >= known and (shaped := _SHAPED.match(data, beginning.start(), furthest)):
                known = shaped.end()
                yield shaped.start(), known, ""
    lower = window.lower()
    for word, pattern, kind in _PLACES:
        at = lower.find(word)
        while at >= 0:
            behind = at + 1
            if found := pattern.match(data, start + at, furthest):
                first, last = found.span(found.lastindex or 0)
                if kind != "random" or _is_random(data[first:last]):
                    yield first, last, kind
                    behind = max(behind, last - start)
            at = lower.find(word, behind)
    for word, pattern, kind in _BEFORE:
        at, first = lower.find(word), start - _LOOK_BEHIND
        while at >= 0:
            if found := pattern.search(data, max(0, first, start + at - _LOOK_BEHIND), start + at):
                yield *found.span(1), kind
            first = start + at + len(word)
            at = lower.find(word, at + 1)


def _runs(window: bytes) -> Iterator[tuple[int, int]]:
    """The beginning and the end of each run of at least 14 letters, digits, `_` and `-`."""
    runs = window.translate(_RUNS)
    first = runs.find(_RUN)
    while first >= 0:
        last = runs.find(b" ", first)
        if last < 0:
            last = len(runs)
        yield first, last
        first = runs.find(_RUN, last)


def _is_random(value: bytes) -> bool:
    """Whether a part of the value is no word, number or version: long, with letters and digits that hardly repeat."""
    return any(
        len(part) >= 8 and re.search(rb"[A-Za-z]", part) and re.search(rb"[0-9]", part) and _entropy(part) >= 2.5
        for part in re.split(rb"[._~+/=:-]+", value[:512])
    )


def _entropy(part: bytes) -> float:
    """The bits per character, from how often each character occurs."""
    return -sum(n / len(part) * log2(n / len(part)) for n in Counter(part).values())


def _mask(secret: bytes, kind: str) -> bytes:
    if kind == "key":
        return _KEY_PART.sub(lambda part: part[1] or b"*" * len(part[0]), secret)
    return (b"1" if _NUMBER.fullmatch(secret) else b"*") * len(secret)
