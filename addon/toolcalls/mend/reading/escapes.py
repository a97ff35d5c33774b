"""The inside of a string: raw text between its quotes → the characters that it means.

JSON5 deletes the backslash of an escape that it does not know, which turns `\\d+` into `d+` and
`D:\\projects` into `D:projects`. Here an unknown escape keeps it, and says that its author does not escape
backslashes: in such a string `\\b`, `\\f`, `\\x41` and `\\0` are literal too, and a Windows path is literal
as a whole. Where both readings are likely, the string is refused. Every look is at whole escapes, never at pieces of
text: `\\\\'` is a backslash and an apostrophe.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from ..refusal import Refusal
from . import characters as chars
from .strict import scan_string

_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|U[0-9a-fA-F]{8}|0[0-9]{1,2}|\r\n|[\s\S])")
_JSON_ESCAPES = re.compile(r"[^\\]*+(?>\\(?:[\"\\/bfnrt]|u[0-9a-fA-F]{4})[^\\]*+)*+")
_JSON_OR_APOSTROPHE = re.compile(r"[^\\]*+(?>\\(?:[\"'\\/bfnrt]|u[0-9a-fA-F]{4})[^\\]*+)*+")

_JSON = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
# Known to JSON5 and Python as well. `\a` and octal stay unknown: `\alpha` and `\1` are meant literally.
_KNOWN = _JSON | {"'": "'", "v": "\v", "0": "\0"}
# Those of them that stand for a character: in a JSON string they are code whose backslash was not doubled.
_CODES = frozenset("v0xU")
_CONTINUATIONS = frozenset(["\n", "\r", "\r\n", "\u2028", "\u2029"])
# What is still an escape in a string that has an unknown one.
_TRUSTED = {'"', "\\", "'", "n", "r", "t"}


def _escape(body: str) -> re.Pattern[str]:
    """An escape that goes on like `body`, behind any others, which are skipped one by one."""
    return re.compile(rf"\A[^\\]*+(?>\\(?!{body})[\s\S][^\\]*+)*+\\[\s\S]")


# Escapes of JSON that would be words with their backslashes: `\nabla`, `\times`, `\uface`. In a string with an
# unknown escape `\b` and `\f` are text.
_CONTROL_WORD = _escape(r"(?:[bfnrt][A-Za-z]|u[A-Fa-f]{4})")
_TRUSTED_WORD = _escape(r"(?:[nrt][A-Za-z]|u[A-Fa-f]{4})")
# A word whose backslash is kept: `\alpha`. The codes of JavaScript are kept in JSON.
_UNKNOWN = r"[acdeghijklmopqswyzA-TV-Z]|u(?![0-9a-fA-F]{4})|x(?![0-9a-fA-F]{2})|U(?![0-9a-fA-F]{8})"
_WORD = _escape(rf"(?:{_UNKNOWN})[A-Za-z]")
_WORD_IN_JSON = _escape(rf"(?:{_UNKNOWN}|v)[A-Za-z]")

_DRIVE_PATH = re.compile(r"[A-Za-z]:(?:\\[^\\/:*?\"<>|\x00-\x1f]+)+\\?")
_DRIVE_INSIDE = re.compile(r"(?<![A-Za-z])[A-Za-z]:(?:\\[^\\\s\"'<>|*?:]+)+")
_RELATIVE_PATH = re.compile(r"[\w.~@%\-]*(?:\\[\w.~@%\-]+)+\\?")
_RELATIVE_FILE = re.compile(r"[\w.~@%\-]+(?:\\[\w.~@%\-]+)*\\[\w~@%\-]+\.\w{1,8}")
_NETWORK_PATH = re.compile(r"\\\\[\w.$\-]+\\(?!\\)")
_SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")

# In text that is JSON but for its control characters: a string that starts with a drive and one backslash.
drive_in_text = re.compile(r'"[A-Za-z]:\\[^\\"]')


class Decoded(NamedTuple):
    text: str
    told: bool = False
    """Was any escape not JSON's?"""
    broken: bool = False
    """Was an escape unknown, so that only some others count?"""
    undoubled: bool = False
    """Was a word with a backslash kept as it is (`\\alpha`)? Its author does not double backslashes."""
    known: bool = False
    """Were escapes read as JSON's? Then `has_control_word` tells whether they had to be."""
    code: bool = False
    """Was a code of JavaScript or Python (`\\x41`) kept as it is?"""


