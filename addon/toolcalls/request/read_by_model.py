"""What the model was given to read: the texts of users and tool results, including results in the answer itself.

If a call in the answer also appears in one of these texts, the model only repeats a page or a file. Pages are
escaped, quoted and wrapped, so spelling is ignored: white space, case, quotes, marks at the beginning of lines, and
the escapes of HTML, Markdown and JSON.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from typing import Any

from ..work import Work

_OWN = frozenset(("assistant", "model", "ai", "bot", "system", "developer", "none"))
"""The roles whose words are the model's own or its instructions. What all others say counts as read."""
_OWN_CALLS = frozenset(
    ("function_call", "custom_tool_call", "local_shell_call", "computer_call", "image_generation_call")
)
"""Calls that the model itself wrote; every other call item is of a tool that the host ran, with its result."""
_RESULTS = ("tool_result", "_output")
_RESULT_KEYS = ("Result", "Response", "_result", "_response")
_IDS = ("id", "type", "role", "call_id", "tool_call_id", "tool_use_id", "media_type")
_OPAQUE = ("inlineData", "thoughtSignature", "signature", "encrypted_content", "encrypted_stdout")
_NEVER_IN_A_CALL = frozenset((*_IDS, *_OPAQUE))

_COLOURS = re.compile(r"(?:\x1b|\\u001b|\\x1b|\\033)\[[0-9;]{0,16}m")
_ESCAPED = re.compile(r"\\++(?:[nrt]|u([0-9a-fA-F]{4}))?")
_LINE_HEADS = re.compile(
    r"\n[ \t]*+(?:(?:[\w./-]{1,120}[:-])?\d{1,7}[:\t|→.)-]|[+\-#>*/;%|]{1,3}"
    r"|\^?[0-9a-f]{7,40} \([^()\n]{1,80}\))[ \t]*+"
)
"""What pages have before their lines: numbers, and the marks of quotes, comments and diffs."""
_LINE_BREAK = re.compile(r"<br ?/?>", re.IGNORECASE)
_SPELLING = re.compile(r"[\s\u00ad\u200b-\u200f\u2060\ufeff\"'“”‘’`|｜*,\u2500-\u257f_+\-#/;%]+")
"""Characters that pages add, drop or wrap at, including the marks that a line may begin with."""
_CLOSER = r"(?><[\w:.▁]{1,60}+>|[}\])])"
_CLOSERS = re.compile(rf"({_CLOSER}){_CLOSER}{{1,64}}+\Z")
_MARKUP = re.compile(r"<[^<>]{1,80}>|\"\w{1,40}\"\s*+:")
_WORD = re.compile(r"[A-Za-z0-9]{4,}")
_MOST_WORDS = 2
_MOST_OFFSETS = 32
_AROUND = 400
_NEWEST = 48 * 1024
"""How many of the characters read last are compared completely; the rest only around words of the call."""
_MOST_IN_ANSWER = 8 * 1024 * 1024
"""The most characters of results in an answer that are kept. After more of them, no text is taken as a call."""


