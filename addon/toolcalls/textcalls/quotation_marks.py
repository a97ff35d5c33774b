"""What opens and what closes a quotation: the marks of Markdown, markup, source code and prose, as data."""

from __future__ import annotations

import re

from . import invented_turns, reasoning_wrappers
from .line_heads import INVISIBLE, list_item, visible

QUOTES = frozenset("\"'“”„‟‘’‚«»‹›「」『』｢｣〈⟪❝❮【′″´‵`\\")
"""An opener right after one of these is quoted, or is part of JSON data or source code."""

SPANS = {"<!--": "-->", "<![cdata[": "]]>", '"""': '"""', "'''": "'''", "{{{": "}}}", "{{!--": "--}}"}
"""Strings, comments and the like that go on until their closer, over any number of lines."""
SPANS_AT_HEAD = {
    "/*": "*/",
    "{-": "-}",
    "(*": "*)",
    "#|": "|#",
    "<#": "#>",
    "=begin": "=end",
    "-----": "-----end",
    "/+": "+/",
    "{#": "#}",
    "{{!": "}}",
    "<?php": "?>",
    "\\iffalse": "\\fi",
    "#if 0": "#endif",
}
"""Comments and marked regions, if a line begins with them: elsewhere these characters mean something else."""
BLOCKS = {"#+begin_": "#+end_", "\\begin{": "\\end{", "[code": "[/code", "[quote": "[/quote", "[pre": "[/pre"}
"""Blocks of org-mode, LaTeX and BBCode, if a line begins with them."""

REGION = re.compile(r"-{5,}\s?\w")
BEFORE_A_COMMENT = frozenset(" \t;{}")
BEFORE_A_STRING = frozenset("=(:,+[{?")
"""After one of these a mark opens a string of source code."""
BEFORE_A_TEMPLATE = re.compile(r"(?:[=(:,+\[{?]|=>|\b(?:return|yield|await|throw|case))\s{0,4}\Z")
"""After this a backtick opens a string of source code."""
INCHES = re.compile(r"\d\"(?=[\s.,;)]|\Z)")
LINE_ENDS = re.compile("[\x85\u2028\u2029]")
"""Other characters that are displayed as the end of a line."""

MARKS = {
    "“": "”",
    "„": "“”",
    "«": "»",
    "»": "«",
    "「": "」",
    "『": "』",
    "﹁": "﹂",
    "﹃": "﹄",
    "《": "》",
    "〝": "〞〟",
    "＂": "＂",
    "‘": "’",
    "‚": "‘’",
    "‹": "›",
    "❝": "❞",
    "‟": "”",
    "｢": "｣",
    "〈": "〉",
    "⟪": "⟫",
    "【": "】",
    "〔": "〕",
    "⟦": "⟧",
    "״": "״",
    "（": "）",
}
"""Quotation marks that open, and what closes them."""
_MOST_MARKS = 8
_MARK = re.escape("".join(sorted(set("".join((*MARKS, *MARKS.values()))))))

INLINE_TAGS = frozenset(("code", "kbd", "samp", "tt", "q", "s", "del", "strike"))
BLOCK_TAGS = frozenset(("pre", "textarea", "xmp", "blockquote", "quote", "example", "document"))
"""Elements that quote wherever they open; other elements quote if a line begins with them."""
NEVER_CLOSED = frozenset(
    (
        *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"),
        *("p", "li", "td", "th", "tr", "dt", "dd", "option", "thead", "tbody", "tfoot"),
    )
)
"""Elements of HTML that need no closer."""
OF_CALLS = frozenset(
    (
        *(
            "tool_call",
            "tool_calls",
            "toolcall",
            "function_calls",
            "function_call",
            "function",
            "invoke",
            "parameter",
        ),
        *("tool", "tools", "param", "arg_key", "arg_value", "arguments", "longcat_tool_call", "minimax:tool_call"),
        *("start_function_call", "end_function_call", "escape", "steptml:invoke", "steptml:parameter"),
        *("xai:function_call", "seed:tool_call", "antml:invoke", "antml:parameter", "antml:function_calls"),
    )
)
"""Markup of calls, which the formats handle."""

