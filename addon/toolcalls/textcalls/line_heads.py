"""How the line begins on which a call stands: as prose that leads to a call, or as something that is quoted."""

from __future__ import annotations

import re

INVISIBLE = "\u00ad\u180e\u200b-\u200f\u2060\ufeff"
"""Characters that take no room: a fence behind one of them looks like a fence."""

blanks = re.compile(rf"[\s{INVISIBLE}]*+")

_MARKS = r"[-*+•‣◦▪●·–—]"
_NUMBERS = r"\(?(?:\d{1,9}|[A-Za-z]|[ivxIVX]{1,6})[.)\]:]"
list_item = re.compile(rf"(?:{_MARKS}|{_NUMBERS})(?=[\s{INVISIBLE}]|\Z)")
"""The marker of a list: what stands on its line or is indented below it belongs to the item."""

_ROLES = (
    "user|human|assistant|system|developer|tool|model|bot|ai|agent|input|output|result|response|prompt|stdout|stderr"
)
_LEVELS = "TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL"
_quoted = re.compile(
    r"[>|]"  # a block quote, a row of a table
    r"|[-+*/#;%!'\"`@.=_\\^~]{1,8}+(?:\s|\Z)|#|//|--|/\*|\*/|\{-|\(\*|(?i:rem\s|dnl\s)|\\%"  # comment, diff
    rf"|{_MARKS}\s|{_NUMBERS}\s"  # a list
    r"|\[\^?[\w .:/+-]{1,40}\](?!\()"  # a footnote, a tag of a log
    r"|\d{1,4}[-/.:]\d{1,2}[-/.:T]\d|\d{1,2}:\d{2}|\d{6,}[\s.,]"  # a date, a time
    rf"|(?:{_LEVELS})\b|(?i:<?(?:{_ROLES})>?)\s{{0,4}}[:|>]|\w[\w.@/-]{{0,40}}\s{{0,8}}[|]\s"  # a log, a transcript
    r"|[\w.@~:/ -]{0,60}[$❯➜»]\s|In\s?\[\d{0,4}\]|PS\s[A-Z]:"  # a shell
    r"|[\[{]\s{0,4}[\"']|[\"'][\w .-]{1,60}[\"']\s{0,4}:"  # data
    r"|(?:export|const|let|var|return|print|echo|printf|say|def|puts)\b[^.!?]{0,60}\Z"  # code
)
_CODE_LEADS = frozenset("=([{+,|&\\$%#^<❯")
"""A lead that ends with one of these is code or data; prose ends otherwise."""

_OBJECT = re.compile(r"\w\s+\Z")
"""A word and a space: the call is a part of the sentence. Where a model calls, the sentence has ended."""

_OPENS_BELOW = re.compile(r"(?:::|[|>][-+]?|[({\[=]|[\"'`])\s*\Z")
"""A line that ends like this has what belongs to it indented below: YAML's block scalars, reST, source code."""


def is_quoted(head: str, ending: str) -> bool:
    """Does a line that begins and, before a call, ends like this say that the call is quoted?"""
    lead = head[blanks.match(head).end() :]  # type: ignore[union-attr]
    if not lead:
        return False
    return (
        _quoted.match(lead) is not None or ending.rstrip()[-1:] in _CODE_LEADS or _OBJECT.search(ending) is not None
    )


def opens_below(line: str) -> bool:
    """Does what belongs to this line stand indented below it?"""
    return _OPENS_BELOW.search(line) is not None


def indentation(line: str) -> int:
    """The columns before the first visible character of a line."""
    blank = blanks.match(line).end()  # type: ignore[union-attr]
    return blank + 3 * line.count("\t", 0, blank)
