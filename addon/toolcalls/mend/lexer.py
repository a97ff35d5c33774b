"""One lexer for JSON text that may be broken: the characters that count, by name, and where tokens begin and end.

`Lexer` follows the brackets of a text that arrives in pieces, `loose_tokens` cuts a text into tokens. `next_quote`
ends a string, for the tokens as for the tolerant grammar. The patterns run over spans at C speed; every repetition is
possessive or bounded: no pattern here backtracks over the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
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
# JSON5 also admits a letter of a name as `\\u0061`.
_ESCAPE = r"\\u[0-9a-fA-F]{4}"
escaped_name = re.compile(rf"(?>{_NAME})?+(?>{_ESCAPE}(?:[\w$]*+))++")
escape = re.compile(_ESCAPE)
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
    rf"(?:[{QUOTES}\\{CLOSE_OBJECT}]|{_NAME}(?:[\"']?+{_GAP}[{COLONS}]|{_ESCAPE})))"
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
    """The next quote that no backslash escapes, or -1. `find` is five times as fast here as a pattern."""
    begin, aligned, escaped = at, at, 0
    while len(closers) == 1 and (at := text.find(closers, at)) >= 0:
        if at - begin < 8 * escaped:
            break
        slash = at
        while slash > begin and text[slash - 1] == "\\":
            slash -= 1
        if (at - slash) % 2 == 0:
            return at
        at += 1
        aligned = at
        escaped += 1
    if at < 0:
        return -1
    end = end_of(_INSIDE[closers], text, aligned)
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
SPACE: Final = " "
Token = tuple[str, int, int]
"""Its kind (STRING, SPACE, WORD for whatever is no mark, or the mark itself), its begin and end."""
CLOSER_OF: Final = {'"': '"', "'": "'", "“": "”", "‘": "’"}
BEFORE_A_VALUE: Final = frozenset(":,[(")
_BEFORE_A_STRING: Final = BEFORE_A_VALUE | {"{", ""}
_BEHIND_A_STRING = re.compile(r"\s*+(?:[,:}\]]|\Z)")
_LOOSE_TOKEN = re.compile(r"""(?P<word>\\.|[^\s\\"'“‘{}\[\](),:]++)|(?P<space>\s++)|.""", re.DOTALL)


def loose_tokens(text: str) -> Iterator[Token]:
    """The tokens of a text that may be broken: a string is in quotes of any kind, and begins where one may begin."""
    at, before = 0, ""
    while found := _LOOSE_TOKEN.match(text, at):
        kind, begin, at = {"word": WORD, "space": SPACE}.get(found.lastgroup or "", found[0]), at, found.end()
        if kind in CLOSER_OF and before in _BEFORE_A_STRING:
            kind, at = STRING, string_end(text, at, CLOSER_OF[kind])
        yield kind, begin, at
        before = before if kind == SPACE else kind


def string_end(text: str, at: int, closer: str) -> int:
    """The end of the string that began before `at`: behind the first quote with something behind it that fits."""
    while (at := next_quote(text, at, closer)) >= 0:
        at += 1
        if _BEHIND_A_STRING.match(text, at):
            return at
    return len(text)
