"""Whether the model was given a call to read: in the result of a tool, in a message, on a page.

A call in there is found by the readers of the formats, in whatever markup, and compared by its tool and the values of
its arguments. Pages escape, number and quote their lines, so each text is also read without that. All of it happens
only when a written call is about to be made.
"""

from __future__ import annotations

import html
import json
import re
import string
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from itertools import chain
from typing import Any

from ..mend.arguments import mend_arguments
from ..mend.finish import Finish
from ..mend.values import WRAPPERS
from .formats import OPENER, WEAK, Row, behind_section, rows_at
from .json_calls import ARGUMENT_KEYS, INNER_KEYS, NAME_KEYS, OTHER_KEYS, calls_of, read_json
from .known import CutOff, ReadCall, WrittenTools, read, write
from .literals import read_gemma, read_python, read_value

_KEYS = "|".join((*NAME_KEYS, *ARGUMENT_KEYS, *INNER_KEYS, *OTHER_KEYS))
_OBJECT = rf"\{{\s*[\"'](?:{_KEYS})[\"']\s*:"
_HTML = re.compile(r"&(?:lt|gt|quot|amp|apos|#\d{1,5}|#x[0-9a-fA-F]{1,5});")
_ESCAPE = re.compile(r"\\(?:([\"'\\/<>`*_\[\](){}|])|([nrt])|u([0-9a-fA-F]{4}))")
_WHITE = {"n": "\n", "r": "\r", "t": "\t"}
_LINE_HEAD = re.compile(
    r"^[ \t]*(?:(?:[\w./-]{1,120}[:-])?\d{1,7}[:\t|→.)-]|[+\->#*/;%|]{1,3}"
    r"|\^?[0-9a-f]{7,40} \([^()\n]{1,80}\))[ \t]?",
    re.MULTILINE,
)
"""What pages have before their lines: numbers, and the marks of quotes, comments and diffs."""
_COLOUR = re.compile(r"(?:\x1b|\\u001b|\\x1b|\\033)\[[0-9;]{0,16}m")
_BREAK, _LINE_END = re.compile(r"<br ?/?>"), re.compile(r"\r?\n[+>]?")
_WORD = re.compile(
    r"(?<![A-Za-z0-9])(?!(?:(?i:true|false|null|none)|\d++(?:[eE]\d++)?)(?![A-Za-z0-9]))[A-Za-z0-9]{4,}+"
)
"""What stands in every spelling of a call: not the words and numbers that each language writes in its own way."""
_SAMPLE, _IN_WORDS = 32 * 1024, string.ascii_letters + string.digits
"""How much of the arguments is searched for words, and what they consist of."""
_JSON_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|.)")
_NAMED = Row("named", read_json, (), r"(?P<name>[\w.:/-]{1,128})\s*(?:\[ARGS\]\s*)?(?=\{)", "")
_CODE = Row("code", read_python, (), r"(?=[\w.]{1,128}\()", "")


def _read_literal(
    row: Row, head: re.Match[str], known: WrittenTools, final: bool
) -> tuple[list[ReadCall], int] | None:
    """The call that a dictionary of Python is: `pprint` breaks its long strings."""
    value, end = read_value(head.string, head.end())
    return [(known.resolve(name), arguments) for name, arguments in calls_of(write(value))], end


_LITERAL = Row("literal", _read_literal, (), rf"(?={_OBJECT})", "")
_MOST_LEVELS = 4
"""How often a page may be written as a string in a string."""
_SPARE = 4096
_MOST_READ = 8
"""How many times the length of what the model read is read at most. Past that every call counts as read."""


