"""The inside of a string: raw text between its quotes → the characters that it means.

JSON5 deletes the backslash of an escape that it does not know, which turns `\\d+` into `d+` and
`D:\\projects` into `D:projects`. Here an unknown escape keeps its backslash, and shows that the author does not
escape backslashes: in such a string `\\b`, `\\f`, `\\x41` and `\\0` are literal too. A string with a drive and a
single backslash in it is literal as a whole (`cd C:\\Users && dir`). If both readings are likely, as for
`cd C:\\new`, the string is refused. Only whole escapes are compared, never pieces of text: `\\\\'` is a backslash and
an apostrophe.
"""

from __future__ import annotations

import re

from ..reasons import Refusal
from . import lexer as chars
from .source import Source
from .strict import scan_string

_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|U[0-9a-fA-F]{8}|0[0-9]{1,2}|\r\n|[\s\S])")
_JSON_ESCAPES = re.compile(r"[^\\]*+(?>\\(?:[\"\\/bfnrt]|u[0-9a-fA-F]{4})[^\\]*+)*+")
_JSON_OR_APOSTROPHE = re.compile(r"[^\\]*+(?>\\(?:[\"'\\/bfnrt]|u[0-9a-fA-F]{4})[^\\]*+)*+")

_JSON = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
# The escapes that JSON5 and Python add. `\a` and octal stay unknown: `\alpha` and `\1` are meant literally.
_KNOWN = _JSON | {"'": "'", "v": "\v", "0": "\0"}
# Escapes of JavaScript and Python for one character: in a JSON string they are code with an undoubled backslash.
_CODES = frozenset("v0xU")
_CONTINUATIONS = frozenset(["\n", "\r", "\r\n", "\u2028", "\u2029"])
# The escapes that still count in a string with an unknown escape.
_TRUSTED = {'"', "\\", "'", "n", "r", "t"}


def _escape(body: str) -> re.Pattern[str]:
    """The pattern of a text with an escape like `body`; other escapes before it are skipped one by one."""
    return re.compile(rf"\A[^\\]*+(?>\\(?!{body})[\s\S][^\\]*+)*+\\[\s\S]")


# JSON escapes that may be meant as words with a backslash: `\nabla`, `\times`, `\uface`. In a string with an
# unknown escape, `\b` and `\f` are text.
_CONTROL_WORD = _escape(r"(?:[bfnrt][A-Za-z]|u[A-Fa-f]{4})")
_TRUSTED_WORD = _escape(r"(?:[nrt][A-Za-z]|u[A-Fa-f]{4})")
# A word whose backslash is kept: `\alpha`. In JSON the backslashes of JavaScript's codes are kept too.
_UNKNOWN = r"[acdeghijklmopqswyzA-TV-Z]|u(?![0-9a-fA-F]{4})|x(?![0-9a-fA-F]{2})|U(?![0-9a-fA-F]{8})"
_WORD = _escape(rf"(?:{_UNKNOWN})[A-Za-z]")
_WORD_IN_JSON = _escape(rf"(?:{_UNKNOWN}|v)[A-Za-z]")

_DRIVE_PATH = re.compile(r"[A-Za-z]:(?:\\[^\\/:*?\"<>|\x00-\x1f]+)+\\?")
_DRIVE_INSIDE = re.compile(r"(?<![A-Za-z])[A-Za-z]:(?:\\[^\\\s\"'<>|*?:]+)+")
_RELATIVE_PATH = re.compile(r"[\w.~@%\-]*(?:\\[\w.~@%\-]+)+\\?")
_RELATIVE_FILE = re.compile(r"[\w.~@%\-]+(?:\\[\w.~@%\-]+)*\\[\w~@%\-]+\.\w{1,8}")
# Nothing but the path of a file, below a folder without a dot in its name: `a.py\nb.py` is two lines.
_FILE = r"(?:\.{1,2}(?>\\[\w.~@%\-]++)++|[\w~@%\-]++(?>\\[\w~@%\-]++)++(?>\.\w{1,8}+){1,3}+)"
_FILE_PATH = re.compile(_FILE)
_NETWORK_PATH = re.compile(r"\\\\[\w.$\-]+\\(?!\\)")
_SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")

# A drive and the single backslash of a folder. A line break behind a letter and a colon is usual in prose and code
# (`Plan A:\n1.`, `if x:\n\ty`), so `\n`, `\r` and `\t` have to begin a word in lower case, or be a whole folder.
_DRIVE = re.compile(
    r":\\(?<=[A-Za-z]:\\)(?:(?<![A-Za-z0-9_.\\][A-Za-z]:\\)|(?<=\\[nrt][A-Za-z]:\\))"
    r"(?:[nrt][a-z_]|[rt][0-9]|[nrt]\\[^\Wnrtu]|u(?![0-9a-fA-F]{4})|[^\W_nrtu](?![*+?{|])|[_.$%~@\-])"
)
# In JSON: a string that begins with a drive, or is the path of a file.
_STRING_OF_PATH = re.compile(rf'"(?<!\\")(?:[A-Za-z]:\\[^\\"]|{_FILE}")')

_INVALID = "invalid escapes"
UNCLEAR_PATH = "a Windows path has backslashes that may be escapes"


