"""Reads the whole text: one object and its surroundings.

Fences, template markers and labels around the object are dropped (see surroundings.py), unless something in them can
be part of it: a key, an open bracket, a list around it. A repeated object counts once, an empty one is skipped, two
different ones are refused.
"""

from __future__ import annotations

import json
import re
from typing import Any

from ..finish import Finish
from ..refusal import Refusal
from ..steps import CLOSED, EXTRA_BRACKET, MISSING_BRACKET, TEXT_AROUND
from . import characters as chars
from .escapes import has_control_word, may_have_path
from .grammar import read_object
from .source import Source
from .strict import read_prefix, written_in_order
from .strings import OTHER_LANGUAGES
from .surroundings import FENCE, MARKER, behind, in_front

MAX_OBJECTS = 16

_BRACES_WITH_COLON = re.compile(rf"[{{｛][^{{}}｛｝{chars.COLONS}]*+[{chars.COLONS}][^{{}}｛｝]*+[}}｝]")
_OPEN_BEFORE_OBJECT = re.compile(r"[\[［,，]\s*\Z")
_ONLY_BRACES = re.compile(r"\s*[{｛]\s*\Z")
_NOTHING = frozenset({"null", "None"})
_QUOTE_AT_END = re.compile(r"[\"'”’`]\s*\Z")
_CLOSING = re.compile(r"[}\]｝］]")
_ENDS_OPEN = re.compile(r"[\s(\[{=,:<>|&+\\\-]\Z")


def read_document(s: Source) -> dict[str, Any]:
    """document = around object { around object } around"""
    found: list[dict[str, Any]] = []
    front = ""
    while True:
        start = _next_object(s)
        if start is None:
            break
        if len(found) == MAX_OBJECTS:
            raise Refusal(f"the arguments hold more than {MAX_OBJECTS} objects")
        _check_before(s, s.pos, start, first=not found)
        front = front if found else s.text[:start]
        s.pos = start
        found.append(_object(s))
    if not found:
        raise Refusal("there is no object in the arguments")
    _check_behind(s, found[-1], front)
    if s.swallowed and not s.steps.keys().isdisjoint(CLOSED):
        raise Refusal("a closing bracket is missing, and one in a comment may be meant")
    if s.guessed and s.doubts:
        raise Refusal(f"quotes that are not escaped and {next(iter(s.doubts))} cannot be told apart")
    if s.undoubled and any(has_control_word(raw, broken=broken) for raw, broken in s.escaped):
        raise Refusal("some backslashes are not doubled, so that others may be text or escapes")
    if s.literal_codes and not s.steps.keys().isdisjoint(OTHER_LANGUAGES):
        raise Refusal("escapes of JavaScript or Python in a JSON string have two readings")
    return _one_of(s, found)


def _next_object(s: Source) -> int | None:
    found = chars.object_start.search(s.text, s.pos)
    return found.start() if found else None


def _object(s: Source) -> dict[str, Any]:
    """Read the object here: at C speed if it is JSON, which is usual when only its surroundings are wrong."""
    start = s.pos
    if s.text[start] == "{" and not (s.tried and not s.text[:start].strip()):
        try:
            value, end = read_prefix(s.text, start)
        except json.JSONDecodeError:
            pass
        else:
            if not may_have_path(s.text, start, end):
                s.pos = end
                if not s.text[start:end].isprintable():
                    _note_control_characters(s, start, end)
                return dict(value)
    s.structure(s.text[start])
    return read_object(s)


_CONTROL_IN_STRING = re.compile(r'"[^"\\\x00-\x1f]*+(?>\\.[^"\\\x00-\x1f]*+)*+([\x00-\x1f])?')


def _note_control_characters(s: Source, start: int, end: int) -> None:
    while start < end:
        string = _CONTROL_IN_STRING.search(s.text, start, end)
        if string is None:
            return
        if string[1]:
            s.step("raw control characters")
            return
        start = string.end() + 1


