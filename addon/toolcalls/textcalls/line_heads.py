"""How the lines before a call look: as prose that leads to a call, or as something that is quoted.

A model that calls a tool begins a line with the call, or puts it after a sentence. Everything else (a log, a list, a
diff, a transcript, source code, data) is a text that contains a call.
"""

from __future__ import annotations

import re
from unicodedata import category

INVISIBLE = "\u00ad\u180e\u200b-\u200f\u2060\ufeff"
"""Characters without width: a fence after one of them still looks like a fence."""

blanks = re.compile(rf"[\s{INVISIBLE}]*+")

_MARKS = r"[-*+•‣◦▪●·–—]"
_NUMBERS = r"[(（]?(?:\d{1,9}(?:\.\d{1,3}){0,3}|[A-Za-z]|[ivxIVX]{1,6})[.)\]:）．]|[一二三四五六七八九十百]{1,4}[、.]"
list_item = re.compile(rf"(?:{_MARKS}|{_NUMBERS})(?=[\s{INVISIBLE}]|\Z)")
"""The marker of a list: the rest of its line, and what is indented below it, belong to the item."""

_ROLES = (
    "用户|助手|ユーザー|アシスタント|사용자|benutzer|utilisateur|usuario|usuário|utente|gebruiker|użytkownik|kullanıcı|пользователь|المستخدم|"
    "observation|"
    "user|human|assistant|system|developer|tool|model|bot|ai|agent|input|output|result|prompt|stdout|stderr"
)
_LEVELS = "TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL"
_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_quoted = re.compile(
    r"[>＞|｜¦⎿▌▎❝†☐\u2500-\u257f]"  # a block quote, a row of a table, a box
    r"|[-+*/#;%!:'\"`@.=_\\^~]{1,8}+(?:\s|\Z)|#|//|--|/\*|\*/|\{-|\(\*|(?i:rem\s|dnl\s)|\\%"  # comment, diff
    rf"|{_MARKS}\s|(?:{_NUMBERS})(?:\s|(?<=、))"  # a list
    r"|\[\^?[\w ,.:/+-]{1,40}\](?!\()"  # a footnote, a tag of a log
    r"|\d{1,4}[-/.:]\d{1,2}[-/.:T\s]\d|\d{1,2}:\d{2}|\d{1,9}[:\t|→]|\d{6,}[\s.,]"  # a date, a time, a line number
    r"|[\w./\\-]{1,120}[:-]\d{1,7}[:-]|\^?[0-9a-f]{7,40}\s"  # what grep and git print
    rf"|(?:{_MONTHS})\s{{1,2}}\d{{1,2}}\s\d|(?:{_LEVELS})\b|\w[\w.@/-]{{0,40}}\s{{0,8}}[|]\s"  # a log
    rf"|(?i:<?(?:{_ROLES})(?:\s\d{{1,3}}|\s\([^()]{{1,20}}\))?>?)\s{{0,4}}[-–—:|>]|(?i:turn)\s\d{{1,3}}\b"
    r"|\*\*[\w ]{1,24}[:：]\*\*|\w{1,12}：\Z"  # a transcript
    r"|[\w.@~:/ -]{0,60}[$❯➜»]\s|(?:In|Out)\s?\[\d{0,4}\]|[A-Z]:\\|PS\s[A-Z]:"  # a shell
    r"|\(?[\w.~/@-]{1,40}\)?[>#%]\s|\(\w{1,20}\)\s"  # a prompt
    r"|%%\w|b[qc]\.\s"  # a notebook, Textile
    r"|\{[%\w][^{}]{0,60}\}|(?i:thought|thoughts|thinking|reasoning|analysis)\s{0,2}[:：]"  # a macro, reasoning
    r"|[\[{]\s{0,4}[\"']|[\"'][\w .-]{1,60}[\"']\s{0,4}:"  # data
    r"|(?:export|const|let|var|return|print|echo|printf|say|def|puts)\b[^.!?]{0,60}\Z"  # code
)
_CODE = frozenset("=([{+,|&\\$%#^<@~❯")
"""Text that ends with one of these is code or data; prose does not end like that."""
_IN_A_SENTENCE = re.compile(r"\w\s+\Z")
"""A word and a space: the call is part of the sentence. When a model calls a tool, the sentence has ended."""
_COMMENT = re.compile(r"(?:[\s;)}]|\A)(?://|--|[#;%*])\s*\Z|&[#\w]{2,8};\Z")
"""The beginning of a comment, also after code; an entity."""