def decode(
    raw: str,
    quote: str,
    *,
    bare_quotes: bool = True,
    as_json: bool = False,
    spend: Callable[[int], None] = lambda _: None,
) -> Decoded:
    """The meaning of `raw`, and what its escapes tell of their author.

    `bare_quotes`: quotes may stand in `raw` unescaped. `as_json`: its author writes JSON, not JavaScript.
    `spend`: told of the work where escapes are read one by one.
    """
    if "\\" not in raw:
        return Decoded(raw)
    if _DRIVE_PATH.fullmatch(raw):
        return Decoded(_drive_path(raw), told=True)
    if (_JSON_OR_APOSTROPHE if quote == "'" else _JSON_ESCAPES).fullmatch(raw) and "\0" not in raw:
        written = f'"{raw}"' if quote == '"' and not bare_quotes else _as_json(raw)
        return Decoded(scan_string(written, 1)[0], known=True)
    spend(raw.count("\\") // 3)
    if quote == "`":
        raw = _ESCAPE.sub(lambda escape: "`" if escape[1] == "`" else escape[0], raw)
    return _decode_walking(raw, quote, as_json)


def has_control_word(raw: str, *, broken: bool) -> bool:
    """Was a control character read where a word with a backslash may be meant? `broken`: beside unknown escapes."""
    return (_TRUSTED_WORD if broken else _CONTROL_WORD).match(raw) is not None


def _as_json(raw: str) -> str:
    """`raw`, which has JSON's escapes and apostrophes only, as the JSON string that means the same.

    Escaped backslashes step aside as NUL pairs: any other backslash belongs to the character behind it.
    """
    aside = r"\\" in raw
    if aside:
        raw = raw.replace(r"\\", "\0\0")
    raw = raw.replace(r"\'", "'")
    if '"' in raw:
        raw = raw.replace(r"\"", '"').replace('"', r"\"")
    if aside:
        raw = raw.replace("\0\0", r"\\")
    return f'"{raw}"'


def _decode_walking(raw: str, quote: str, as_json: bool) -> Decoded:
    escapes = set(_ESCAPE.findall(raw))
    if escapes & _CONTINUATIONS:
        raise Refusal("a backslash before a line break may be text, a continued line or the line break alone")
    if quote in chars.TYPOGRAPHIC and not escapes.isdisjoint(quote + chars.CLOSERS[quote]):
        raise Refusal("a backslash before a typographic quote may be text or an escape")
    unknown = any(e not in _KNOWN and (len(e) == 1 or e[0] not in "uxU") for e in escapes)
    code = as_json and any(e[0] in _CODES for e in escapes)
    if unknown or code:
        text = _decode_literally(raw, quote, escapes)
        undoubled = _has_undoubled_word(raw, as_json)
        return Decoded(text, told=True, broken=True, undoubled=undoubled, known=True, code=code)
    if quote != "'" and any(_may_be_text(raw, escape, as_json) for escape in _ESCAPE.finditer(raw)):
        raise Refusal("a backslash before an apostrophe may be text or an escape")
    return Decoded(_pairs(_ESCAPE.sub(_known, raw)), told=True, known=True)


def _may_be_text(raw: str, escape: re.Match[str], as_json: bool) -> bool:
    """`it\\'s` is an apostrophe that was escaped for nothing; `'\\''` is how a shell writes one."""
    if escape[1] != "'":
        return False
    before, after = raw[max(0, escape.start() - 1) : escape.start()], raw[escape.end() : escape.end() + 1]
    if as_json:
        return not (before.isascii() and before.isalpha() and after.isascii() and after.isalpha())
    return before == after == "'"


def _has_undoubled_word(raw: str, as_json: bool) -> bool:
    """Whether a backslash that is kept begins a word; that of a path says nothing about other texts."""
    if _RELATIVE_FILE.fullmatch(raw):
        return False
    text = _DRIVE_INSIDE.sub("", raw) if ":\\" in raw else raw
    return (_WORD_IN_JSON if as_json else _WORD).match(text) is not None


def _drive_path(raw: str) -> str:
    """`C:\\Users\\bob` is literal as a whole; `C:\\new\\docs` has only escapes in it: maybe two lines."""
    escapes = set(_ESCAPE.findall(raw))
    if all(e in _KNOWN or len(e) > 1 for e in escapes):
        raise Refusal("a Windows path has backslashes that may be escapes")
    return raw


def _known(escape: re.Match[str]) -> str:
    body = escape[1]
    return _KNOWN[body] if body in _KNOWN else chr(int(body[1:], 16))


def _decode_literally(raw: str, quote: str, escapes: set[str]) -> str:
    legal = {e for e in escapes if e in "nrt" or (e[0] == "u" and len(e) == 5)}
    if _NETWORK_PATH.match(raw) or (legal and _RELATIVE_PATH.fullmatch(raw)):
        raise Refusal("a path has backslashes that may be escapes")
    if "/" in escapes or (quote != "'" and "'" in escapes):
        raise Refusal("a backslash before a slash or an apostrophe may be text or an escape")
    for path in _DRIVE_INSIDE.findall(raw):
        inside = set(_ESCAPE.findall(path))
        if inside & legal and inside - set(_KNOWN) - legal:
            raise Refusal("a Windows path has backslashes that may be escapes")
    return _pairs(_ESCAPE.sub(_trusted, raw))


def _trusted(escape: re.Match[str]) -> str:
    body = escape[1]
    if body in _TRUSTED:
        return _KNOWN[body]
    return chr(int(body[1:], 16)) if body[0] == "u" and len(body) == 5 else escape[0]


def _pairs(text: str) -> str:
    """Surrogates that were written as two escapes are one character."""
    return _SURROGATE_PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)
