"""Strings in any quotes, and where they end when quotes inside them were not escaped.

A quote closes a string only if the right thing follows: in an object `}`, the end, or a comma and a key. Any other
quote is taken as text. Such a guess needs proof: the inner quotes come in pairs, the value contains no `, "key":` or
`{"key":`, and nothing else in the text is uncertain (see document.py). Otherwise the text is refused.

Quotes of several kinds may give a string two ends. `{“a”: “x", "b": "y”}` is one text with straight quotes in it, or
two whose quotes were mixed up: refused, if the text behind a quote of another kind looks like the next pair or item.
Strings in straight quotes (JSON, Python, JavaScript) often contain the other kind, above all in code, so for them the
second reading also needs a last text that is opened by the other kind and closed by this one.

JSON5 deletes the backslash of an escape that it does not know, which turns `\\d+` into `d+` and `D:\\projects` into
`D:projects`. Here an unknown escape keeps its backslash, and shows that the author does not escape backslashes: in
such a string `\\b`, `\\f`, `\\x41` and `\\0` are literal too. A string with a Windows path in it is literal
(`cd C:\\Users && dir`), or refused if one of its escapes has a meaning (`cd C:\\new`). Only whole escapes are
compared, never pieces of text: `\\\\'` is a backslash and an apostrophe.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

from ..reasons import INNER_QUOTES, Refusal
from . import lexer as chars
from .source import Source
from .strict import scan_string

_FULL_WIDTH = "full-width punctuation"
_NOT_ESCAPED = "it has quotes that are not escaped"
KEY, OBJECT, ARRAY, TUPLE = chars.KEY, chars.OBJECT, chars.ARRAY, chars.TUPLE

_FOLLOWS = {
    KEY: chars.colon_follows,
    OBJECT: chars.after_value_in_object,
    ARRAY: chars.after_value_in_array,
    TUPLE: chars.after_value_in_tuple,
}
_TRIPLE = {
    quote: re.compile(rf"{quote * 3}((?>[^{quote}\\]++|\\[\s\S]|{quote}(?!{quote}{quote}))*+){quote * 3}")
    for quote in "\"'"
}
# `"a": """, "b": """`: not one text in triple quotes, but two texts of one quote each.
_STRUCTURE_FIRST = re.compile(r"\s*[,:}\]]")
_QUOTE_STEPS = {"'": "single quotes", "`": "backtick quotes", "＂": _FULL_WIDTH, "＇": _FULL_WIDTH}
_PREFIXED = re.compile(r"(?i:(?P<prefix>[rbu]|rb|br|ur))(?=[\"'])")
_RAW = {quote: re.compile(rf"{quote}((?>[^{quote}\\]|\\[\s\S])*+){quote}") for quote in "\"'"}
# Steps which show that the author writes JavaScript or Python, and knows its escapes.
OTHER_LANGUAGES = frozenset({"single quotes", "unquoted keys", "Python literals", "triple quotes", "number format"})
# `['x.split(',')']`: two items by the grammar, one by its brackets.
_SPLIT_CALL = re.compile(r"[(\[{=][\"'],\s*+[\"'][)\]}]")
_DANGLING = re.compile(r"\\(?:u[0-9a-fA-F]{0,3}|x[0-9a-fA-F]?)?\Z|[\ud800-\udbff]\Z|\\u[dD][89abAB][0-9a-fA-F]{2}\Z")
# Behind the last value: closing brackets, and no comma that would announce another value.
_NO_MORE_VALUES = re.compile(r"[\s}\])］｝]*+(?![,，])")
# The first inner quote of each pair opens something. Before these characters it would close something, so the pairs
# are wrong.
_LIKE_A_CLOSER = re.compile(r"[\s,:;}\])]")
# `"a"+"b"`: two texts and an operator, or one text with quotes in it.
_EXPRESSION = re.compile(r"([\"'])\s{0,4}(?:\+|\|\|?|&&?|/|\.\.?|or|and)\s{0,4}\1")


def read_string(s: Source, position: str) -> str:
    quote = s.text[s.pos]
    s.spend(1)
    if quote in _TRIPLE and s.text.startswith(quote * 3, s.pos):
        return _triple(s, quote, position)
    if quote == "`" and s.text.startswith("``", s.pos) and not _STRUCTURE_FIRST.match(s.text, s.pos + 2):
        raise Refusal("it is not clear which part of the text in a code fence is meant")
    if quote != '"':
        s.step(_QUOTE_STEPS.get(quote, "typographic quotes"))
    text, begin = s.text, s.pos + 1
    at, inner = _closing_quote(s, begin, quote, position)
    if at < 0:
        if inner:
            raise s.unclear(_NOT_ESCAPED)
        if not s.complete or position == KEY:
            raise s.cut()
        s.close()
        # What is closed although it was cut off says nothing about its author.
        return _decode(replace(s, steps={}), _DANGLING.sub("", text[begin:]), quote)
    s.pos = at + 1
    if position == ARRAY and not inner and at - begin > 1 and _SPLIT_CALL.match(text, at - 1):
        raise Refusal(f"it is not clear where a text of `{s.key}` ends: it has quotes that are not escaped")
    if inner:
        _prove_guess(s, begin, at, quote, inner)
        if not s.may_add_missing and _NO_MORE_VALUES.match(text, at + 1):
            # A value cut off behind a quote and a bracket of its own would look the same.
            raise s.cut()
    raw = text[begin:at]
    if has_two_ends(raw, quote, position, typographic="typographic quotes" in s.steps):
        raise Refusal(f"it is not clear where a text of `{s.key}` ends: it has quotes of another kind")
    value = _decode(s, raw, quote)
    if quote == "`" and "${" in value:
        raise Refusal("a JavaScript template has a placeholder in it")
    return value


def _closing_quote(s: Source, begin: int, quote: str, position: str) -> tuple[int, list[int]]:
    """Where the string ends, or -1, and the quotes inside it that were not escaped."""
    text, follows, inner = s.text, _FOLLOWS[position], list[int]()
    at = begin
    while (at := chars.next_quote(text, at, chars.CLOSERS[quote])) >= 0:
        if (
            not inner
            and position == OBJECT
            and s.lacks_opening_quote(chars.half_quoted_key_follows.match(text, at + 1))
        ):
            break
        if follows.match(text, at + 1) and (not inner or _brackets_fit(s, at + 1)):
            if text[at] in "“‘" and chars.blanks.fullmatch(text, at + 1):
                raise s.cut()  # an opening mark at the very end opens something
            break
        if position == KEY:
            ends = chars.blanks.fullmatch(text, at + 1) is not None
            raise s.cut() if ends else Refusal("a key has no colon or unclear quotes")
        s.spend(1)
        inner.append(at)
        at += 1
    return at, inner


def _prove_guess(s: Source, begin: int, end: int, quote: str, inner: list[int]) -> None:
    text = s.text
    unclear = s.unclear(_NOT_ESCAPED)
    if quote in chars.APOSTROPHES + "‘‚":
        inner = [at for at in inner if not (text[at - 1].isalpha() and text[at + 1 : at + 2].isalpha())]
    # A unit, as in `32" display`: inches and seconds have no closing quote.
    if not all(text[at - 1].isdigit() and text[at + 1 : at + 2] in " )]" for at in inner):
        askew = any(_LIKE_A_CLOSER.match(text, at + 1) for at in inner[::2])
        if askew or len(inner) % 2:
            raise unclear
    # An object inside may as well be the arguments of another call whose fragments got in here.
    insides = (chars.pair_inside, chars.object_inside, _EXPRESSION)
    if any(inside.search(text, begin, end) for inside in insides):
        raise unclear
    s.guessed = True
    s.step(INNER_QUOTES)


def _brackets_fit(s: Source, at: int) -> bool:
    """Whether the brackets behind a guessed closing quote close what is open, and the rest fits too."""
    text, still_open = s.text, list(s.open)
    while True:
        at = chars.end_of(chars.blanks, text, at)
        if at >= len(s.text):
            return True
        char = text[at]
        if still_open and char in (chars.CLOSE_OBJECT if still_open[-1] == OBJECT else chars.CLOSE_ARRAY):
            still_open.pop()
            at += 1
        elif not still_open:
            return chars.marker.match(text, at) is not None
        else:
            return _FOLLOWS[still_open[-1]].match(text, at) is not None and char not in chars.CLOSE_OBJECT + "]］"


def _triple(s: Source, quote: str, position: str) -> str:
    found = _TRIPLE[quote].match(s.text, s.pos)
    if found is None:
        raise s.unclear("it starts with three quotes")
    end, raw = found.end(), found[1]
    fits = _FOLLOWS[position].match(s.text, end) and not s.text.startswith(quote, end)
    if not fits or _STRUCTURE_FIRST.match(raw):
        raise s.unclear("it starts with three quotes")
    s.pos = end
    s.step("triple quotes")
    return _decode(s, raw, quote)


def prefixed_string(s: Source, position: str) -> str | None:
    """The value of a Python string with a prefix (r, b, u); None if there is no such string here."""
    found = _PREFIXED.match(s.text, s.pos)
    if found is None:
        return None
    start, prefix = s.pos, found["prefix"].lower()
    s.pos = found.end()
    if "r" not in prefix:
        value = read_string(s, position)
        s.step("Python string prefix")
        return value
    quote = s.text[s.pos]
    body = (_TRIPLE if s.text.startswith(quote * 3, s.pos) else _RAW)[quote].match(s.text, s.pos)
    if body is None or not _FOLLOWS[position].match(s.text, body.end()):
        raise Refusal(f"a raw string does not end where it should, near character {start:,}")
    s.spend(1)
    s.pos = body.end()
    s.step("Python string prefix")
    return body[1]


# The marks of each kind: any mark of a kind may open a string that another mark of the kind closes.
_STRAIGHT = ('"', "'")
_FAMILIES = (*_STRAIGHT, "`", "“”„", "‘’‚", "«»", "「」", "『』", "＂", "＇")
_BEHIND_OTHER = {KEY: chars.AFTER_KEY, OBJECT: chars.NEXT_PAIR}


def has_two_ends(raw: str, quote: str, position: str, *, typographic: bool) -> bool:
    """Whether the string that `quote` opened may have ended inside `raw`, at a quote of another kind.

    `position`: whether the string is a key, or a value in an object or a list. `typographic`: typographic marks quote
    in this text.
    """
    straight = quote in _STRAIGHT
    # In a text that quotes as JSON, JavaScript or Python do, typographic marks are text.
    families = _FAMILIES if typographic or not straight else _STRAIGHT
    others = [family for family in families if quote not in family]
    if straight:
        # A text in quotes of another kind has to begin behind a colon or a comma, and to be open at the end.
        before = (raw[: max(0, *map(raw.rfind, family))].rstrip()[-1:] for family in others)
        if not any(char and char in chars.COLONS + chars.COMMAS for char in before):
            return False
    return _other_end("".join(others), _BEHIND_OTHER.get(position, chars.NEXT_ITEM)).search(raw) is not None


@cache
def _other_end(marks: str, follows: str) -> re.Pattern[str]:
    """The pattern of one of these quotes and what follows it. Compiled on first use: it takes milliseconds."""
    return re.compile(rf"(?<!\\)[{marks}]{follows}")


_ESCAPE = re.compile(
    r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|U00(?i:0[0-9a-f]|10)[0-9a-fA-F]{4}|0[0-9]{1,2}|\r\n|[\s\S])"
)
_JSON_ESCAPES = re.compile(r"[^\\]*+(?>\\(?:[\"\\/bfnrt]|u[0-9a-fA-F]{4})[^\\]*+)*+")
_JSON_OR_APOSTROPHE = re.compile(r"[^\\]*+(?>\\(?:[\"'\\/bfnrt]|u[0-9a-fA-F]{4})[^\\]*+)*+")

# Those of JSON, JSON5 and Python. `\a` and octal stay unknown: `\alpha` and `\1` are meant literally.
_KNOWN = {mark: mark for mark in "\"\\/'"}
_KNOWN |= {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"}
# Escapes of JavaScript and Python for one character: in a JSON string they are code with an undoubled backslash.
_CODES = frozenset("v0xU")
_CONTINUATIONS = frozenset(["\n", "\r", "\r\n", "\u2028", "\u2029"])
# The escapes that still count in a string with an unknown escape.
_TRUSTED = {body: _KNOWN[body] for body in "\"\\'nrt"}


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
_SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")

# A drive and the single backslash of a folder. A line break behind a letter and a colon is usual in prose and code
# (`Plan A:\n1.`, `if x:\n\ty`), so `\n`, `\r` and `\t` have to begin a word in lower case, or be a whole folder.
# A folder that begins with a bracket or the like is one behind a drive that stands alone.
_DRIVE = re.compile(
    r":\\(?<=[A-Za-z]:\\)(?:(?<![A-Za-z0-9_.\\][A-Za-z]:\\)|(?<=\\[nrt][A-Za-z]:\\))"
    r"(?:[nrt][a-z_]|[rt][0-9]|[nrt]\\[^\Wnrtu]|u(?![0-9a-fA-F]{4})|[^\W_nrtu](?![*+?{|])|[_.$%~@\-]"
    r"|(?<![^\s\"'=][A-Za-z]:\\)[()\[\]{}!#&+,;^])"
)
# The path of a file, below a folder without a dot in its name: `a.py\nb.py` is two lines.
_FILE = r"(?:\.{1,2}(?>\\[\w.~@%\-]++)++|[\w~@%\-]++(?>\\[\w~@%\-]++)++(?>\.\w{1,8}+){1,3}+)"
_STRING_OF_PATH = re.compile(rf'"(?<!\\")(?:[A-Za-z]:\\[^\\"]|{_FILE}")')
_FILE_PATH = re.compile(_FILE)
_DRIVE_PATH = re.compile(r"[A-Za-z]:(?:\\[^\\/:*?\"<>|\x00-\x1f]+)+\\?")
_DRIVE_INSIDE = re.compile(r"(?<![A-Za-z])[A-Za-z]:(?:\\[^\\\s\"'<>|*?:]+)+")
# Paths only if another escape in the string shows that backslashes are not doubled.
_RELATIVE_PATH = re.compile(r"[\w.~@%\-]*(?:\\[\w.~@%\-]+)+\\?|\\\\[\w.$\-]+\\(?!\\)[\s\S]*")

_INVALID = "invalid escapes"
UNCLEAR_PATH = "a Windows path has backslashes that may be escapes"


def may_have_path(text: str, begin: int = 0, end: int | None = None) -> bool:
    """Whether a string in this JSON text may have a Windows path in it whose backslashes are not doubled."""
    end = len(text) if end is None else end
    return "\\" in text and any(path.search(text, begin, end) for path in (_DRIVE, _STRING_OF_PATH))


def _decode(s: Source, raw: str, quote: str) -> str:
    """Decode `raw`, and note in `s` what its escapes reveal about their author."""
    s.spend(raw.count("\\") // 64)
    if "\n" in raw or "\t" in raw or "\r" in raw:
        s.step("raw control characters")
    if "\\" not in raw:
        return raw
    as_json = quote == '"' and s.steps.keys().isdisjoint(OTHER_LANGUAGES)
    path = _DRIVE_PATH.fullmatch(raw) is not None or (":\\" in raw and _DRIVE.search(raw) is not None)
    if (_JSON_OR_APOSTROPHE if quote == "'" else _JSON_ESCAPES).fullmatch(raw) and "\0" not in raw:
        words = _CONTROL_WORD.match(raw) is not None
        if path or (words and _FILE_PATH.fullmatch(raw)):
            raise Refusal(UNCLEAR_PATH)
        s.control_word = s.control_word or words
        return scan_string(_as_json(raw), 1)[0]
    s.spend(raw.count("\\") // 3)
    s.step(_INVALID)
    inside = _ESCAPE.sub(lambda escape: "`" if escape[1] == "`" else escape[0], raw) if quote == "`" else raw
    escapes = set(_ESCAPE.findall(inside))
    if escapes & _CONTINUATIONS:
        raise Refusal("a backslash before a line break may be text, a continued line or the line break alone")
    if quote in chars.TYPOGRAPHIC and not escapes.isdisjoint(quote + chars.CLOSERS[quote]):
        raise Refusal("a backslash before a typographic quote may be text or an escape")
    code = as_json and any(e[0] in _CODES for e in escapes)
    if code or any(e not in _KNOWN and (len(e) == 1 or e[0] not in "uxU") for e in escapes):
        if _DRIVE_PATH.fullmatch(raw):
            return raw
        s.literal_codes = s.literal_codes or (code and not path)
        return _decode_literally(s, inside, quote, escapes, as_json, path)
    if path:
        raise Refusal(UNCLEAR_PATH)
    if quote != "'" and any(_may_be_text(inside, escape, as_json) for escape in _ESCAPE.finditer(inside)):
        raise Refusal("a backslash before an apostrophe may be text or an escape")
    s.control_word = s.control_word or _CONTROL_WORD.match(raw) is not None
    return _unescaped(inside, _KNOWN, "uxU")


def _decode_literally(s: Source, raw: str, quote: str, escapes: set[str], as_json: bool, path: bool) -> str:
    """Decode a text with an escape that nobody knows: only the escapes of quotes and line ends count in it."""
    legal = {e for e in escapes if e in "nrt\\" or (e[0] == "u" and len(e) == 5)}
    if legal and (path or _RELATIVE_PATH.fullmatch(raw)):
        raise Refusal(UNCLEAR_PATH)
    # Where one backslash of a path is text, the others are too.
    for each in _DRIVE_INSIDE.findall(raw) if ":\\" in raw and legal else ():
        inside = set(_ESCAPE.findall(each))
        if inside & legal and inside - set(_KNOWN) - legal:
            raise Refusal(UNCLEAR_PATH)
    if "/" in escapes or (quote != "'" and "'" in escapes):
        raise Refusal("a backslash before a slash or an apostrophe may be text or an escape")
    s.control_word = s.control_word or _TRUSTED_WORD.match(raw) is not None
    # The backslash of a path says nothing about other strings.
    words = None if path or _FILE_PATH.fullmatch(raw) else (_WORD_IN_JSON if as_json else _WORD).match(raw)
    s.undoubled = s.undoubled or words is not None
    return _unescaped(raw, _TRUSTED, "u")


def _as_json(raw: str) -> str:
    """The JSON string with the meaning of `raw`, whose escapes are only JSON's and apostrophes.

    Escaped backslashes become NUL pairs meanwhile, so that any other backslash belongs to the character behind it.
    """
    raw = raw.replace(r"\\", "\0\0").replace(r"\'", "'")
    if '"' in raw:
        raw = raw.replace(r"\"", '"').replace('"', r"\"")
    return '"' + raw.replace("\0\0", r"\\") + '"'


def _may_be_text(raw: str, escape: re.Match[str], as_json: bool) -> bool:
    """Whether an escaped apostrophe may be text: in `it\\'s` the escape is just needless, a shell writes `'\\''`."""
    if escape[1] != "'":
        return False
    before, after = raw[max(0, escape.start() - 1) : escape.start()], raw[escape.end() : escape.end() + 1]
    if as_json:
        return not (before.isascii() and before.isalpha() and after.isascii() and after.isalpha())
    return before == after == "'"


def _unescaped(raw: str, known: dict[str, str], codes: str) -> str:
    """The text with the escapes decoded that are known, or begin with the letter of one of these codes."""

    def meaning(escape: re.Match[str]) -> str:
        body = escape[1]
        return chr(int(body[1:], 16)) if body[0] in codes and len(body) > 1 else known.get(body, escape[0])

    # Surrogates that were written as two escapes are one character.
    decoded = _ESCAPE.sub(meaning, raw)
    return _SURROGATE_PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), decoded)
