"""JSON inside prose: where it ends, and where its members are. Tolerates faults, mends nothing.

A quote inside a string ends it only if `,`, `:`, `}`, `]` or the end follows. That is true for every valid JSON
text, and it finds the right end even if a model forgot to escape a quote. `'` counts as a quote too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from . import python
from .cursor import Cursor, CutOff, NotACall, Step
from .values import put

_QUOTES = "\"'"
_BRACKETS = "{}[]"
_CLOSERS_BEGIN = "<["
"""What the closers of calls begin with: a value with unclosed brackets may end there. Never a brace, which nests."""
_STRUCTURE = re.compile(f"[{re.escape(_QUOTES + _BRACKETS + _CLOSERS_BEGIN)}]")
_INSIDE = {mark: re.compile(rf"[^{mark}\\]*+(?>\\.[^{mark}\\]*+)*+", re.DOTALL) for mark in _QUOTES}
"""A string up to its next quote, or up to a backslash with nothing after it."""
_SPACE = re.compile(r"[ \t\r\n]*")
_AFTER_STRING = re.compile(r"[ \t\r\n]*([,:}\]]|\Z)")
_BARE = re.compile(r"[^,}\]\s]*")
_KEY = re.compile(r"""[^\s:,{}\[\]"']+""")


def read_json(
    cur: Cursor, stops: Sequence[str] = (), *, openers: Sequence[str] = (), outer: bool = False
) -> Step[str]:
    """Read one JSON value; its text is unchanged. A stop outside any string ends a value with unclosed brackets.

    `openers`: what another call begins with. `outer`: the value is the envelope of a call, whose own brackets may be
    missing at the end of the answer.
    """
    text = yield from _value(cur, stops, outer)
    if any(mark in text for mark in (*stops, *openers)) and not _is_whole(text):
        cur.inside = True
        raise NotACall  # an unclosed string swallowed the end of its call
    return text


def _is_whole(text: str) -> bool:
    try:
        json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return False
    return True


def _value(cur: Cursor, stops: Sequence[str], outer: bool) -> Step[str]:
    cur.record()
    first = yield from cur.peek()
    if first and first in _QUOTES:
        cur.pos += 1
        yield from _string(cur, first, stops)
        return cur.recorded()
    if first not in ("{", "["):
        raise NotACall if first else CutOff
    depth = 0
    char = ""
    while True:
        match = _STRUCTURE.search(cur.window, cur.pos)
        if match is None:
            if cur.rest.strip():
                char = ""
            cur.pos = len(cur.window)
            if cur.eof:
                if outer and cur.finished and char in ("}", "]") and depth <= 1 + (first == "["):
                    return cur.recorded()
                raise CutOff
            yield
            continue
        cur.pos = match.start()
        cur.searches += 1
        char = match.group()
        if char in _CLOSERS_BEGIN and stops and depth:
            found, _ = yield from cur.ahead(stops, space=False)
            if found:
                return cur.recorded()
        if char not in _QUOTES and char not in _BRACKETS:
            cur.inside = True
            raise NotACall
        cur.pos += 1
        if char in "{[":
            depth += 1
        elif char in "}]":
            depth -= 1
            if depth <= 0:
                return cur.recorded()
        else:
            yield from _string(cur, char, stops)


def _string(cur: Cursor, quote: str, stops: Sequence[str]) -> Step[None]:
    while True:
        cur.pos = _end_inside(cur.window, cur.pos, quote)
        if not cur.window.startswith(quote, cur.pos):
            # At the end of the window, or at a backslash that is its last character.
            if cur.eof:
                cur.pos = len(cur.window)
                raise CutOff
            yield
            continue
        cur.pos += 1
        cur.searches += 1
        # White space after a quote contains no quote, so it can be consumed in either case.
        yield from cur.space()
        found, _ = yield from cur.ahead((",", ":", "}", "]", *stops), space=False)
        if found is not None:
            return


def skip_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def string_end(text: str, at: int) -> int:
    """The index after the string that begins at `at`; the end of the text if it is not closed."""
    quote = text[at]
    while True:
        at = _end_inside(text, at + 1, quote)
        if not text.startswith(quote, at):
            return len(text)
        if _AFTER_STRING.match(text, at + 1):
            return at + 1


def _end_inside(text: str, at: int, quote: str) -> int:
    inside = _INSIDE[quote].match(text, at)
    return inside.end() if inside else at


def value_end(text: str, at: int) -> int:
    """The index after the value that begins at `at`."""
    if at >= len(text):
        return at
    if text[at] in _QUOTES:
        return string_end(text, at)
    if text[at] not in "{[":
        match = _BARE.match(text, at)
        return match.end() if match else at
    depth = 0
    while True:
        match = _STRUCTURE.search(text, at)
        if match is None:
            return len(text)
        char = match.group()
        at = match.end()
        if char in _QUOTES:
            at = string_end(text, match.start())
        elif char in "{[":
            depth += 1
        elif char in "}]":
            depth -= 1
            if depth <= 0:
                return at


def all_members(text: str) -> list[tuple[str, str]]:
    """The members of an object, with decoded keys and unchanged values. Raises NotACall if one cannot be read."""
    found, whole = _members(text)
    if not whole:
        raise NotACall
    return found


def members(text: str) -> list[tuple[str, str]]:
    """The members of an object, with decoded keys and unchanged values; members after a fault are left out."""
    return _members(text)[0]


def _members(text: str) -> tuple[list[tuple[str, str]], bool]:
    """The members up to a fault or the end, and whether the end was reached."""
    found: list[tuple[str, str]] = []
    at = skip_space(text, 1)
    while at < len(text) and text[at] != "}":
        if text[at] == ",":
            at = skip_space(text, at + 1)
            continue
        if text[at] in _QUOTES:
            end = string_end(text, at)
            key = decode_string(text[at:end])
        else:
            match = _KEY.match(text, at)
            if match is None:
                return found, False
            end = match.end()
            key = match.group()
        at = skip_space(text, end)
        if at >= len(text) or text[at] != ":":
            return found, False
        at = skip_space(text, at + 1)
        end = value_end(text, at)
        found.append((key, text[at:end]))
        at = skip_space(text, end)
    return found, True


def once(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The members by key. Raises NotACall if a key appears twice, with different values."""
    found: dict[str, str] = {}
    for key, value in pairs:
        put(found, key, value.strip())
    return found


def check_keys(text: str) -> None:
    """Raise NotACall if an object in a JSON text has a key twice, with different values."""
    try:
        json.loads(text, strict=False, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        once(members(text) if text[:1] == "{" else ())


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        put(found, key, value)
    return found


def elements(text: str) -> list[str]:
    """The texts of the elements of an array, unchanged."""
    found: list[str] = []
    at = skip_space(text, 1)
    while at < len(text) and text[at] != "]":
        if text[at] in ",;":
            at = skip_space(text, at + 1)
            continue
        end = value_end(text, at)
        if end == at:
            break
        found.append(text[at:end])
        at = skip_space(text, end)
    return found


def decode_string(text: str) -> str:
    """The value of a quoted string; if it cannot be decoded, the text between its quotes."""
    inside = text[1:-1] if len(text) > 1 and text[-1] == text[0] else text[1:]
    try:
        value: object = python.decode_string(text) if text[:1] == "'" else json.loads(text, strict=False)
    except (NotACall, ValueError, RecursionError):
        return inside
    return value if isinstance(value, str) else inside
