"""The characters of broken JSON, by name, and the patterns that run over spans of them at C speed.

Every repetition is possessive or bounded: no pattern here backtracks over the text.
"""

from __future__ import annotations

import re

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

# A line comment that begins like the values around it: with an item, a pair, or a comma and more of them.
_STRING = r"(?:\"[^\"\n]{0,200}+\"|'[^'\n]{0,200}+')"
_ATOM = rf"(?:{_STRING}|[+-]?[\d.]{{1,40}}+\w{{0,8}}+|(?i:true|false|null|none)\b)"
like_values = re.compile(
    rf"(?://|\#)[ \t]*+[{COMMAS}]?[ \t]*+(?:{_NAME}[ \t]*+[{COLONS}][ \t]*+)?"
    rf"(?:{_ATOM}[ \t]*+(?:[{COMMAS}{COLONS}]|{_CLOSE}|\Z)|[{OPEN_OBJECT}{OPEN_ARRAY}])"
)
values_inside = re.compile(
    rf"[{COMMAS}][ \t]*+{_ATOM}[ \t]*+(?:[{COMMAS}]|{_CLOSE}|\Z)"
    rf"|(?://|\#)[ \t]*+(?:{_NAME}|{_STRING})(?:[ \t]*+[={COLONS}][ \t]*+|[ \t]++)"
    rf"(?:(?i:true|false|null|none)\b|{_STRING})"
)
"""Values further inside a line comment: an item behind a comma, or a flag and its value."""
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

# Pairs and items in which only the quotes may need mending. What follows them is checked as for any string.
_S = r"[ \t\r\n]*+"
_PLAIN_STRING = r"([\"'])([^\"'\\\x00-\x1f]*+)"
_PLAIN_WORD = r"(-?(?:0|[1-9][0-9]*+)(?>\.[0-9]++)?+(?>[eE][+-]?[0-9]++)?+)|(true|false|null|True|False|None)\b"
plain_pair = re.compile(
    rf"{_S}{_PLAIN_STRING}\1{_S}:{_S}(?:{_PLAIN_STRING}\3|{_PLAIN_WORD}){_S}"
    rf"(?=}}|,{_S}(?:}}|(?:\"[^\"\\]{{0,200}}+\"|'[^'\\]{{0,200}}+'){_S}:))"
)
plain_item = re.compile(rf"{_S}(?:{_PLAIN_STRING}(?<![(\[{{=])\1|{_PLAIN_WORD}){_S}(?=\]|,{_S}[\]\"'{{\[\d\-tfnTFN])")
comma_before_pair = re.compile(rf"{_S},(?={_S}[\"'])")
comma_before_item = re.compile(rf"{_S},(?={_S}[\"'\d\-tfnTFN])")

plain_object_end = re.compile(rf"{_S}(,?){_S}}}")
plain_array_end = re.compile(rf"{_S}(,?){_S}\]")
plain_comma = re.compile(rf"{_S},{_S}(?=[{{\[])")

# The beginning of an object, as opposed to a brace in prose or code.
object_start = re.compile(
    rf"[{OPEN_OBJECT}](?={_GAP}(?:[{QUOTES}\\{CLOSE_OBJECT}]|{_NAME}(?:{_GAP}[{COLONS}]|{_ESCAPE})))"
)
# Bare words and numbers end where something else begins.
word = re.compile(rf"[^\s{INVISIBLE}{COMMAS}{COLONS}{{}}｛｝\[\]［］()（）\"'“”‘’`/#<>]++")

# Around the object: fences and the markers of chat templates.
marker = re.compile(
    r"</?[A-Za-z_][\w:.\-]{0,60}(?:\s[^<>]{0,120})?>?|<[|｜][^<>]{1,60}[|｜]?>?|\[/?[A-Z_]{3,40}\]|(?:`{1,4}|~{3,4})"
)
# Left over behind the object: brackets, commas and semicolons, dots, quotes.
loose_ends = re.compile(rf"(?>[\s{INVISIBLE}}}｝\]］)）{COMMAS}.\"'”’`]|\\\")*+")