def decode(s: Source, raw: str, quote: str, *, bare_quotes: bool = True, as_json: bool = False) -> str:
    """Decode `raw`, and note in `s` what its escapes reveal about their author.

    `bare_quotes`: `raw` may contain unescaped quotes. `as_json`: the author writes JSON, not JavaScript.
    """
    if "\\" not in raw:
        return raw
    if _DRIVE_PATH.fullmatch(raw):
        if all(e in _KNOWN or len(e) > 1 for e in _ESCAPE.findall(raw)):
            raise Refusal(UNCLEAR_PATH)  # `C:\new\temp` may be two lines
        s.step(_INVALID)
        return raw
    drive = ":\\" in raw and _DRIVE.search(raw) is not None
    if (_JSON_OR_APOSTROPHE if quote == "'" else _JSON_ESCAPES).fullmatch(raw) and "\0" not in raw:
        if drive or (_FILE_PATH.fullmatch(raw) and has_control_word(raw, broken=False)):
            raise Refusal(UNCLEAR_PATH)
        s.escaped.append((raw, False))
        written = f'"{raw}"' if quote == '"' and not bare_quotes else _as_json(raw)
        return scan_string(written, 1)[0]
    s.spend(raw.count("\\") // 3)
    s.step(_INVALID)
    return _decode_each(s, raw, quote, as_json, drive)


def _decode_each(s: Source, raw: str, quote: str, as_json: bool, drive: bool) -> str:
    """Decode a text with escapes that JSON does not have. `drive`: there is a drive in it, as in a Windows path."""
    inside = _ESCAPE.sub(lambda escape: "`" if escape[1] == "`" else escape[0], raw) if quote == "`" else raw
    escapes = set(_ESCAPE.findall(inside))
    if escapes & _CONTINUATIONS:
        raise Refusal("a backslash before a line break may be text, a continued line or the line break alone")
    if quote in chars.TYPOGRAPHIC and not escapes.isdisjoint(quote + chars.CLOSERS[quote]):
        raise Refusal("a backslash before a typographic quote may be text or an escape")
    code = as_json and any(e[0] in _CODES for e in escapes)
    broken = code or any(e not in _KNOWN and (len(e) == 1 or e[0] not in "uxU") for e in escapes)
    s.escaped.append((raw, broken))
    if broken:
        s.literal_codes = s.literal_codes or code
        s.undoubled = s.undoubled or _has_undoubled_word(inside, as_json)
        return _decode_literally(inside, quote, escapes, drive)
    if drive:
        raise Refusal(UNCLEAR_PATH)
    if quote != "'" and any(_may_be_text(inside, escape, as_json) for escape in _ESCAPE.finditer(inside)):
        raise Refusal("a backslash before an apostrophe may be text or an escape")
    return _pairs(_ESCAPE.sub(_known, inside))


def may_have_path(text: str, begin: int = 0, end: int | None = None) -> bool:
    """Whether a string in this JSON text may have a Windows path in it whose backslashes are not doubled."""
    end = len(text) if end is None else end
    return "\\" in text and any(path.search(text, begin, end) for path in (_DRIVE, _STRING_OF_PATH))


def has_control_word(raw: str, *, broken: bool) -> bool:
    """Whether a decoded escape may be meant as a word with a backslash. `broken`: `raw` has unknown escapes too."""
    return (_TRUSTED_WORD if broken else _CONTROL_WORD).match(raw) is not None


def _as_json(raw: str) -> str:
    """The JSON string with the meaning of `raw`, whose escapes are only JSON's and apostrophes.

    Escaped backslashes become NUL pairs meanwhile, so that any other backslash belongs to the character behind it.
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


def _may_be_text(raw: str, escape: re.Match[str], as_json: bool) -> bool:
    """Whether an escaped apostrophe may be text: in `it\\'s` the escape is just needless, a shell writes `'\\''`."""
    if escape[1] != "'":
        return False
    before, after = raw[max(0, escape.start() - 1) : escape.start()], raw[escape.end() : escape.end() + 1]
    if as_json:
        return not (before.isascii() and before.isalpha() and after.isascii() and after.isalpha())
    return before == after == "'"


def _has_undoubled_word(raw: str, as_json: bool) -> bool:
    """Whether a kept backslash begins a word; the backslash of a path says nothing about other strings."""
    if _RELATIVE_FILE.fullmatch(raw):
        return False
    text = _DRIVE_INSIDE.sub("", raw) if ":\\" in raw else raw
    return (_WORD_IN_JSON if as_json else _WORD).match(text) is not None


def _known(escape: re.Match[str]) -> str:
    body = escape[1]
    return _KNOWN[body] if body in _KNOWN else chr(int(body[1:], 16))


def _decode_literally(raw: str, quote: str, escapes: set[str], drive: bool) -> str:
    legal = {e for e in escapes if e in "nrt" or (e[0] == "u" and len(e) == 5)}
    if _NETWORK_PATH.match(raw) or (legal and _RELATIVE_PATH.fullmatch(raw)):
        raise Refusal(UNCLEAR_PATH)
    if drive and (legal or "\\" in escapes):
        raise Refusal(UNCLEAR_PATH)
    if "/" in escapes or (quote != "'" and "'" in escapes):
        raise Refusal("a backslash before a slash or an apostrophe may be text or an escape")
    for path in _DRIVE_INSIDE.findall(raw):
        inside = set(_ESCAPE.findall(path))
        if inside & legal and inside - set(_KNOWN) - legal:
            raise Refusal(UNCLEAR_PATH)
    return _pairs(_ESCAPE.sub(_trusted, raw))


def _trusted(escape: re.Match[str]) -> str:
    body = escape[1]
    if body in _TRUSTED:
        return _KNOWN[body]
    return chr(int(body[1:], 16)) if body[0] == "u" and len(body) == 5 else escape[0]


def _pairs(text: str) -> str:
    """Join surrogates that were written as two escapes into one character."""
    return _SURROGATE_PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)