def _check_before(s: Source, begin: int, end: int, *, first: bool) -> None:
    before = s.text[begin:end]
    bare = before.strip()
    if not bare:
        return
    if not first:
        _check_closed(s, bare)
        bare = bare[chars.loose_ends.match(bare).end() :] if chars.loose_ends.match(bare) else bare  # type: ignore[union-attr]
    if first and _ONLY_BRACES.fullmatch(before):
        s.step("extra opening bracket")
        return
    if _OPEN_BEFORE_OBJECT.search(before) and (first or "," not in before):
        raise Refusal("the arguments are a list, not an object")
    if chars.quoted_key.search(before) or _BRACES_WITH_COLON.search(before):
        raise Refusal("there is a key outside the object")
    inside = before if first else bare
    if inside.count("{") != inside.count("}"):
        raise Refusal("a brace before the object is not closed")
    if _QUOTE_AT_END.search(before) and "\\" in s.text:
        raise Refusal("the arguments are a quoted text with quotes that are not escaped")
    if bare:
        _note_surroundings(s, bare, in_front(bare))


def _check_closed(s: Source, behind: str) -> None:
    """Refuse text behind an object with a missing bracket: it may end too early, and the text may belong inside."""
    if MISSING_BRACKET in s.steps and chars.marker.sub("", behind).strip("]}` \t\r\n"):
        raise Refusal("text follows the object, and a bracket inside it is missing")


def _note_surroundings(s: Source, around: str, kind: str | None) -> None:
    if around in _NOTHING:
        s.step("empty object beside the real one")
    elif chars.blanks.fullmatch(around):
        s.step("invisible characters")
    elif kind is None:
        raise Refusal("it is not clear whether the text around the object means it as a call")
    else:
        s.step(kind)


def _check_behind(s: Source, value: dict[str, Any], front: str) -> None:
    rest = s.text[s.pos :]
    bare = rest.strip(" \t\r\n")
    if not bare:
        return
    if chars.blanks.fullmatch(bare):
        s.step("invisible characters")
        return
    _check_closed(s, bare)
    if s.guessed:
        if behind(bare, "") not in (FENCE, MARKER):
            raise Refusal("text follows the object, and quotes inside it are not escaped")
        s.step("markers around the object")
        return
    loose = chars.loose_ends.match(rest)
    further = rest[loose.end() :] if loose else rest
    ends = rest[: loose.end()] if loose else ""
    quotes = sum(ends.count(quote) for quote in "\"'”’")
    stray = quotes == 1 and ends.rstrip()[-1] not in "}])" and _has_no_text(value)
    if ".." in ends:
        raise Refusal("dots follow the object: something may have been left out")
    cut = s.finish is not Finish.COMPLETE
    if quotes > 1 or (quotes and not stray and (cut or s.doubts or not _ends_like_whole(value, ends))):
        raise Refusal("quotes follow the object; a text in it may not end where it seems to")
    if _CLOSING.search(ends):
        s.step(EXTRA_BRACKET)
    elif quotes or ends.strip(" \t\r\n`"):
        s.step(TEXT_AROUND)
    if not further:
        if "`" in ends:
            s.step("code fence")
        return
    if quotes or chars.quoted_key.search(rest) or _BRACES_WITH_COLON.search(rest) or further[0] in "{｛":
        raise Refusal("there is a key outside the object")
    if further.count("}") > further.count("{") or further.endswith('"}'):
        raise Refusal("a brace follows the object; a text in it may not end where it seems to")
    _note_surroundings(s, further, behind(further, front))


def _has_no_text(value: Any) -> bool:
    """Whether no value is a string, so that a quote behind the object cannot be the end of one."""
    if isinstance(value, dict | list):
        return all(map(_has_no_text, value.values() if isinstance(value, dict) else value))
    return not isinstance(value, str)


def _ends_like_whole(value: dict[str, Any], ends: str) -> bool:
    """Whether a quote behind the object is only stray: `"ls"}"` has ended, the text of `"echo "}"}` may go on."""
    last: Any = value
    while isinstance(last, dict | list) and last:
        last = list(last.values())[-1] if isinstance(last, dict) else last[-1]
    if not isinstance(last, str):
        return ends.rstrip()[-1] not in "}])"
    balanced = all(last.count(one) == last.count(other) for one, other in ("{}", "[]", "()"))
    return bool(last) and balanced and last.count('"') % 2 == 0 and _ENDS_OPEN.search(last) is None


def _one_of(s: Source, found: list[dict[str, Any]]) -> dict[str, Any]:
    if len(found) == 1:
        return found[0]
    full = [value for value in found if value]
    if not full:
        s.step("repeated object")
        return found[0]
    if len(full) < len(found):
        s.step("empty object beside the real one")
    if len(full) > 1:
        if len(set(map(written_in_order, full))) > 1:
            raise Refusal("the arguments hold two different objects")
        s.step("repeated object")
    return full[0]