class ReadByModel:
    __slots__ = ("_before", "_found", "_joined", "_length", "_newest", "_results", "_unread")

    def __init__(self, texts: Iterable[str] = (), *, before: ReadByModel | None = None) -> None:
        """`before`: what the model had read before the current answer."""
        self._before = before
        self._unread: Iterable[str] = texts
        """Walked only when a call is looked for: few answers have a call as text, and a history is long."""
        self._found: tuple[str, ...] | None = None
        self._results: dict[str, None] = {}
        """The texts of results in the answer."""
        self._length = 0
        self._joined = ""
        """All texts as one, because a page may have several parts. Made when the first call is looked for."""
        self._newest: tuple[str, ...] = ()
        """The end of `_joined`, without its spelling."""

    @classmethod
    def of_request(cls, request: dict[str, Any]) -> ReadByModel:
        """The texts of users and tool results in a request of any protocol."""
        return cls(_texts_of(request))

    @property
    def texts(self) -> tuple[str, ...]:
        if self._found is None:
            self._found, self._unread = tuple(self._unread), ()
        before = self._before.texts if self._before is not None else ()
        return (*before, *self._found, *self._results)

    def add_results(self, entry: object) -> None:
        """Note a block, item or part of the answer: results of the host's own tools are read by the model."""
        for text in _results_in(entry):
            if text in self._results:
                continue
            self._length += len(text)
            if self._length > _MOST_IN_ANSWER:
                self._results.clear()
                return
            self._results[text] = None
            self._joined, self._newest = "", ()

    def contains_call(self, name: str, call: str, work: Work | None = None) -> bool:
        """Whether the text of this call appears in what the model read. `name`: the tool."""
        if self._length > _MOST_IN_ANSWER:
            return True
        joined = self._joined = self._joined or "\n".join(self.texts)
        if not joined:
            return False
        work = work or Work()
        work.spend(len(joined) // 512 + 2 * len(call))
        wanted = {_core(name, plain) for plain in _plain(call)}
        if not self._newest:
            newest = joined[-_NEWEST:]
            work.spend(len(newest) // 2)
            self._newest = _plain(newest)
        if _appears_in(wanted, self._newest):
            return True
        # A short call in a page may be mostly escapes; a long one is mostly text.
        reach = 3 * len(call) // 2 + 4 * min(len(call), _AROUND * 10) + _AROUND
        for part in _parts(joined, _words(call), reach, len(joined) - _NEWEST):
            work.spend(len(part) // 2)
            if _appears_in(wanted, _plain(part)):
                return True
        return False


def _texts_of(request: dict[str, Any]) -> Iterator[str]:
    asked = request.get("input")
    if isinstance(asked, str):
        yield asked
    for entry in (*_listed(request.get("messages")), *_listed(asked), *_listed(request.get("contents"))):
        if not isinstance(entry, dict):
            continue
        # Gemini's contents need no role if all of them are the user's.
        role, content = entry.get("role", "user" if "parts" in entry else None), entry.get("content")
        if isinstance(role, str) and role.lower() not in _OWN:
            yield from [content] if isinstance(content, str) else _strings(entry, 0)
        else:
            for part in (entry, *_listed(content), *_listed(entry.get("parts"))):
                yield from _results_in(part)


def _results_in(entry: object) -> Iterator[str]:
    """The texts of a block, an item or a part, if it is the result of a tool that the host ran."""
    if not isinstance(entry, dict):
        return
    kind = entry.get("type")
    if isinstance(kind, str):
        if kind.endswith(_RESULTS) or (kind.endswith("_call") and kind not in _OWN_CALLS):
            yield from _strings(entry, 0)
        return
    for key, value in entry.items():
        if key.endswith(_RESULT_KEYS):
            yield from _strings(value, 0)


def _strings(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth > 8:
        return
    elif isinstance(value, dict):
        for key, entry in value.items():
            if key not in _NEVER_IN_A_CALL:
                yield from _strings(entry, depth + 1)
    elif isinstance(value, list):
        for entry in value:
            yield from _strings(entry, depth + 1)


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _words(call: str) -> list[str]:
    """The longest words of the values, by which the parts of a text that are worth comparing are quickly found."""
    words = _WORD.findall(_MARKUP.sub(" ", call)) or _WORD.findall(call)
    return sorted(set(words), key=lambda word: (-len(word), word))[:_MOST_WORDS]


def _parts(text: str, words: list[str], reach: int, end: int) -> Iterator[str]:
    """The parts of a text around these words, as far as they appear before `end`. Parts that overlap are one."""
    offsets: list[int] = []
    for word in words:
        at, most = text.find(word, 0, max(end, 0)), len(offsets) + _MOST_OFFSETS
        while at >= 0 and len(offsets) < most:
            offsets.append(at)
            # Search on behind the middle of the part around this offset, so that no call is cut in two.
            at = text.find(word, at + 1 + reach // 2, end)
    offsets.sort()
    first = last = 0
    for number, at in enumerate(offsets):
        first = first if number and at - last <= reach else at
        last = at
        if number + 1 == len(offsets) or offsets[number + 1] - last > reach:
            yield text[max(0, first - reach) : last + reach]


def _appears_in(wanted: set[str], plain: tuple[str, ...]) -> bool:
    return any(call in text for text in plain for call in wanted)


def _core(name: str, whole: str) -> str:
    """The call without its wrapper: from the tool's name to the closer of its last value."""
    name = _SPELLING.sub("", name).lower()
    at = whole.find(name)
    core = _CLOSERS.sub(r"\1", whole[max(at, 0) :])
    return core if len(core) > len(name) + 2 else whole


def _plain(text: str) -> tuple[str, ...]:
    """A text without its spelling, and the same without the marks before its lines, if it has any."""
    if "m" in text and ("\x1b[" in text or "1b[" in text or "033[" in text):
        text = _COLOURS.sub("", text)
    headless, heads = _LINE_HEADS.subn("\n", text)
    return (_spelled(text), _spelled(headless)) if heads else (_spelled(text),)


def _spelled(text: str) -> str:
    if "&" in text:
        text = html.unescape(html.unescape(text))
    text = _ESCAPED.sub(lambda escape: chr(int(escape[1], 16)) if escape[1] else "", text)
    return _SPELLING.sub("", _LINE_BREAK.sub("", text)).lower()
