"""Masks credentials, so that they never reach the disk: each byte of one becomes a star.

The number of bytes stays the same. A cheap search finds words that may belong to a credential, and only there are
the patterns tried, because this runs beside live streams. A bare number is masked by ones, so that JSON stays JSON.
A secret that a server splits across deltas cannot be found, as docs/recordings.md says.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from math import log2

from .credentials import (
    BEFORE,
    COMMANDS,
    HOOKS,
    KEY_BODIES,
    KEY_LINE_ENDS,
    KEY_LINES,
    KEYS,
    MARKED,
    NAMED,
    NAMES,
    NO_SECRET,
    OTHER_SHAPES,
    PLACES,
    QUERY,
    WHOSE_KEY,
    WORD,
    quoted,
)

_WINDOW = 8 * 1024
"""The bytes that are searched at a time: streams wait while a search holds the interpreter (about 1 ms a window)."""
_LONGEST_HINT = 40
_LOOK_BEHIND, _LOOK_AHEAD = 256, 8 * 1024
"""The bytes before and after a window that may decide whether a word in it belongs to a credential: the patterns that
can fail look no further."""
_MOST_HARMLESS = 65_536
_harmless: set[int] = set()
"""Hashes of windows without a credential."""


def _pattern(source: str) -> re.Pattern[bytes]:
    return re.compile(source.encode(), re.VERBOSE)


def _any_case(source: str) -> re.Pattern[bytes]:
    return re.compile(source.encode(), re.VERBOSE | re.IGNORECASE)


def _shapes() -> str:
    """The keys of the table as one pattern, grouped by first letter, because most runs begin with none of these."""
    by_letter: dict[str, list[str]] = {}
    for shape in KEYS:
        mixed = f"(?={WORD}{{0,200}}?(?:[A-Z0-9]|[a-z]{{16}}))" if shape.mixed else ""
        follows = f"{mixed}{shape.alphabet}{{{shape.least},}}"
        for beginning in shape.beginnings.split():
            by_letter.setdefault(beginning[0], []).append(re.escape(beginning[1:]) + follows)
    rows = (f"{letter}(?:{'|'.join(rest)})" for letter, rest in by_letter.items())
    return "|".join((*rows, *OTHER_SHAPES))


# By shape: in a run of at least 14 such characters the shapes are tried at its beginning, after each `_` or `-`, and
# behind an escape: `\n`, or the arrow that a Read tool writes behind a line's number (`\u2192`).
_BEGINNING = _pattern(r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=\\u[0-9a-fA-F]{4}))[A-Za-z0-9](?=[A-Za-z0-9_-]{13})")
_SHAPED = _pattern(_shapes())
_PEM = _any_case(rf"private\ key(?:\ block)?-----(?P<secret>{KEY_LINES}{{16,8192}})")
_KEY_BODY = _pattern(rf"(?:{'|'.join(map(re.escape, KEY_BODIES))})(?P<secret>{KEY_LINES}{{16,8192}})")
_NUMBER = re.compile(rb"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_KEYS = (_PEM, _KEY_BODY)
_KEY_PART = _pattern(rf"(?P<kept>{KEY_LINE_ENDS})|[A-Za-z0-9+/=]+")

_BARE = r"""[^\s"'\\,;&}{)(<>\[\]\x80-\xff]"""
_EQUALS = r"(?:[:=]|：|\\{1,4}u003[dD]|%3[dD])"
_TYPE = r"(?:\s?:?\s?(?:&(?:'static\ )?)?(?:str|string)\??\s?(?==))?"
_ASSIGNED = rf"[A-Za-z0-9_-]{{0,32}}(?P<named>\\{{0,7}}[\"']\]?)?{_TYPE}\s{{0,4}}{_EQUALS}\s{{0,4}}"
_SCHEME = r"(?:(?:bearer|basic|token|bot)\s{1,4})?"

_OWNED_KEY = "|".join(rf"(?<={word}[_-])|(?<={word})" for word in WHOSE_KEY)
_NAMED = _any_case(
    rf"(?:(?:{_OWNED_KEY})key|{NAMED}){_ASSIGNED}(?!\\{{0,7}}[\"']?{NO_SECRET})"
    rf"(?:{quoted(4)}|\\{{0,7}}[\"']?{_SCHEME}(?P<bare>{_BARE}{{6,}}+)(?!\())"
)
# `"auth": "…"` of Docker and npm. The bare word is too common, so a quote or `_` must precede it.
_AUTH = _any_case(r"""(?<=["'_])auth\\{0,7}["']?\s{0,4}[:=]\s{0,4}\\{0,7}["']?(?P<secret>[A-Za-z0-9+/=_-]{8,})""")
# `token` appears in every parser and every usage count, so only a value that looks random is masked.
_TOKEN = _any_case(
    rf"""(?:tokens?(?:_[A-Za-z0-9_]{{1,32}})?|_pat)(?P<named>\\{{0,7}}["']\]?)?{_TYPE}\s{{0,4}}{_EQUALS}\s{{0,4}}\\{{0,7}}["']?
        (?P<secret>(?=[^\s"'\\]{{0,200}}?[0-9])(?=[^\s"'\\]{{0,200}}?[A-Za-z])[A-Za-z0-9._~+/=:-]{{8,}})"""
)
_COOKIES = _any_case(r"""cookies?\s{0,4}:\s{0,4}(?P<secret>[^\r\n"'\\{}\[\]\x80-\xff]{6,})""")
_AUTHORIZATION = _any_case(
    rf"authorization{_ASSIGNED}\\{{0,7}}[\"']?(?>[a-z][a-z0-9-]{{1,24}}\s{{1,4}})?+(?!{NO_SECRET})(?P<secret>{_BARE}{{6,}}+)(?!\()"
)
_AUTHORITY = _any_case(r"""(?:bearer|basic)\s{1,4}(?P<secret>[A-Za-z0-9._~+/=-]{16,})""")
_WORDS_ONLY = r"(?-i:[a-z]{1,32}(?:[_.-][a-z]{1,32}){0,7})(?:[&\s\"'\\<>\#]|$)"
_QUERY = _any_case(
    rf"(?:[?&]|u0026|%26)(?!(?:key|token)={_WORDS_ONLY}){QUERY}(?:=|\\{{1,4}}u003d|%3d)(?P<secret>(?![0-9]{{1,3}}\b)(?:[^&\s\"'\\<>\#%]|%(?!26)[0-9a-f]{{2}}){{4,}})"
)
_USERINFO = _any_case(r"""://(?:[^\s/:@"'\\]{0,64}:(?P<secret>[^\s/@"'\\]{1,256})|(?P<bare>[0-9a-f]{32}))@""")
# Tokens in the place of a user's name, which look random.
_USER_TOKEN = _any_case(r"""://(?P<secret>[A-Za-z0-9_-]{16,256})(?::[^\s/:@"'\\]{0,256})?@""")

_PLACES = {**HOOKS, **COMMANDS, **PLACES}


def _words_of(source: str, table: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(word for word, pattern in table.items() if pattern == source)


# By name: wherever one of these words (in lower case) appears, the pattern is tried.
_WORDS: dict[re.Pattern[bytes], tuple[str, ...]] = {
    **{_pattern(source): _words_of(source, MARKED) for source in MARKED.values()},
    **{_any_case(source): _words_of(source, _PLACES) for source in _PLACES.values()},
    _PEM: ("private key-----", "private key block-----"),
    _KEY_BODY: tuple(map(str.lower, KEY_BODIES)),
    _QUERY: ("?", "&", "u0026", "%26"),
    _USERINFO: ("://",),
    _USER_TOKEN: ("://",),
    _AUTHORITY: ("bearer ", "basic "),
    _COOKIES: ("cookie",),
    _NAMED: ("key", *NAMES),
    _AUTHORIZATION: ("authorization",),
    _AUTH: ("auth",),
    _TOKEN: ("token", "_pat"),
}
_HINTS = [(word.encode(), pattern) for pattern, words in _WORDS.items() for word in words]
_BEFORE = [(word.encode(), _any_case(pattern)) for word, pattern in BEFORE.items()]
_NO_SECRET = _any_case(NO_SECRET)
_RANDOM = (_TOKEN, _USER_TOKEN)
"""Patterns whose secret must look random."""
_RUN = b"a" * 14
_RUNS = bytes(0x61 if chr(byte).isascii() and (chr(byte).isalnum() or byte in b"_-") else 0x20 for byte in range(256))
"""Maps the characters of a run to `a` and all others to a space, so that a plain search for 14 `a` finds the runs."""
_GROUPS = {
    pattern: [name for name in ("secret", "a", "b", "c", "bare") if name in pattern.groupindex] for pattern in _WORDS
}


def redact_bytes(data: bytes, between: Callable[[], None] = lambda: None) -> bytes:
    """The bytes, with everything masked that looks like a credential. `between` is called between two windows."""
    out = bytearray(data)
    for start in range(0, len(data), _WINDOW):
        # An agent sends its history again with every turn: a window without a credential is remembered by its hash.
        key = hash(data[max(0, start - _LOOK_BEHIND) : start + _WINDOW + _LOOK_AHEAD])
        if key in _harmless:
            continue
        if not _mask(data, start, out):
            if len(_harmless) >= _MOST_HARMLESS:
                _harmless.clear()
            _harmless.add(key)
        between()
    return bytes(out)


def _mask(data: bytes, start: int, out: bytearray) -> bool:
    """Mask the credentials that begin in one window; whether there were any."""
    found = False
    end = min(start + _WINDOW + _LONGEST_HINT, len(data))
    window = data[start:end]
    # A run may be megabytes long, and each key in it would be read to its end again and again.
    furthest = end + _LOOK_AHEAD
    for first, last in _runs(window):
        masked = 0
        for beginning in _BEGINNING.finditer(data, start + first, start + last):
            if beginning.start() >= masked and (shaped := _SHAPED.match(data, beginning.start(), furthest)):
                masked = shaped.end()
                out[shaped.start() : masked] = b"*" * len(shaped[0])
                found = True
    lower = window.lower()
    for hint, pattern in _HINTS:
        at = lower.find(hint)
        while at >= 0:
            named = pattern.match(data, start + at, furthest)
            behind = 0
            if named:
                first, last = named.span(next(name for name in _GROUPS[pattern] if named[name] is not None))
                if pattern not in _RANDOM or _is_random(data[first:last]):
                    out[first:last] = _masked(data[first:last], pattern)
                    found, behind = True, last - start
            at = lower.find(hint, max(at + 1, behind))
    for hint, pattern in _BEFORE:
        at = lower.find(hint)
        first = max(0, start - _LOOK_BEHIND)
        while at >= 0:
            last = start + at
            if (named := pattern.search(data[max(first, last - _LOOK_BEHIND) : last])) and not any(
                map(_NO_SECRET.match, (named["user"], named["secret"]))
            ):
                out[last - len(named["secret"]) : last] = b"*" * len(named["secret"])
                found = True
            first = last + len(hint)
            at = lower.find(hint, at + 1)
    return found


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


_PARTS = re.compile(rb"[._~+/=:-]+")
_LETTER, _DIGIT = re.compile(rb"[A-Za-z]"), re.compile(rb"[0-9]")
_LONG, _LEAST_BITS = 8, 2.5


def _is_random(value: bytes) -> bool:
    """Whether a part of the value is no word, number or version: long, with letters and digits that hardly repeat."""
    for part in _PARTS.split(value[:512]):
        if len(part) >= _LONG and _LETTER.search(part) and _DIGIT.search(part) and _entropy(part) >= _LEAST_BITS:
            return True
    return False


def _entropy(part: bytes) -> float:
    """The bits per character, from how often each character occurs."""
    return -sum(n / len(part) * log2(n / len(part)) for n in Counter(part).values())


def _masked(secret: bytes, pattern: re.Pattern[bytes]) -> bytes:
    if pattern in _KEYS:
        return _KEY_PART.sub(lambda part: part["kept"] or b"*" * len(part[0]), secret)
    return (b"1" if _NUMBER.fullmatch(secret) else b"*") * len(secret)


def redact(text: str) -> str:
    """The text, with everything masked that looks like a credential."""
    return redact_bytes(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
