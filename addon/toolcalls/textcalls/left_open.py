"""What a line leaves open at its end, and what closes it: blocks of wikis and templates, strings of source code.

A string that begins at the end of a line contains whole lines, which may be calls, with quotes and blank lines in
them. So only a plain closer counts: a line that begins with the string's mark and continues like source code.
"""

from __future__ import annotations

import re
from functools import cache

_BLOCK = re.compile(
    r"\{(?P<macro>code|noformat|quote|panel|info|note|tip|warning|verbatim)(?:[:|][^{}]{0,60})?\}\Z"  # a wiki
    r"|\{%-?\s{0,4}(?P<template>raw|verbatim|highlight|comment)\b[^%]{0,60}%\}\Z"
    r"|.*(?:[=(,]\s{0,4}|\s(?=\[=)|--)\[(?P<level>={0,8})\[[^\]]{0,200}\Z"  # a long string of Lua or CMake
    r"|.*[=(]\s{0,4}\[\w{1,20}(?P<quasi>\|)[^|]{0,200}\Z"  # a quasi-quotation of Haskell
    r"|(?:.*\s)?(?i:as|do|select|return|execute)\s(?P<dollars>\$(?:\w{3,20})?\$)\Z"  # SQL
)
"""A line that opens a block which goes on until its closer, wherever that is."""

_LINES = re.compile(
    r"(?P<rule>[+./])(?P=rule){3,}\Z|(?P<colons>:{3,})\s{0,4}[\w{]"  # AsciiDoc, a fence of colons
    r"|(?P<wide>[｀＇]{3,})[^｀＇]{0,40}\Z"
    r"|(?P<comment>#=|%\{|#\*|@\*|###|\.nf|=pod|=head\d\s.{0,80})\Z"
)
"""A line that opens a block which goes on until a line that begins with its closer."""
_STRING_OF_LINES = re.compile(
    r"[=(,]\s{0,4}@(?P<mark>[\"'])\Z"  # PowerShell
    r"|[=(,\s]q\"(?P<word>\w{1,40})\Z"  # D
)
_COMMENT_ENDS = {"#=": "=#", "%{": "%}", "#*": "*#", "@*": "*@", "###": "###", ".nf": ".fi"}

_ATTRIBUTES = re.compile(r"\[[\w%#.][\w%#., =\"'-]{0,80}\]\Z")
"""A line of AsciiDoc with the attributes of the block below."""

_STRING = re.compile(
    r"(?:\A|[\s=({\[:,+?>@$]|(?<=[\w)])(?=`))"  # Comes before an opening mark, never before a closing one.
    r"(?:[rRuULbBfF]{1,3}|[@$]{1,2})?(?P<hashes>#{0,8})(?P<mark>[\"'`])\Z"
)
"""A mark at the end of a line that opens a string, if it is not the second of a pair."""
_LONGEST_MARK = 16
_BEGUN = re.compile(
    r".*(?:[=(,:+\[]\s{0,4}[A-Za-z$@]{0,2}|\A(?:echo|printf|print|puts)\s{1,4}(?:-\w{1,4}\s)?)(?<!\w')'(?=[^\s'\d])[^']{0,200}\Z"
)
"""A string in apostrophes that begins in the middle of a line of source code."""
_TEMPLATE = re.compile(r"[=(,:]\s?(?:await\s|String\.)?\w{1,40}`\Z")
"""A template literal with a tag: its mark cannot be a closing one."""
_APOSTROPHE = re.compile(r"'(?<=\w')(?=\w)|\\[\"'`\\]")
TAG_ENDS = re.compile(r"[\"'`})]{0,3}\s{0,8}/>|[\"'`})]{1,3}>")
"""The line that closes a tag with markup in its attributes."""
_ENDS_SOMEWHERE = re.compile(r".{0,400}'(?=[;,)\]}]|\s{0,8}\Z)")
"""A line in which a string in apostrophes ends."""
_CODE_BEHIND = r"(?=[;,)>/}\]+#@:.]|\s*\Z|\s+[;,)>/}\]+.:])"


def block_closer(line: str) -> str:
    """What closes the block that this line opens; empty if it opens none."""
    block = _BLOCK.match(line) if line[-1] in "}$" or "[" in line else None
    if block is None:
        return ""
    if block["macro"]:
        return "{" + block["macro"] + "}"
    if block["template"]:
        return "{% end"
    if block["quasi"]:
        return "|]"
    return block["dollars"] or f"]{block['level']}]"


def closing_line(line: str, above: str = "", unpaired: str = "") -> re.Pattern[str] | None:
    """A pattern for the line that closes what this line leaves open; None if it leaves nothing open.

    `above`: the line before it. `unpaired`: marks that are open at its end.
    """
    if line[:4] in ("----", "====", "****", "____") and _ATTRIBUTES.match(above) is not None:
        return _begins_with(line[:4])
    block = _LINES.match(line)
    if block is not None:
        if block["rule"]:
            return _begins_with(block["rule"] * 4)
        if block["comment"]:
            return _begins_with(_COMMENT_ENDS.get(block["comment"], "=cut"))
        return _begins_with(block["colons"] or block["wide"])
    if '"' not in line and "'" not in line and "`" not in line:
        return None
    lines = _STRING_OF_LINES.search(line) if line[-1] in "\"'" or 'q"' in line else None
    if lines is not None:
        return _begins_with(lines["mark"] + "@" if lines["mark"] else lines["word"] + '"')
    if "'" in line and "'" in (bare := _APOSTROPHE.sub("", line)) and _BEGUN.match(bare):
        return _ENDS_SOMEWHERE
    string = _STRING.search(line, max(0, len(line) - _LONGEST_MARK)) if line[-1] in "\"'`" else None
    if string is None or not _is_odd(line, string["mark"]):
        return None
    if string[0] == string["mark"] and string["mark"] not in unpaired and not _TEMPLATE.search(line):
        return None  # It closes what was opened in a line above.
    return _string_ends(string["mark"] + string["hashes"])


def _is_odd(line: str, mark: str) -> bool:
    """Whether the last mark of the line has no partner in the line."""
    return _APOSTROPHE.sub("", line).count(mark) % 2 == 1


@cache
def _begins_with(closer: str) -> re.Pattern[str]:
    return re.compile(re.escape(closer))


def here_document_ends(word: str) -> re.Pattern[str]:
    """A pattern for the line that closes a here-document: its word, and what ends a statement."""
    return re.compile(re.escape(word) + r"[;,)]{0,3}\Z")


@cache
def _string_ends(closer: str) -> re.Pattern[str]:
    return re.compile(re.escape(closer) + _CODE_BEHIND)


@cache
def span_closer(literal: str) -> re.Pattern[str]:
    """A pattern for the closer of a comment, string or block, in upper or lower case."""
    return re.compile(re.escape(literal), re.IGNORECASE)
