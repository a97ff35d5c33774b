"""What the model was given to read: the texts of users and of tool results.

A call that stands in one of them and in the answer too is a page or a file that the model reads aloud. Pages come
escaped, quoted and wrapped, so spelling is left aside: white space, case, quotes, and what HTML and JSON escape.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from typing import Any

from ..work import Work

_OWN = frozenset(("assistant", "model", "ai", "bot", "system", "developer", "none"))
"""Whose words the model says itself, or follows. Everybody else's it reads."""
_OWN_CALLS = frozenset(("function_call", "custom_tool_call", "local_shell_call", "computer_call"))
"""What the model itself said: every other call is one that the host ran, with its result."""
_NEVER_IN_A_CALL = frozenset(
    ("id", "type", "role", "call_id", "tool_call_id", "tool_use_id", "media_type", "inlineData", "thoughtSignature")
)

_COLOURS = re.compile(r"(?:\x1b|\\u001b|\\x1b|\\033)\[[0-9;]{0,16}m")
_ESCAPED = re.compile(r"\\++(?:[nrt]|u([0-9a-fA-F]{4}))?")
_LINE_HEADS = re.compile(
    r"\n[ \t]*+(?:(?:[\w./-]{1,120}[:-])?\d{1,7}[:\t|→.)-]|[+\-#>*/;%|]{1,3}"
    r"|\^?[0-9a-f]{7,40} \([^()\n]{1,80}\))[ \t]*+"
)
"""What pages put before their lines: numbers, and the marks of quotes, comments and diffs."""
_SPELLING = re.compile(r"[\s\u00ad\u200b-\u200f\u2060\ufeff\"'“”‘’`|｜*,\u2500-\u257f]+")
_CLOSER = r"(?></?[\w:.▁-]{1,60}+>|[}\])])"
_CLOSERS = re.compile(rf"({_CLOSER}){_CLOSER}{{1,64}}+\Z")
_WORD = re.compile(r"[A-Za-z0-9_]{4,}")
_MOST_PLACES = 64
_AROUND = 400


class Heard:
    __slots__ = ("_found", "_searched", "_unread")

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._unread: Iterable[str] = texts
        """Not walked before a call is looked for: few answers have one as text, and a history is long."""
        self._found: tuple[str, ...] | None = None
        self._searched: tuple[str, ...] = ()
        """The texts, and all of them as one where there are several. Made when the first call is looked for."""

    @property
    def texts(self) -> tuple[str, ...]:
        if self._found is None:
            self._found, self._unread = tuple(self._unread), ()
        return self._found

    def holds(self, name: str, call: str, work: Work | None = None) -> bool:
        """Does the text of this call of a tool stand in what the model read?"""
        if not self.texts:
            return False
        work = work or Work()
        work.spend(sum(map(len, self.texts)) // 512 + len(call))
        wanted = _core(name, call)
        # A word of the call shows at the speed of memory which texts, and which parts of them, are worth a look.
        word = max((word for word in _WORD.findall(call) if word.lower() in wanted), key=len, default="")
        reach = 4 * len(call) + _AROUND
        if not self._searched:  # A page may have come in several parts.
            self._searched = (*self.texts, "\n".join(self.texts)) if len(self.texts) > 1 else self.texts
        for text in self._searched:
            for part in _parts(text, word, reach):
                work.spend(len(part) // 2)
                if wanted in _plain(part):
                    return True
        return False


def heard_in(request: dict[str, Any]) -> Heard:
    """The texts of users and tool results in a request of any protocol."""
    return Heard(_texts_of(request))


def _texts_of(request: dict[str, Any]) -> Iterator[str]:
    asked = request.get("input")
    if isinstance(asked, str):
        yield asked
    for entry in (*_listed(request.get("messages")), *_listed(asked), *_listed(request.get("contents"))):
        if not isinstance(entry, dict):
            continue
        # Gemini's contents need no role where there is only that of the user.
        role, content = entry.get("role", "user" if "parts" in entry else None), entry.get("content")
        read = isinstance(role, str) and role.lower() not in _OWN
        if read and isinstance(content, str):
            yield content
            continue
        kind = str(entry.get("type"))
        if read or kind.endswith("_output") or (kind.endswith("_call") and kind not in _OWN_CALLS):
            yield from _strings(entry, 0)
        else:
            for block in _listed(content):
                if isinstance(block, dict) and str(block.get("type")).endswith("tool_result"):
                    yield from _strings(block, 0)


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


def _parts(text: str, word: str, reach: int) -> Iterator[str]:
    """The parts of a text around a word."""
    if not word or len(text) <= reach:
        if word in text:
            yield text
        return
    at, seen = text.find(word), 0
    while at >= 0 and seen < _MOST_PLACES:
        end = at + reach
        yield text[max(0, at - reach) : end]
        # Behind the middle of this part, so that no call is cut in two.
        at = text.find(word, at + 1 + reach // 2)
        seen += 1


def _core(name: str, call: str) -> str:
    """The call without the wrapper around it: from the tool's name to what closes its last value."""
    whole = _plain(call)
    at = whole.find(name.lower())
    core = _CLOSERS.sub(r"\1", whole[max(at, 0) :])
    return core if len(core) > len(name) + 2 else whole


def _plain(text: str) -> str:
    text = _LINE_HEADS.sub("\n", _COLOURS.sub("", text))
    if "&" in text:
        text = html.unescape(html.unescape(text))
    text = _ESCAPED.sub(lambda escape: chr(int(escape[1], 16)) if escape[1] else "", text)
    return _SPELLING.sub("", text).lower()