_LITERALS = "|".join(re.escape(literal) for literal in (*SPANS, *SPANS_AT_HEAD, *BLOCKS))
TOKEN = re.compile(
    rf"\\[\\`\"]|`{{1,200}}+|{reasoning_wrappers.WRAPPER}|{invented_turns.TURN}|(?P<literal>(?i:{_LITERALS}))"
    r"|</(?P<closed>[^\W\d][\w:.-]{0,60}+)\s{0,8}>"
    r"|<(?P<opened>[^\W\d][\w:.-]{0,60}+)(?>[\s=](?>\"[^\"]{0,120}+\"|'[^']{0,120}+'|[^<>\"']){0,120}+)?+>"
    r"|<(?P<begun>[^\W\d][\w:.-]{0,60}+)(?=\s{1,8}[\w:.@-]{1,60}\s{0,4}=|\s{0,8}\Z)"
    r"|<<<?[-~]?\s{0,4}(?:(?P<q>[\"'])(?P<quoted>[^\"'\n]{0,40}+)(?P=q)"
    r"|\\?(?P<heredoc>\$?[^\W\d][\w.-]{0,40}+)(?:(?<=[A-Z_]{2})(?=[\s;|>&)]|\Z)|(?=[;|>&)]|\s{0,8}\Z)))"
    r"|\"(?<=R\")(?P<raw>[^\s()\\\"]{0,16}+)\("  # C++
    r"|(?:(?<=r)|(?<=b))(?P<hashes>#{1,8}+)\""  # Rust
    rf"|[{_MARK}\"]"
)
_BEGINS_TOKEN = rf"\\`\"<\[\]{{&＜◁⟨{_MARK}"
_MAY_BEGIN_TOKEN = re.compile(
    rf"[{_BEGINS_TOKEN}'/(=#-](?:(?<=[{_BEGINS_TOKEN}])"
    r"|(?<=')(?='')|(?<=/)(?=[*+])|(?<=\()(?=\*)|(?<==)(?=[Bb])|(?<=#)(?=[|+#\"Ii])|(?<=-)(?=----))"
)
"""What tokens begin with: a quick check that rules out most of a text."""
TAG_END = re.compile(r"(?<![-=])>|<")
"""The end of a tag; or other markup, which then is in one of its attributes."""
OPENS_STRING = re.compile(r"[=(,:]\s{0,2}[rRuUbBfFsS$@#]{0,3}\Z")
"""What comes before a mark that opens a string, never before one that closes a string."""
IN_CODE = re.compile(r"`{1,200}+")
LONGEST = 256
"""No token is longer."""
_WORDS = rf"[^{_BEGINS_TOKEN}'/$~\n]*+"
_HARMLESS = (
    r"/(?!\*)|~(?!~~)|<(?=\s[^Tt\s]|=)|\[(?![\[=|/TtRrIi]|\w{1,20}\|)|\](?!~)|\{(?![{/\sTt])|&(?![Ll])|\$(?=[\w{(])|\\(?=\w)"
    r"|(?<=\w)'(?=\w)|(?<!\w)'[\w./-]*\w{3}'(?!\w)"  # an apostrophe, a word as source code quotes it
    r"|`[^`'\[\n]++`(?=[ .,;:!?)])"  # inline code
    rf"|(?<![\w#])\"{_WORDS}(?<!@)\"(?=[ .,;:!?)\]}}\n])"  # a quotation, or a string of source code
)
"""Marks in a line of words that change nothing, or that are closed in the same line."""
_LINE_HEAD = rf"(?:[-*+•] |\d{{1,9}}[.)] |\#{{1,6}} |\*\*|[ \t]++(?!{list_item.pattern}))?[^\W_]"
ORDINARY = re.compile(rf"(?>\n++|{_LINE_HEAD}{_WORDS}(?>(?:{_HARMLESS}){_WORDS})*+\n)++")
"""Whole lines of prose, lists and source code in which nothing opens or closes that reaches beyond its line."""
IN_FENCE = re.compile(rf"(?>[^\S\n]*+(?:[^\s`~>{INVISIBLE}][^`\n]*+)?\n)++")
QUOTED_LINES = frozenset((">", "|", "~"))
"""How a line of a block quote, a table or a fence begins."""
IN_INDENTED_CODE = frozenset(("literal", "opened", "begun", "closed", "heredoc", "quoted", "raw", "hashes"))
"""The tokens that count in a line of indented code too, because they reach beyond it."""


def next_token(text: str, at: int) -> re.Match[str] | None:
    """The first token from index `at` on, as `TOKEN.search` would find it."""
    while (begin := _MAY_BEGIN_TOKEN.search(text, at)) is not None:
        at = begin.start()
        token = TOKEN.match(text, at)
        if token is not None:
            return token
        at += 1
    return None


def marks_behind(marks: tuple[str, ...], found: str) -> tuple[str, ...]:
    """What closes the quotation marks that are open after this token."""
    if marks and found in marks[-1]:
        return marks[:-1]
    if found not in MARKS:
        return marks
    # Too many to know which one a closer belongs to: the quotation never ends.
    return (*marks, MARKS[found]) if len(marks) < _MOST_MARKS else ("",)


def literal_closer(found: str, head: str, index: int) -> str:
    """What closes the comment, string or block that these characters open at `index` of the line; empty if none."""
    at_head = not visible(head[:index])
    if found in SPANS:
        return SPANS[found]
    if found == "-----":
        return SPANS_AT_HEAD[found] if at_head and REGION.match(visible(head)) else ""
    if at_head or (found == "/*" and head[index - 1 : index] in BEFORE_A_COMMENT):
        return SPANS_AT_HEAD.get(found) or BLOCKS[found]
    return ""
