"""Credentials never reach the disk: what looks like one is masked by as many stars.

Works on bytes and keeps their number. A cheap search finds words that may belong to a credential; only there
is it looked closer, because this runs beside live streams. A bare number is masked by ones, so that JSON stays
JSON. A secret that a server cuts across deltas cannot be found; docs/recordings.md says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

_WINDOW = 8 * 1024
"""Bytes that are searched at a time: a search holds the interpreter, and streams wait for it (about 0.2 ms)."""
_LONGEST_HINT = 40
_LOOK_BEHIND, _LOOK_AHEAD = 64, 8 * 1024
"""Bytes around a window on which it may depend whether a word in it belongs to a credential: the patterns that can
fail look no further."""
_MOST_HARMLESS = 65_536
_harmless: set[int] = set()
"""Hashes of windows without a credential."""


def _pattern(source: str) -> re.Pattern[bytes]:
    return re.compile(source.encode(), re.VERBOSE)


def _any_case(source: str) -> re.Pattern[bytes]:
    return re.compile(source.encode(), re.VERBOSE | re.IGNORECASE)


# By its shape: a run of at least 14 such characters is looked at where it, or a part of it, begins.
_BEGINNING = _pattern(r"\b[sprgAxhnftdea0-9](?=[A-Za-z0-9_-]{13})")
_SHAPED = _pattern(
    r"""
    (?:
      (?:sk|pk|rk)-[A-Za-z0-9_-]{16,}                    # OpenAI, Anthropic, OpenRouter, Stripe and their kin
    | (?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{16,}
    | (?:gh[pousr]_|github_pat_|glpat-)[A-Za-z0-9_-]{16,}
    | (?:AKIA|ASIA)[A-Z0-9]{16}\b
    | AIza[A-Za-z0-9_-]{30,}
    | xox[abeoprs]-[A-Za-z0-9-]{10,}
    | (?:gsk|hf|nvapi|xai|fw|tgp|r8|npm|pypi|dop_v1|shpat)[_-][A-Za-z0-9_-]{20,}
    | eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}      # JSON web tokens
    | [0-9a-f]{32}\.[A-Za-z0-9]{16}\b                                 # Z.AI and BigModel
    )
    """
)
_GOOGLE = _pattern(r"\bya29\.(?P<secret>[A-Za-z0-9_-]{16,})")
_PEM = _any_case(r"private\ key-----(?P<secret>(?:[A-Za-z0-9+/=\ ]|\\{1,4}[nr]|[\r\n]){16,})")
_NUMBER = re.compile(rb"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_LINE_END = re.compile(rb"(\\{1,4}[nr]|[\r\n ])")

# A quoted value, whole: a string of JSON or Python, or one inside a string of JSON (its quotes are escaped once).
_QUOTED = r"""
    (?P<quote>"(?P<a>(?:[^"\\\r\n]|\\.){LEAST,4096})"
    | '(?P<b>(?:[^'"\\\r\n]|\\[^"]){LEAST,4096})'
    | \\"(?P<c>(?:[^"\\\r\n]|\\u[0-9a-fA-F]{4}|\\\\\\\\|\\\\\\"|\\\\[^\\"]){LEAST,4096}))