def was_read(name: str, arguments: str, texts: Iterable[str] | None, known: WrittenTools) -> bool:
    """Whether a call of this tool with equal arguments stands in one of these texts; True if they are unknown."""
    if texts is None:
        return True
    sample = arguments[:_SAMPLE].rstrip(_IN_WORDS)
    words = set(_WORD.findall(_JSON_ESCAPE.sub(" ", sample))) - WRAPPERS
    longest = sorted(sorted(words), key=len, reverse=True)[:3]
    texts = [text for text in texts if all(word in text or word in _LINE_END.sub("", text) for word in longest)]
    if not texts:
        return False
    wanted, known = _key(arguments), replace(known, closers_may_be_missing=True, in_a_page=True)
    reach = 8 * len(arguments) + _SPARE
    names = "|".join(re.escape(tool.name) for tool in known.tools) or r"(?!)"
    heads = re.compile(
        rf"{OPENER.pattern}|{_OBJECT}|\[\s*(?=[\w.]{{1,128}}\()|(?:call:[\w.:-]{{1,128}}|{names})\s*[\[({{]"
    )
    for view in chain.from_iterable(map(_views, texts)):
        left = _MOST_READ * len(view) + reach
        end = 0
        for head in heads.finditer(view):
            if head.start() < end:
                continue
            left -= min(reach, len(view) - head.start())
            if left < 0:
                return True
            arguments_read, end = _calls_at(view[head.start() : head.start() + reach], name, known)
            end += head.start()
            if wanted in arguments_read:
                return True
    return False


def _key(arguments: str) -> str:
    """What equal values have in common; pages change the white space in texts, and write values as texts."""
    value = read(arguments)
    value = mend_arguments(arguments, Finish.COMPLETE).value if value is None else value
    while isinstance(value, dict) and len(value) == 1 and WRAPPERS.issuperset(value):
        [value] = value.values()
    return json.dumps(_folded(arguments if value is None else value), sort_keys=True)


def _folded(value: Any) -> Any:
    if isinstance(value, str):
        inside = read(value) if value.lstrip()[:1] in ("{", "[") else None
        return "".join(value.split()) if inside is None else _folded(inside)
    if isinstance(value, dict):
        return {key: _folded(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_folded(entry) for entry in value]
    whole = isinstance(value, float) and value.is_integer()
    return None if value is None else str(int(value) if whole else value).lower()


@cache
def _loose(row: Row) -> Row:
    """The row without its closer, behind which a page goes on, where the arguments end by themselves.

    What a weak form may be said in is no question here: equal arguments prove enough.
    """
    return replace(row, end="", weak=False) if row.read in (read_json, read_python, read_gemma) else row


def _calls_at(text: str, name: str, known: WrittenTools) -> tuple[set[str], int]:
    """The arguments of this tool in the calls that begin at the beginning of a text, and where they end."""
    found: set[str] = set()
    end = at = 0
    while True:
        for row in (*map(_loose, (*rows_at(text, at), *WEAK)), _NAMED, _CODE, _LITERAL):
            # Behind a page that ends with a word no call goes on.
            head = row.whole_head.match(f"{text}\n." if row is _CODE else text, at)
            try:
                reading = row.read(row, head, known, True) if head else None
            except (CutOff, ValueError):
                continue
            calls, behind = reading or ((), 0)
            found |= {_key(arguments) for tool, arguments in calls if tool and tool.name == name}
            end = max(end, behind)
        behind = behind_section(text, at)
        if end or behind == at:
            return found, end
        at = behind


def _views(text: str) -> Iterator[str]:
    """The text, and what it is without the escapes of HTML and JSON, and without what stands before its lines."""
    views = [_COLOUR.sub("", text) if "[" in text else text]
    for _ in range(2):
        if _HTML.search(views[-1]):
            views.append(html.unescape(views[-1]))
    for view in tuple(views):
        for _ in range(_MOST_LEVELS):
            if "\\" not in view:
                break
            view = _ESCAPE.sub(_unescaped, view)
            views.append(view)
    views += [_BREAK.sub("", view) for view in views if "<br" in view]
    for view in dict.fromkeys(view.replace("\xa0", " ") for view in views):
        yield view
        headless = _LINE_HEAD.sub("", view)
        if headless != view:
            yield headless
        if "\n" in view:
            yield _LINE_END.sub("", view)  # Lines that were wrapped.


def _unescaped(escape: re.Match[str]) -> str:
    if escape[3]:
        return chr(int(escape[3], 16))
    return escape[1] or _WHITE[escape[2]]
