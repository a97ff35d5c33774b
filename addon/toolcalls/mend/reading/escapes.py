"""The inside of a string: raw text between its quotes → the characters that it means.

JSON5 deletes the backslash of an escape that it does not know, which turns `\\d+` into `d+` and
`D:\\projects` into `D:projects`. Here an unknown escape keeps it, and says that its author does not escape
backslashes: in such a string `\\b`, `\\f`, `\\x41` and `\\0` are literal too, and a Windows path is literal
as a whole. Where both readings are likely, the string is refused.
"""

from __future__ import annotations

import re

from ..refusal import Refusal
from .strict import scan_string

_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|U[0-9a-fA-F]{8}|0[0-9]{1,2}|\r\n|[\s\S])")
_JSON_OR_APOSTROPHE = re.compile(r"[^\\]*+(?:\\(?:[\"'\\/bfnrt]|u[0-9a-fA-F]{4})[^\\]*+)*+")

_JSON = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
# Known to JSON5 and Python as well. `\a` and octal stay unknown: `\alpha` and `\1` are meant literally.
_MORE = {"'": "'", "v": "\v", "0": "\0", "\n": "", "\r": "", "\r\n": "", "\u2028": "", "\u2029": ""}
_KNOWN = _JSON | _MORE
# Those of them that stand for a character: in a JSON string they are code whose backslash was not doubled.
_CODES = frozenset("v0xU")
_CONTINUATIONS = frozenset(["\n", "\r", "\r\n", "\u2028", "\u2029"])
# What is still an escape in a string that has an unknown one.
_TRUSTED = {'"', "\\", "'", "n", "r", "t"}

# `it\\'s` is an apostrophe that was escaped for nothing; `'\\''` is how a shell writes one.
_NOT_IN_A_WORD = re.compile(r"(?<![A-Za-z])\\'|\\'(?![A-Za-z])")
_SHELL_APOSTROPHE = re.compile(r"'\\''")
_DRIVE_PATH = re.compile(r"[A-Za-z]:(?:\\[^\\/:*?\"<>|\x00-\x1f]+)+\\?")
_DRIVE_INSIDE = re.compile(r"(?<![A-Za-z])[A-Za-z]:(?:\\[^\\\s\"'<>|*?:]+)+")
_RELATIVE_PATH = re.compile(r"[\w.~@%\-]*(?:\\[\w.~@%\-]+)+\\?")
_NETWORK_PATH = re.compile(r"\\\\[\w.$\-]+\\(?!\\)")
_RAW_LINE_BREAK = re.compile(r"(?<!\\)[\n\r]")
_SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")

# In text that is JSON but for its control characters: a string that starts with a drive and one backslash.
drive_in_text = re.compile(r'"[A-Za-z]:\\[^\\"]')


def decode(raw: str, quote: str, *, bare_quotes: bool = True, as_json: bool = False) -> tuple[str, bool]:
    """The meaning of `raw`, and whether any escape in it was not JSON's.

    `bare_quotes`: quotes may stand in `raw` unescaped. `as_json`: its author writes JSON, not JavaScript.
    """
    if "\\" not in raw:
        return raw, False
    if _DRIVE_PATH.fullmatch(raw):
        return _drive_path(raw), True
    if _JSON_OR_APOSTROPHE.fullmatch(raw) and "\0" not in raw and (quote == "'" or "\\'" not in raw):
        if quote == '"' and not bare_quotes:
            return scan_string(f'"{raw}"', 1)[0], False
        return scan_string(_as_json(raw), 1)[0], False
    return _decode_walking(raw.replace(r"\`", "`") if quote == "`" else raw, quote, as_json)


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


def _decode_walking(raw: str, quote: str, as_json: bool) -> tuple[str, bool]:
    escapes = set(_ESCAPE.findall(raw))
    unknown = any(e not in _KNOWN and (len(e) == 1 or e[0] not in "uxU") for e in escapes)
    if unknown or (as_json and any(e[0] in _CODES for e in escapes)):
        return _decode_literally(raw, quote, escapes), True
    if escapes & _CONTINUATIONS and _RAW_LINE_BREAK.search(raw):
        raise Refusal("a backslash before a line break may be text or a continued line")
    if quote != "'" and (_NOT_IN_A_WORD if as_json else _SHELL_APOSTROPHE).search(raw):
        raise Refusal("a backslash before an apostrophe may be text or an escape")
    return _pairs(_ESCAPE.sub(_known, raw)), True


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
    if escapes & _CONTINUATIONS:
        raise Refusal("a backslash before a line break may be text or a continued line")
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
