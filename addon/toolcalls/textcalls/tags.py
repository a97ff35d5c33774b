"""Calls whose arguments stand between tags: `<parameter name="K">V</parameter>`, `<arg_key>K</arg_key><arg_value>V…`.

A value may hold the family's own tags, so there are two readings. In the paired one every tag in a value is opened
and closed in it, or only mentioned. Where that one does not stand, the flat one may: no value has a tag in it, a
closer was forgotten, and the last one reaches the end of the answer.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ..mend.lexer import end_of
from ..tools.check import View
from ..tools.declared import Tool
from ..tools.schema import STRING
from .known import CutOff, ReadCall, WrittenTools, accepts, arguments_of, read, same_key, typed
from .tokens import skip_tokens

if TYPE_CHECKING:
    from .formats import Row

_DEPTH, _LINE = 64, 200
_QUOTES = frozenset("\"'`“”‘’«»")
_AROUND = _QUOTES | frozenset(" \t([{")
_RELATED = {
    "inner": (r"<parameter(?:=|\s)[^<>\n]{1,200}>", "</parameter>"),
    "inner_ns": (r"<[a-z]+:parameter(?:=|\s)[^<>\n]{1,200}>", "</antml" + ":parameter>"),
    "block_invoke": (r"<(?:[a-z]+:)?invoke\s[^<>\n]{1,200}>", "</invoke>"),
    "block_call": (r"<tool_call(?::[\w-]{1,64})?>", "</tool_call>"),
}
"""Openers of related families inside a value, by the closers that they share."""
_CDATA = ("<![CDATA[", "]]>")
_HARMLESS = re.compile(r"(?:\s*(?:id|call_id|tool_call_id|index|type|xmlns)=(?:\"[^\"]*\"|'[^']*'|\w+))*\s*")
"""Attributes beside the name; any other, such as `disabled="true"`, may mean that the call must not run."""
_MISSPELT_CLOSER = re.compile(r"(?:<|\[ ?[/\\])[^<>\n]{1,80}+>?+\s*+\Z")
_QUOTED = re.compile(r'"(?>[^"\\\n]|\\.)*+"')
_GAP = re.compile(r"(?>\s|\\r|\\n)*+")
_HERE_DOCUMENT = re.compile(r"<<-?[ \t]?([\"']?)([A-Za-z_]\w{0,60})\1")
_FIRST_LINE_END, _LAST_NEWLINE = re.compile(r"\r?\n"), re.compile(r"\r?\n\Z")
_LAST_LINE_END = re.compile(r"\r?\n[ \t]*+\Z")


@dataclass(slots=True)
class _Reading:
    """One reading of the tags of a call."""

    text: str
    at: int
    """Where the last tag ended that was taken, or the value without a closer."""
    values: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)
    """The other attributes of the tag of each parameter."""
    key: str | None = None
    """The parameter that is open."""
    tagged: bool = False
    """A value holds tags of the family, so its parameters prove more than those of others."""

    def adjoins(self, tag: re.Match[str], at: int | None = None) -> bool:
        """Whether nothing stands between this place and the tag."""
        return end_of(_GAP, self.text, self.at if at is None else at) >= tag.start()

    def open(self, tag: re.Match[str]) -> None:
        groups = tag.groupdict()
        key = html.unescape((groups.get("key") or groups.get("key2") or "").strip())
        self.attributes[key] = groups.get("more") or ""
        self.key, self.at = key, tag.end()
        if groups.get("empty"):
            self.values[key], self.key = "", None

    def close(self, tag: re.Match[str]) -> bool:
        """Take the value up to its closer; whether its parameter has no other value."""
        assert self.key is not None
        value = self.text[self.at : tag.start()]
        same = self.values.setdefault(self.key, value) == value
        self.key, self.at = None, tag.end()
        return same


def read_tags(row: Row, head: re.Match[str], known: WrittenTools, final: bool) -> tuple[list[ReadCall], int] | None:
    text, groups = head.string, head.groupdict()
    tool = known.resolve(html.unescape(head["name"]) if row.entities else head["name"])
    if tool is None or not _HARMLESS.fullmatch(groups.get("rest") or ""):
        return None
    if groups.get("closed"):
        return [(tool, "{}")], head.end()
    view = tool.view
    declared = view.properties.keys() if view else set[str]()
    tags = _pattern(row.param, row.param_end, row.end, row.opener)
    first = tags.search(text, head.end())
    found = _paired(row, tags.finditer(text, head.end()), text, head.end())
    if found is None and row.children and declared and (first is None or first.lastgroup != "open"):
        names = "|".join(map(re.escape, sorted(declared)))
        tags = _pattern(rf"<(?P<key>{names})>", rf"</(?:{names})>", row.end, row.opener)
        found = _flat(row, tags.finditer(text, head.end()), head, known, tool)
    if found is None:
        if not (final and known.closers_may_be_missing):
            raise CutOff
        found = _flat(row, tags.finditer(text, head.end()), head, known, tool)
        if found is None or tool.missing(found.values):
            return None
    values = found.values
    if found.tagged and (tool.missing(values) or (declared and not declared >= values.keys())):
        return None
    if any(same_key(key, values) for key in values) or _cut_here_document(values.values()):
        return None
    for (_, before), (key, _) in pairwise(values.items()):
        unknown = view is not None and declared and not view.declares(key) and not same_key(key, declared)
        if unknown and ("\n" in before.strip("\r\n") or not before.strip()):
            return None  # The tag may be a part of the value before it.
    raw = {key: _value(row, view, key, value, found.attributes[key]) for key, value in values.items()}
    return ([(tool, arguments_of(tool, raw))], found.at) if accepts(tool, raw) else None


@cache
def _pattern(param: str, param_end: str, end: str, opener: str) -> re.Pattern[str]:
    """The tags of a family: those of a parameter, and the end and the beginning of a call."""
    closers = re.compile(f"{param_end}|{end}")
    related = [f"(?P<{kind}>{tag})" for kind, (tag, closer) in _RELATED.items() if closers.fullmatch(closer)]
    own = f"(?P<open>{param})|(?P<shut>{param_end})|(?P<end>{end})|(?P<block>{opener})"
    return re.compile("|".join((own, *related)))


def _kind(tag: re.Match[str]) -> str:
    """The group of `_pattern` that matched: the outermost, which is the last to close."""
    return (tag.lastgroup or "").partition("_")[0]


def _paired(row: Row, tags: Iterator[re.Match[str]], text: str, at: int) -> _Reading | None:
    """The reading in which the tags in a value are pairs; None if there is none, or none yet.

    Takes no tag that is further than one behind the call: other calls may follow.
    """
    reading, stack = _Reading(text, at), list[str]()
    following = next(tags, None)
    while (tag := following) is not None:
        following = next(tags, None)
        kind = _kind(tag)
        if reading.key is None:
            if kind not in ("open", "end") or not reading.adjoins(tag):
                return None
            if kind == "end":
                reading.at = tag.end()
                return reading
            reading.open(tag)
            continue
        if not tag[0]:
            continue  # the end of a wrapper, which is the call's only where its own closer was forgotten
        behind = _kind(following) if following and reading.adjoins(following, tag.end()) else ""
        if kind == "shut" and not stack and behind in ("open", "end"):
            if not reading.close(tag):
                return None
            continue
        reading.tagged = True
        opens = kind in ("open", "inner")
        if _is_mentioned(text, tag, not (opens or stack or behind)):
            continue
        if opens or kind == "block":
            stack.append("end" if kind == "block" else "shut")
        elif not stack or stack.pop() != kind:
            return None
        elif not stack and (behind == "shut" if kind == "shut" else row.touches_call(text, tag.end())):
            return None  # The value may have ended before: with the closer behind this tag, or inside the first call.
        if len(stack) > _DEPTH:
            return None
    return None


def _is_mentioned(text: str, tag: re.Match[str], alone: bool) -> bool:
    """Whether a tag stands in quotation marks, or `alone` behind words on its line and set apart from them."""
    before, behind = text[tag.start() - 1], text[tag.end() : tag.end() + 1]
    line = text[max(0, tag.start() - _LINE) : tag.start()].rpartition("\n")[2]
    in_prose = alone and line.strip() != "" and (before in _AROUND or behind in _QUOTES)
    return in_prose or (before in _QUOTES and behind in _QUOTES)


def _flat(
    row: Row, tags: Iterable[re.Match[str]], head: re.Match[str], known: WrittenTools, tool: Tool
) -> _Reading | None:
    """The reading in which no value has a tag in it, and where the next tag ends a value that was not closed.

    Of a call in a wrapper whose values are all closed, the own closer may be missing at the end of the answer.
    """
    text, declared = head.string, tool.view.properties if tool.view else {}
    reading, closed, ended = _Reading(text, head.end()), True, False
    for tag in tags:
        kind = _kind(tag)
        if reading.key is not None and kind == "shut":
            if not reading.close(tag):
                return None
            continue
        if reading.key is not None:
            value = text[reading.at : tag.start()]
            if value.rstrip().endswith(f"</{reading.key}>"):
                value = value.rstrip().removesuffix(f"</{reading.key}>").rstrip()
            if kind == "block" or not may_be_unclosed(value):
                return None
            reading.values[reading.key] = _LAST_LINE_END.sub("", value)
            reading.key, reading.at, closed = None, tag.start(), False
        if kind not in ("open", "end") or not reading.adjoins(tag):
            break
        if kind == "end":
            reading.at, ended = tag.end(), True
            closed = closed or all(_fits(tool.view, *pair) for pair in reading.values.items())
            break
        reading.open(tag)
        if reading.key in reading.values or (declared and reading.key not in declared):
            return None
    wrapped = ended or not row.bare or text[: head.start()].rstrip().endswith(">")
    stands = reading.key is None and reading.values and closed and wrapped
    ends = known.in_a_page or not text[skip_tokens(text, reading.at)[0] :].strip()
    return reading if stands and ends else None


def _fits(view: View | None, key: str, value: str) -> bool:
    """Whether a value is not empty, and can be of the type that is declared for it."""
    child = view.child(key) if view else None
    fits = child is None or STRING in child.types or not isinstance(typed(value, child), str)
    return fits and value.strip() != ""


def may_be_unclosed(value: str) -> bool:
    """Whether a value without a closer ends here: not inside a quotation or a tag."""
    if not value.strip() or (value.endswith((" ", "\t")) and not _LAST_LINE_END.search(value)):
        return False
    if "<|" in value or "<｜" in value or _MISSPELT_CLOSER.search(value) or _open_words(value):
        return False
    return not any(value.count(quote) % 2 for quote in "\"'`")


def _open_words(value: str) -> set[str]:
    """The words of the here-documents that are open at the end of a value."""
    words = {match[2] for match in _HERE_DOCUMENT.finditer(value)} if "<<" in value else set()
    return words - set(map(str.strip, value.splitlines())) if words else words


def _cut_here_document(values: Iterable[str]) -> bool:
    """Whether a here-document begins in one value and ends in another: a tag in it was read as markup."""
    words: set[str] = set()
    for value in values:
        if words and not words.isdisjoint(map(str.strip, value.splitlines())):
            return True
        words |= _open_words(value)
    return False


def _value(row: Row, view: View | None, key: str, value: str, attributes: str) -> Any:
    """What the text of a parameter means, before its schema is asked."""
    child = view.child(key) if view else None
    if row.trim and (begun := _FIRST_LINE_END.match(value)):
        value = _LAST_NEWLINE.sub("", value[begun.end() :])
    if value.startswith(_CDATA[0]) and value.rstrip().endswith(_CDATA[1]):
        return value.rstrip()[len(_CDATA[0]) : -len(_CDATA[1])]
    if row.unquotes and child is not None and child.types == {STRING} and _QUOTED.fullmatch(value):
        unquoted = read(value)
        value = unquoted if isinstance(unquoted, str) else value[1:-1]
    if row.entities and "&lt;" in value and "<" not in value:
        value = html.unescape(value)
    says_json = 'string="false"' in attributes or ("type=" in attributes and 'type="string"' not in attributes)
    if says_json and child is None:
        found = read(value)
        return value if found is None and value.strip() != "null" else found
    return value
