"""Calls whose arguments stand between tags: `<parameter name="K">V</parameter>`, `<arg_key>K</arg_key><arg_value>V…`.

A value may hold the family's own tags, so there are two readings. In the paired one every tag in a value is opened
and closed in it, and a closer that no tag of the family follows is only mentioned. Where that one does not stand, the
flat one may: no value has a tag in it, a closer was forgotten, and the last one reaches the end of the answer.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

from ..sizes import MOST_TAGS
from ..tools.check import View
from ..tools.schema import STRING
from .known import CutOff, ReadCall, WrittenTools, read, same_key

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
_TAG_NEXT = re.compile(r"\s*+(?:<|\.\.\.|…)")
_GAP = re.compile(r"(?>\s|\\r|\\n)*+")
_HERE_DOCUMENT = re.compile(r"<<-?[ \t]?([\"']?)([A-Za-z_]\w{0,60})\1")
_FIRST_LINE_END, _LAST_NEWLINE = re.compile(r"\r?\n"), re.compile(r"\r?\n\Z")
_LAST_LINE_END = re.compile(r"\r?\n[ \t]*+\Z")


@dataclass(slots=True)
class _Values:
    """The parameters of one reading, each with the other attributes of its tag, and where the call ends."""

    values: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)
    end: int = -1
    tagged: bool = False
    """A value holds tags of the family, so its parameters prove more than those of others."""


def read_tags(row: Row, head: re.Match[str], known: WrittenTools, final: bool) -> tuple[list[ReadCall], int] | None:
    text, groups = head.string, head.groupdict()
    written = html.unescape(head["name"]) if row.entities else head["name"]
    name = known.resolve(written, spelled=row.weak)
    if name is None or not _HARMLESS.fullmatch(groups.get("rest") or ""):
        return None
    if groups.get("closed"):
        return [(name, "{}")], head.end()
    declared = set(known.declared(name))
    ahead = islice(_pattern(row.param, row.param_end, row.end, row.opener).finditer(text, head.end()), MOST_TAGS + 1)
    tags: list[re.Match[str]] = []
    found = _paired(row, _noted(ahead, tags), text, head.end())
    tags += ahead if found is None else ()
    if len(tags) > MOST_TAGS:
        if final:
            return None
        raise CutOff
    if found is None and row.children and declared and not (tags and tags[0].lastgroup == "open"):
        names = "|".join(map(re.escape, sorted(declared)))
        param, param_end = rf"<(?P<key>{names})>", rf"</(?:{names})>"
        tags = list(_pattern(param, param_end, row.end, row.opener).finditer(text, head.end()))
        found = _flat(row, tags, head, known, name)
    if found is None:
        if not (final and known.closers_may_be_missing):
            raise CutOff
        found = _flat(row, tags, head, known, name)
        if found is None or known.lacks_required(name, found.values):
            return None
    if found.tagged and (
        known.lacks_required(name, found.values) or (declared and not declared >= found.values.keys())
    ):
        return None
    if any(same_key(key, found.values) for key in found.values) or _cut_here_document(found.values.values()):
        return None
    view = known.view(name)
    for (_, before), (key, _) in pairwise(found.values.items()):
        unknown = view is not None and declared and not view.declares(key) and not same_key(key, declared)
        if unknown and ("\n" in before.strip("\r\n") or not before.strip()):
            return None  # The tag may be a part of the value before it.
    raw = {key: _value(row, view, key, value, found.attributes[key]) for key, value in found.values.items()}
    return ([(name, known.typed(name, raw))], found.end) if known.accepts(name, raw, weak=False) else None


@cache
def _pattern(param: str, param_end: str, end: str, opener: str) -> re.Pattern[str]:
    """The tags of a family: those of a parameter, and the end and the beginning of a call."""
    closers = re.compile(f"{param_end}|{end}")
    related = [f"(?P<{kind}>{tag})" for kind, (tag, closer) in _RELATED.items() if closers.fullmatch(closer)]
    own = f"(?P<open>{param})|(?P<shut>{param_end})|(?P<end>{end})|(?P<block>{opener})"
    return re.compile("|".join((own, *related)))


def _kind(tag: re.Match[str]) -> str:
    """The group of `_pattern` that matched: the outermost, which is the last to close."""
    assert tag.lastgroup is not None
    return tag.lastgroup.partition("_")[0]


def _key(tag: re.Match[str]) -> str:
    groups = tag.groupdict()
    return html.unescape((groups.get("key") or groups.get("key2") or "").strip())


def _adjoins(text: str, at: int, tag: re.Match[str]) -> bool:
    """Whether nothing stands between this place and the tag."""
    return _GAP.match(text, at).end() >= tag.start()  # type: ignore[union-attr]


def _noted(ahead: Iterator[re.Match[str]], tags: list[re.Match[str]]) -> Iterator[re.Match[str]]:
    """Each tag that is taken from `ahead`, which `tags` has then too."""
    for tag in ahead:
        tags.append(tag)
        yield tag


def _paired(row: Row, ahead: Iterator[re.Match[str]], text: str, at: int) -> _Values | None:
    """The reading in which the tags in a value are pairs; None if there is none, or none yet.

    Takes no tag that is further than one behind the call: other calls may follow.
    """
    found = _Values()
    key, start, stack = None, 0, list[str]()
    following = next(ahead, None)
    while (tag := following) is not None:
        following = next(ahead, None)
        kind = _kind(tag)
        if key is not None and not tag[0]:
            continue  # the end of a wrapper, which is the call's only where its own closer was forgotten
        if key is None:
            if not _adjoins(text, at, tag) or kind not in ("open", "end"):
                return None
            if kind == "end":
                found.end = tag.end()
                return found
            key, start, stack = _key(tag), tag.end(), []
            found.attributes[key] = tag.groupdict().get("more") or ""
            if tag.groupdict().get("empty"):
                found.values[key], key, at = "", None, tag.end()
            continue
        behind = _kind(following) if following and _adjoins(text, tag.end(), following) else ""
        mentioned = _is_mentioned(text, tag)
        if kind == "shut" and not mentioned and not stack:
            if behind in ("open", "end") or (not behind and row.ends_at(text, tag.end())):
                if found.values.setdefault(key, value := text[start : tag.start()]) != value:
                    return None
                key, at = None, tag.end()
                continue
            if behind or not _is_in_prose(text, tag):
                return None
        found.tagged = True
        if mentioned:
            pass
        elif kind in ("open", "inner") or (kind == "block" and (behind or _TAG_NEXT.match(text, tag.end()))):
            stack.append("block" if kind == "block" else "open")
        elif kind == "shut" and "open" in _inside(stack):
            while stack.pop() != "open":
                pass
            if not stack and behind == "shut":
                return None  # The second closer is the value's, or the value ended before the first one's opener.
        elif kind == "end" and "block" in stack:
            while stack.pop() != "block":
                pass
            if not stack and row.touches_call(text, tag.end()):
                return None  # Both calls are in this value, or the value ended with the first.
        elif kind == "end" and (behind or not _is_in_prose(text, tag)):
            return None
        if len(stack) > _DEPTH:
            return None
    return None


def _inside(stack: list[str]) -> list[str]:
    """What is open inside the innermost block that is open."""
    return stack[len(stack) - stack[::-1].index("block") :] if "block" in stack else stack


def _is_mentioned(text: str, tag: re.Match[str]) -> bool:
    """Whether a tag stands between quotation marks."""
    return text[tag.start() - 1] in _QUOTES and text[tag.end() : tag.end() + 1] in _QUOTES


def _is_in_prose(text: str, tag: re.Match[str]) -> bool:
    """Whether words stand before a tag on its line, and something around it sets it apart."""
    line = text[max(0, tag.start() - _LINE) : tag.start()].rpartition("\n")[2]
    return bool(line.strip()) and (line[-1] in _AROUND or text[tag.end() : tag.end() + 1] in _QUOTES)


def _flat(row: Row, tags: list[re.Match[str]], head: re.Match[str], known: WrittenTools, name: str) -> _Values | None:
    """The reading in which no value has a tag in it, and where the next tag ends a value that was not closed.

    Of a call in a wrapper whose values are all closed, the own closer may be missing at the end of the answer.
    """
    text, at, declared = head.string, head.end(), set(known.declared(name))
    found, key, start, closed = _Values(), None, 0, True
    for tag in tags:
        kind = _kind(tag)
        if key is not None and kind == "shut":
            if found.values.setdefault(key, value := text[start : tag.start()]) != value:
                return None
            key, at = None, tag.end()
            continue
        if key is not None:
            value = text[start : tag.start()]
            if value.rstrip().endswith(f"</{key}>"):
                value = value.rstrip().removesuffix(f"</{key}>").rstrip()
            if kind == "block" or not may_be_unclosed(value):
                return None
            found.values[key], key, at = _LAST_LINE_END.sub("", value), None, tag.start()
            closed = False
        if kind not in ("open", "end") or not _adjoins(text, at, tag):
            break
        if kind == "end":
            at = tag.end()
            closed = closed or known.values_fit(name, found.values)
            break
        key, start = _key(tag), tag.end()
        if key in found.values or (declared and key not in declared):
            return None
        found.attributes[key] = tag.groupdict().get("more") or ""
    else:
        kind = ""
    wrapped = kind == "end" or not row.bare or text[: head.start()].rstrip().endswith(">")
    found.end = at
    stands = key is None and found.values and closed and wrapped
    return found if stands and (known.in_a_page or row.ends_at(text, at)) else None


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


def _cut_here_document(values: Any) -> bool:
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