"""
_BARE = r"""[^\s"'\\,;&}{)(<>\[\]\x80-\xff]"""
_ASSIGNED = r"[A-Za-z0-9_-]{0,32}(?P<named>\\{0,7}[\"'])?\s{0,4}[:=]\s{0,4}"
_SCHEME = r"(?:(?:bearer|basic|token|bot)\s{1,4})?"

_WHOSE_KEY = "|".join(
    rf"(?<={word}[_-])|(?<={word})" for word in ["api", "access", "private", "secret", "signing", "encryption"]
)
_NAMED = _any_case(
    rf"(?:(?:{_WHOSE_KEY})key|secret|passw(?:or)?d|passwd|authorization|session[_-]?(?:id|key|token)|cookie|credential"
    rf"|(?<=[cx])srf){_ASSIGNED}"
    rf"(?:{_QUOTED.replace('LEAST', '4')}|\\{{0,7}}[\"']?{_SCHEME}(?P<bare>{_BARE}{{6,}}))"
)
# `token` is a word of every parser and of every usage count: only what has a digit and no space in it.
_TOKEN = _any_case(
    r"""tokens?(?P<named>\\{0,7}["'])?\s{0,4}[:=]\s{0,4}\\{0,7}["']?(?P<secret>(?=[^\s"'\\]{0,200}?[0-9])
        (?=[^\s"'\\]{0,200}?[A-Za-z])[A-Za-z0-9._~+/=:-]{8,})"""
)
_COOKIES = _any_case(r"""cookies?\s{0,4}:\s{0,4}(?P<secret>[^\r\n"'\\{}\[\]\x80-\xff]{6,})""")
_AUTHORITY = _any_case(r"""(?:bearer|basic)\s{1,4}(?P<secret>[A-Za-z0-9._~+/=-]{16,})""")
_QUERY = _any_case(
    r"""[?&](?:key|sig|signature|code|auth|pass|passwd|password|pwd|jwt|sid|secret|token)=
        (?P<secret>[^&\s"'\\<>\#]{4,})"""
)
_USERINFO = _any_case(r"""://[^\s/:@"'\\]{0,64}:(?P<secret>[^\s/@"'\\]{1,256})@""")

# By its name: where one of these words stands (in lower case), the pattern is tried.
_WORDS: dict[re.Pattern[bytes], tuple[bytes, ...]] = {
    _GOOGLE: (b"ya29.",),
    _PEM: (b"private key-----",),
    _QUERY: (b"?", b"&"),
    _USERINFO: (b"://",),
    _AUTHORITY: (b"bearer ", b"basic "),
    _COOKIES: (b"cookie",),
    _NAMED: (b"key", b"secret", b"passw", b"authorization", b"session", b"cookie", b"credential", b"srf"),
    _TOKEN: (b"token",),
}
_HINTS = [(word, pattern) for pattern, words in _WORDS.items() for word in words]
_RUN = b"a" * 14
_RUNS = bytes(0x61 if chr(byte).isascii() and (chr(byte).isalnum() or byte in b"_-") else 0x20 for byte in range(256))
"""Characters of a run and all others: what is long enough for a credential is then found as a plain text."""
_GROUPS = {
    pattern: [name for name in ("secret", "a", "b", "c", "bare") if name in pattern.groupindex] for pattern in _WORDS
}


def redact_bytes(data: bytes, between: Callable[[], None] = lambda: None) -> bytes:
    """The bytes with what looks like a credential masked; `between` is called now and then."""
    out = bytearray(data)
    for start in range(0, len(data), _WINDOW):
        # With every turn an agent sends its history again: what had nothing in it is known by its hash.
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
    """Mask what begins in one window. False where nothing does."""
    found = False
    end = min(start + _WINDOW + _LONGEST_HINT, len(data))
    window = data[start:end]
    for first, last in _runs(window):
        for beginning in _BEGINNING.finditer(data, start + first, start + last):
            if shaped := _SHAPED.match(data, beginning.start()):
                out[shaped.start() : shaped.end()] = b"*" * len(shaped[0])
                found = True
    lower = window.lower()
    for hint, pattern in _HINTS:
        at = lower.find(hint)
        while at >= 0:
            named = pattern.match(data, start + at)
            if named:
                first, last = named.span(next(name for name in _GROUPS[pattern] if named[name] is not None))
                out[first:last] = _masked(data[first:last], pattern)
                found = True
            at = lower.find(hint, at + 1)
    return found


def _runs(window: bytes) -> Iterator[tuple[int, int]]:
    """Where a run of 14 such characters begins, and where it ends."""
    runs = window.translate(_RUNS)
    first = runs.find(_RUN)
    while first >= 0:
        last = runs.find(b" ", first)
        if last < 0:
            last = len(runs)
        yield first, last
        first = runs.find(_RUN, last)


def _masked(secret: bytes, pattern: re.Pattern[bytes]) -> bytes:
    if pattern is _PEM:
        return b"".join(part if _LINE_END.fullmatch(part) else b"*" * len(part) for part in _LINE_END.split(secret))
    return (b"1" if _NUMBER.fullmatch(secret) else b"*") * len(secret)


def redact(text: str) -> str:
    """The text with everything masked that looks like a secret."""
    return redact_bytes(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")