_OPENS_BELOW = frozenset("({[=\"'`")
"""If a line ends like this, or with two colons, what is indented below belongs to it: source code, reST."""
_SCALAR = r"[|>][-+\d]{0,2}(?:\s#.{0,40})?\Z"
_BLOCK_SCALAR = re.compile(_SCALAR)
"""If a line of YAML ends like this, what is indented below belongs to it."""
_SCALAR_OF_A_KEY = re.compile(rf":\s{_SCALAR}")
"""A key of YAML with its value below: the line introduces a quotation, like a string that begins at its end."""
_INTRODUCES = re.compile(
    r"%%\w|[=<>~+:.|-]{3,}"  # a ruler, a conflict, the name of a file between arrows
    r"|[*_# (\[]{0,6}(?i:thoughts?|thinking|reasoning|analysis|scratchpad|rehearsal|思考|推理)"
    r"(?i: process|过程|過程)?[*_:： )\]]{0,6}\Z"  # a title of reasoning
    r"|\W{0,6}(?:BEGIN|START)\b[\w :-]{0,40}\W{0,6}\Z"  # a marked region
    r"|\{[^{}]{1,60}\}\Z|\{%"  # a macro of a wiki or of a template
    r"|\W{0,6}(?i:user|human|用户|benutzer|utilisateur|usuario|пользователь)\s?[:：]\W{0,4}\Z"  # a transcript
)
_STRING_BEGINS = re.compile(r"(?:[=({\[:,]\s?[@$RLurb]{0,2}#{0,8}[\"'`]|@[\"'])\Z")
_END = 50
"""How much of the end of a line is searched by patterns that match there."""
_is_alphanumeric = re.compile(r"[^\W_]").search


def is_quoted(head: str, ending: str) -> bool:
    """Whether a line with this beginning, and this ending before a call, says that the call is quoted."""
    lead = visible(head)
    if not lead:
        return False
    if _quoted.match(lead) is not None or ending.rstrip()[-1:] in _CODE:
        return True
    return _IN_A_SENTENCE.search(ending) is not None or _COMMENT.search(ending) is not None


def introduces(line: str) -> bool:
    """Whether a line says that what is below it is quoted: a ruler, a macro, code that goes on."""
    if not line:
        return False
    if line[-1] in _CODE or _INTRODUCES.match(line) is not None:
        return True
    end = line[-_END:]
    if _SCALAR_OF_A_KEY.search(end) is not None or (end[-1] in "\"'`" and _STRING_BEGINS.search(end) is not None):
        return True
    return not _is_alphanumeric(line) and not any(category(char) == "So" for char in line)


def opens_below(head: str, ending: str) -> bool:
    """Whether what is indented below this line belongs to it."""
    return _ends_open(ending) or visible(head).startswith(".. ")


def _ends_open(line: str) -> bool:
    """Whether the end of a line shows that what is indented below belongs to it."""
    end = line.rstrip()[-_END:]
    if end[-1:] in _OPENS_BELOW or end.endswith("::"):
        return True
    return ("|" in end or ">" in end) and _BLOCK_SCALAR.search(end) is not None


def left_by(lines: list[str]) -> tuple[bool | None, bool]:
    """Whether a list item is open after these lines (None: as before them), and whether they opened a block."""
    opened = False
    for line in reversed(lines):
        opened = opened or _ends_open(line)
        if line and line[0] not in " \t":
            return list_item.match(line) is not None, opened
    return None, opened


def indentation(line: str) -> int:
    """The columns before the first visible character of a line."""
    blank = blanks.match(line).end()  # type: ignore[union-attr]
    return blank + 3 * line.count("\t", 0, blank)


def leading_space(line: str) -> str:
    """The white space that a line begins with."""
    return line[: len(line) - len(visible(line))]


def visible(text: str) -> str:
    """The text from its first visible character on."""
    if text[:1].isalnum():
        return text  # true for most, and takes a third of the time
    return text[blanks.match(text).end() :]  # type: ignore[union-attr]
