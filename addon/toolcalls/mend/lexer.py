"""One lexer for JSON text that may be broken or arrive in pieces: the characters that count, by name, and where
strings, marks and words begin and end.

`Lexer` follows the brackets of a text, `StrictPrefix` checks that a text can still become a strict object, and
`next_quote` ends a string, for the tolerant grammar too. The patterns run over spans at C speed; every repetition is
possessive or bounded: none backtracks over the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

# The positions that a string can have.
KEY, OBJECT, ARRAY, TUPLE = "key", "{", "[", "("

# Structural characters. The full-width forms come from models that write Chinese or Japanese.
OPEN_OBJECT = "{｛"
CLOSE_OBJECT = "}｝"
OPEN_ARRAY = "[［"
CLOSE_ARRAY = "]］"
OPEN_TUPLE = "(（"
CLOSE_TUPLE = ")）"
COMMAS = ",，、;；"
COLONS = ":："
FULL_WIDTH = "｛｝［］（），、；：＂＇"

# Quotes: what opens a string, and the characters that may close it.
CLOSERS = {
    '"': '"',
    "'": "'",
    "`": "`",
    "“": "”“",
    "”": "”",
    "„": "“”",
    "‘": "’‘",
    "’": "’",
    "‚": "‘’",
    "«": "»",
    "「": "」",
    "『": "』",
    "＂": "＂",
    "＇": "＇",
}
QUOTES = "".join(CLOSERS)
TYPOGRAPHIC = QUOTES[3:]
# Quotes that are also apostrophes: between two letters they delimit nothing.
APOSTROPHES = "'’＇"

# Blank between tokens: Unicode spaces (\s has NBSP), NUL, BOM, zero-width and direction marks.
INVISIBLE = "\x00\xad\u180e\u200b-\u200f\u2060\ufeff"
_BLANK = rf"[\s{INVISIBLE}]"
_COMMENT = r"(?://[^\n]{0,200}+\n|#[^\n]{0,200}+\n|/\*(?>[^*]|\*(?!/)){0,400}+\*/)"
# Blanks and comments, as far as a look-ahead sees: a comment counts only if it ends.
_GAP = rf"(?>{_BLANK}|{_COMMENT})*+"

blanks = re.compile(rf"{_BLANK}*+")
# A line comment needs its line break: one that would swallow the rest of the text is something else.
comment = re.compile(r"//[^\n\r\u2028\u2029]*+(?=[\n\r\u2028\u2029])|#[^\n\r]*+(?=[\n\r])|/\*(?>[^*]|\*(?!/))*+\*/")
control = re.compile(r"[\x00-\x1f]")
line_break = re.compile(r"[\n\r]")

# A key without quotes: an identifier, as JSON5 has it, or an option name (`-n`, `head-limit`).
_NAME = r"(?:-{0,2}(?:[^\W\d]|\$)[\w$.\-]{0,120}+)"
name = re.compile(_NAME)
_QUOTED_KEY = (
    r'(?:"(?>[^"\\]|\\.){0,200}+"'
    r"|'(?>[^'\\]|\\.){0,200}+'"
    r"|[“”„][^“”]{0,200}+[“”]|[‘’‚][^‘’]{0,200}+[‘’]"
    r"|「[^」]{0,200}+」|『[^』]{0,200}+』|«[^»]{0,200}+»|＂[^＂]{0,200}+＂|＇[^＇]{0,200}+＇|`[^`]{0,200}+`)"
)
_KEY = rf"(?:{_QUOTED_KEY}|{_NAME}){_GAP}[{COLONS}]"
_CUT_KEY = rf"(?:\"[^\"]{{0,200}}+\"?+|'[^']{{0,200}}+'?+|{_NAME}){_BLANK}*+\Z"
_CLOSE = r"[}｝\]］]"
_VALUE = rf"(?:[{QUOTES}{{｛\[［(（\d.+\-]|[rRbBuU]{{1,2}}['\"]|(?i:true|false|null|none)\b)"

values_in_comment = re.compile(
    rf"(?://|\#)[ \t]*+(?:[{COMMAS}{OPEN_OBJECT}{OPEN_ARRAY}\"']"
    rf"|[\d.+\-]{{1,40}}+\w{{0,8}}+[ \t]*+(?:[{COMMAS}{COLONS}]|{_CLOSE}|\Z))"
    rf"|[{COMMAS}{COLONS}=][ \t]*+(?:[{OPEN_OBJECT}{OPEN_ARRAY}\"'\d+\-.]|(?i:true|false|null|none)\b)"
)
"""A line comment that begins like an item or a pair, or a separator in it with a value behind."""
says_no = re.compile(
    r"(?i)\b(?:(?:do\s?n[o'’]?t|never|must\s+not|not\s+to)\s+(?:be\s+)?(?:run|execute|exec|call|use|send|do)"
    r"|(?:skip|cancel|abort|ignor|refus|reject|forbid|confirm|approv|hypothe|pretend)[a-z]*"
    r"|examples?|samples?|demo|dangerous|unsafe|wrong|ask(?:ing)? (?:the )?user|wait(?:ing)? for|dry[ _-]?run)\b"
)
closing = re.compile(_CLOSE)

quoted_key = re.compile(rf"{_QUOTED_KEY}{_GAP}[{COLONS}]")
pair_inside = re.compile(rf"[{COMMAS}]{_GAP}{_QUOTED_KEY}{_GAP}[{COLONS}]")
object_inside = re.compile(rf"[{OPEN_OBJECT}]{_GAP}{_QUOTED_KEY}{_GAP}[{COLONS}]")
colon_follows = re.compile(rf"{_GAP}[{COLONS}]")

# Behind a quote: what looks like the next pair, the next item, the value of a key.
_CLOSED = rf"(?>{_CLOSE}{_GAP}){{1,6}}+[{COMMAS}]{_GAP}(?:{_KEY}|{_VALUE})"
NEXT_PAIR = rf"{_GAP}(?:[{COMMAS}]{_GAP}{_KEY}|{_QUOTED_KEY}{_GAP}[{COLONS}]|{_CLOSED})"
NEXT_ITEM = rf"{_GAP}(?:[{COMMAS}]{_GAP}{_VALUE}|{_CLOSED})"
AFTER_KEY = rf"{_GAP}[{COLONS}{COMMAS}]"

# What may follow the closing quote of a value in an object, in an array, in a tuple. In an object a comma
# needs a key behind it, or else every comma in prose would end a string; a lost comma is recognised by a quoted
# key, or by a key on the next line.
after_value_in_object = re.compile(
    rf"{_GAP}(?:[{COMMAS}]{_GAP}(?:{_KEY}|{_CUT_KEY}|[}}｝{COMMAS}]|\Z)"
    rf"|[}}｝]|\Z|[\]］]{_GAP}(?:{_CLOSE}|[{COMMAS}]|\Z)"
    rf"|{_QUOTED_KEY}{_GAP}[{COLONS}])"
    rf"|[^\S\n]*+\n{_BLANK}*+{_NAME}{_BLANK}*+[{COLONS}]"
)
after_value_in_array = re.compile(rf"{_GAP}(?:[{COMMAS}]{_GAP}(?:{_VALUE}|{_CLOSE}|\Z)|{_CLOSE}|\Z)|{_BLANK}++\"")
after_value_in_tuple = re.compile(rf"{_GAP}(?:[{COMMAS})）]|{_VALUE}|\Z)")

# The beginning of an object, as opposed to a brace in prose or code.
object_start = re.compile(
    rf"[{OPEN_OBJECT}](?={_GAP}(?>,{_GAP}(?=[{QUOTES}]|{_NAME}{_GAP}[{COLONS}]))?+"
    rf"(?:[{QUOTES}\\{CLOSE_OBJECT}]|{_NAME}[\"']?+{_GAP}[{COLONS}]))"
)
# A key whose opening quote is missing: `description": "x"`.
half_quoted_key = re.compile(rf"({_NAME})[\"'](?={_BLANK}*+:)")
half_quoted_key_follows = re.compile(rf"{_BLANK}*+,{_BLANK}*+({_NAME})[\"']{_BLANK}*+:")
# One word or URL that lacks its quotes, and what proves that it ends here. No comma, bracket or quote is part of it,
# and no colon but those of a URL.
# A comma and a key without quotes behind it may be text as well.
bare_text = re.compile(
    rf"(?:[a-zA-Z][a-zA-Z0-9+.\-]{{0,20}}+://[\w./~@%+\-?&=#:!$*]{{1,4000}}+|[^\W\d][\w./~@%+\-]{{0,4000}}+"
    rf"|(?:~|\.{{0,2}})/[^\W_][\w./~@%+\-]{{0,4000}}+(?<!/))"
    rf"(?={_BLANK}*+(?:}}|,{_BLANK}*+{_QUOTED_KEY}{_BLANK}*+:))"
)
# Bare words and numbers end where something else begins.
word = re.compile(rf"[^\s{INVISIBLE}{COMMAS}{COLONS}{{}}｛｝\[\]［］()（）\"'“”‘’`/#<>]++")

# Around the object: fences and the markers of chat templates.
marker = re.compile(
    r"</?[A-Za-z_][\w:.\-]{0,60}(?:\s[^<>]{0,120})?>?|<[|｜][^<>]{1,60}[|｜]?>?|\[/?[A-Z_]{3,40}\]|(?:`{1,4}|~{3,4})"
)
# Left over behind the object: brackets, commas and semicolons, dots, quotes.
loose_ends = re.compile(rf"(?>[\s{INVISIBLE}}}｝\]］)）{COMMAS}.\"'”’`]|\\\")*+")


def end_of(pattern: re.Pattern[str], text: str, at: int = 0) -> int:
    """Where the pattern ends that matches here; the same place if it does not."""
    found = pattern.match(text, at)
    return found.end() if found else at


_INSIDE = {
    closers: re.compile(rf"[^{closers}\\]*+(?>\\.[^{closers}\\]*+)*+", re.DOTALL) for closers in CLOSERS.values()
}
"""From inside a string to the next quote that could close it, or to a backslash at the end."""


def next_quote(text: str, at: int, closers: str) -> int:
    """The next quote that no backslash escapes, or -1."""
    end = end_of(_INSIDE[closers], text, at)
    return end if end < len(text) and text[end] != "\\" else -1


_NO_BRACKET = re.compile(r"\"[^\"\\]*+(?>\\.[^\"\\]*+)*+\"|(?>[^{}\[\]\"\\]++|\\.)++", re.DOTALL)
"""Whole strings, and whatever else is no bracket."""


@dataclass(slots=True)
class Lexer:
    """Follows a text that arrives in pieces: whether it ends inside a string, and how many brackets are open.

    A backslash escapes the next character, inside a string or not.
    """

    inside: bool = False
    depth: int = 0
    opened: bool = False
    _cut: str = ""
    """What the next piece goes on with: the quote of the string in which the text ends, a backslash at its end."""

    @property
    def closed(self) -> bool:
        """Whether a bracket was opened, and none is open now."""
        return self.opened and self.depth <= 0 and not self.inside

    def follow(self, text: str) -> None:
        """Follow the next piece, at C speed."""
        brackets, quote, inside = _NO_BRACKET.sub("", self._cut + text).partition('"')
        opening = brackets.count("{") + brackets.count("[")
        self.opened = self.opened or opening > 0
        self.depth += opening - brackets.count("}") - brackets.count("]")
        self.inside = quote != ""
        self._cut = quote + ("\\" if (inside or brackets).endswith("\\") else "")


STRING: Final = '"'
WORD: Final = "word"
"""The kinds of tokens that are no marks."""
MOST_LEVELS: Final = 256
"""Deeper nesting is held: no tool takes it, and readers with a recursion limit would fail on it."""

_STRING = re.compile(
    r"\"[^\"\\\x00-\x1f]*+(?>\\(?:[\"\\/bfnrt]|u[0-9a-fA-F]{4})[^\"\\\x00-\x1f]*+)*+"
    r"(?:(\")|(\\(?:u[0-9a-fA-F]{0,3}+)?)?)"
)
"""A string, and its closing quote, or an escape that is not complete."""
_PLAIN = re.compile(r"[^\"\\\x00-\x1f]*+")
_EXPONENT = r"[eE](?:[+-]?[0-9]*+)"
_NUMBER = rf"-?(?:(?:0|[1-9][0-9]*+)(?:\.(?:[0-9]++(?:{_EXPONENT})?)?|{_EXPONENT})?)?"
_WORD = re.compile(rf"t(?:r(?:ue?)?)?|f(?:a(?:l(?:se?)?)?)?|n(?:u(?:ll?)?)?|{_NUMBER}")
"""The beginning of a number or a literal."""
_WHOLE_WORD = re.compile(r"true|false|null|[-+.0-9eE]*[0-9]")
_DIGITS = re.compile(r"([0-9])[0-9]+")

# What may follow, as kinds of tokens.
_OBJECT, _NEXT_KEY, _FIRST_KEY, _COLON = frozenset("{"), frozenset({STRING}), frozenset({STRING, "}"}), frozenset(":")
_ANY_VALUE = frozenset({STRING, WORD, "{", "["})
_FIRST_ITEM = _ANY_VALUE | {"]"}
_BEHIND_VALUE = {closer: frozenset({",", closer}) for closer in "}]"}


@dataclass(slots=True)
class StrictPrefix:
    """Checks, piece by piece, that a text can still become a strict JSON object. Each character is read once.

    Once a character does not fit, nothing fits any more.
    """

    broken: bool = False
    _expected: frozenset[str] = _OBJECT
    _cut: str = ""
    """The token in which the text ends, as short as it may be for the same to follow: of a string its quote and an
    escape that is not complete, of a number one digit for several."""
    _open: list[str] = field(default_factory=list)
    """The closing brackets of all that is open."""

    @property
    def complete(self) -> bool:
        """Whether the text so far is a complete object."""
        return not (self._expected or self.broken)

    def feed(self, text: str) -> int:
        """How many characters of `text` keep the whole a strict prefix."""
        if self.broken:
            return 0
        if self._cut == STRING and _PLAIN.fullmatch(text):
            return len(text)  # As most pieces are.
        known, text = len(self._cut), self._cut + text
        at, self._cut = 0, ""
        while at < len(text) and not self.broken:
            kind = text[at] if text[at] in '{}[],:"' else WORD
            if text[at] in " \t\r\n":
                at += 1
            elif kind not in self._expected or (kind in "{[" and len(self._open) == MOST_LEVELS):
                self.broken = True
            elif kind in (STRING, WORD):
                at = self._string_or_word(kind, text, at)
            else:
                self._mark(kind)
                at += 1
        return at - known

    def _string_or_word(self, kind: str, text: str, at: int) -> int:
        found = (_STRING if kind == STRING else _WORD).match(text, at)
        end = found.end() if found else at
        whole = found and found[1] if kind == STRING else end < len(text) and _WHOLE_WORD.fullmatch(text, at, end)
        if whole:
            is_key = kind == STRING and self._expected <= _FIRST_KEY
            self._expected = _COLON if is_key else self._behind_value()
        elif end < len(text):
            self.broken = True
        else:
            self._cut = STRING + ((found and found[2]) or "") if kind == STRING else _DIGITS.sub(r"\1", text[at:])
        return end

    def _mark(self, mark: str) -> None:
        if mark in "{[":
            self._open.append("}" if mark == "{" else "]")
            self._expected = _FIRST_KEY if mark == "{" else _FIRST_ITEM
        elif mark in "}]":
            self._open.pop()
            self._expected = self._behind_value()
        else:
            self._expected = _NEXT_KEY if mark == "," and self._open[-1] == "}" else _ANY_VALUE

    def _behind_value(self) -> frozenset[str]:
        return _BEHIND_VALUE[self._open[-1]] if self._open else frozenset()

    @property
    def closing(self) -> str:
        """What closes the string in which the text ends, and the escape in it; empty if it ends in none."""
        if not self._cut.startswith(STRING):
            return ""
        escape = self._cut[1:]
        return "0" * (6 - len(escape)) + '"' if escape[1:] else '""' if escape else '"'
