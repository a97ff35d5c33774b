"""Tool calls written as text, found while the text streams. One linear scanner for all formats.

Text that cannot matter passes at once. A suffix that may be the beginning of an opener is held until the next
characters tell. Behind a complete opener that is not quoted a region begins: its format reads it, as a
generator over the arriving text, and either proves calls or the text comes out as it came. A region that
failed is not searched again. What a region shows about quoting is tracked in any case.

The result is the same for every split of the text, and text in = text out + `raw` of the calls.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from toolcalls.textcalls.cursor import CutOff, NotACall, Step
from toolcalls.textcalls.formats import ANYWHERE, LINE_HEAD, WHOLE, WORD
from toolcalls.textcalls.names import Names
from toolcalls.textcalls.quoting import QUOTES, Quoting
from toolcalls.textcalls.region import Draft, Format, Region
from toolcalls.tools import Tools

MAX_HELD = 16 * 1024 * 1024
_BLOCK = 2048


@dataclass(slots=True, frozen=True)
class FoundCall:
    name: str
    """The declared name that the model meant."""
    arguments: str
    """JSON text: as the model wrote it, or made from raw values typed by the schema."""
    raw: str
    """The exact text that this call takes the place of. Calls of one JSON list share it: the first has it."""
    format: str


_BY_OPENER = {opener: format for format in (*ANYWHERE, *LINE_HEAD) for opener in format.openers}
_AT_HEAD = frozenset(opener for format in LINE_HEAD for opener in format.openers)
_CHAINED = tuple(opener for opener in _BY_OPENER if opener not in _AT_HEAD)
_THINK_END = "</think>"
_ALL_OPENERS = (*_BY_OPENER, _THINK_END)
_WORD = "commentary to=functions."
"""The one opener that begins with a letter, so that it has no place in the search for the others."""


_ORPHANS = (
    *(
        "</tool_call>",
        "</tool_calls>",
        "</function_calls>",
        "</minimax:tool_call>",
        "</function>",
        "</invoke>",
    ),
    *(
        "[/TOOL_CALLS]",
        "<|tool_calls_section_end|>",
        "<|im_end|>",
        "<|eot_id|>",
        "<|eom_id|>",
        "<|endoftext|>",
    ),
    *("</s>", "<|end|>", "<|call|>", "<|return|>", "<|END_ACTION|>", "<｜end▁of▁sentence｜>"),
)
"""Closers that come once too often, and the tokens that end an answer: glued to a call they belong to it."""


def _pattern(opener: str) -> str:
    # Every branch begins with a literal character: that makes the search skip what cannot begin one.
    head, tail = re.escape(opener[0]), re.escape(opener[1:])
    return f"{head}(?<![^\\n]{head}){tail}" if opener in _AT_HEAD else head + tail


_OPENER = re.compile("|".join(map(_pattern, sorted(set(_ALL_OPENERS) - {_WORD}, key=len, reverse=True))))
_LONGEST = max(map(len, _ALL_OPENERS))
_PARTIAL = frozenset(opener[:end] for opener in _ALL_OPENERS for end in range(1, len(opener)))
_FIRST = re.compile("[" + "".join({re.escape(opener[0]) for opener in _ALL_OPENERS}) + "]")
_FIRST_AT_HEAD = frozenset(opener[0] for opener in _AT_HEAD)
_EXTENDS = frozenset(opener for opener in _BY_OPENER if opener in _PARTIAL)
"""Openers that are the beginning of a longer one."""
_MATTERS = re.compile("<|\\[|\\]|`|\n|\"\"\"|'''")


class Scanner:
    def __init__(
        self, tools: Tools, *, max_held: int = MAX_HELD, resolve: Callable[[str], str | None] | None = None
    ) -> None:
        self._tools = tools
        self._names = Names(tools, resolve)
        self._max_held = max_held
        self._off = len(tools) == 0
        self._quoting = Quoting()
        self._text = ""
        self._parts: list[str] = []
        self._region: Region | None = None
        self._reading: Step[int] | None = None
        self._rescue = False
        self._plain = False
        self._arm()

    @property
    def held(self) -> bool:
        return self._region is not None or bool(self._text)

    def needs(self, text: str) -> bool:
        """False: this text cannot matter, and the scanner need not see it."""
        if not self._plain:
            return not self._off
        return (
            _MATTERS.search(text) is not None
            or text[-1:] in QUOTES
            or (text.rfind("c", -23) >= 0 and _may_begin_word(text))
            or _WORD in text
        )

    def feed(self, text: str) -> list[str | FoundCall]:
        if not text:
            return []
        if self._off or not self.needs(text):
            return [text]
        out: list[str | FoundCall] = []
        # In blocks: what is left of one when a region ends is copied.
        for at in range(0, len(text), _BLOCK):
            self._take(text[at : at + _BLOCK], out, eof=False, finished=True)
        return _joined(out)

    def close(self, finished: bool = True) -> list[str | FoundCall]:
        """The answer ended: by itself, or cut off."""
        out: list[str | FoundCall] = []
        if not self._off:
            self._take("", out, eof=True, finished=finished)
        self._off, self._plain = True, False
        return _joined(out)

    # Between regions.

    def _arm(self) -> None:
        """The message begins here: it may be, as a whole, a call in one of the weak forms."""
        self._armed = not self._off

    def _take(self, text: str, out: list[str | FoundCall], *, eof: bool, finished: bool) -> None:
        rest: str | None = text
        while rest is not None:
            if self._off:
                out.append(rest)
                rest = None
            elif self._region is not None:
                rest = self._read(rest, out, eof, finished)
            else:
                self._text, rest = "", self._text + rest
                self._search(rest, out, eof)
                rest = None if self._region is None else ""
        self._plain = not self._off and self._region is None and not self._text and self._is_plain()

    def _is_plain(self) -> bool:
        return not self._armed and self._quoting.plain

    def _search(self, text: str, out: list[str | FoundCall], eof: bool) -> None:
        """Pass text on up to a region, a suffix that may become one, or its end."""
        quoting = self._quoting
        at, end = 0, len(text)
        while at < end:
            if self._armed:
                at = self._begin_message(text, at, out)
                if self._region is not None or at >= end:
                    return
            start, opener = _find(text, at)
            if start < 0:
                break
            quoting.advance(text[at:start])
            out.append(text[at:start])
            if not quoting.is_open() or (opener in _AT_HEAD and not quoting.at_head):
                quoting.advance(text[start])
                out.append(text[start])
                at = start + 1
                continue
            if not eof and opener in _EXTENDS and end - start < _LONGEST and text[start:] in _PARTIAL:
                self._text = text[start:]
                return
            if opener == _THINK_END:
                quoting.advance(opener)
                out.append(opener)
                at = start + len(opener)
                self._rearm()
                continue
            self._begin(
                text[start:], _transaction(_BY_OPENER[opener], quoting.thinking, quoting.inline), rescue=False
            )
            return
        at = self._pass(text, at, out, eof)
        self._text = text[at:]

    def _pass(self, text: str, at: int, out: list[str | FoundCall], eof: bool) -> int:
        """Pass the rest on, but for a suffix that may be the beginning of an opener."""
        end = len(text)
        cut = end
        if not eof:
            for match in _FIRST.finditer(text, max(at, end - _LONGEST)):
                place, char = match.start(), match.group()
                if text[place:] not in _PARTIAL:
                    continue
                if char not in _FIRST_AT_HEAD or (
                    text[place - 1] == "\n" if place else self._quoting.at_head
                ):
                    cut = place
                    break
        self._quoting.advance(text[at:cut])
        if cut < end and not self._quoting.is_open():
            self._quoting.advance(text[cut:end])
            cut = end
        out.append(text[at:cut])
        return cut

    def _begin_message(self, text: str, at: int, out: list[str | FoundCall]) -> int:
        """At the beginning of a message: white space passes, then the weak forms are tried."""
        start = at
        while start < len(text) and text[start] in " \t\r\n":
            start += 1
        self._quoting.advance(text[at:start])
        out.append(text[at:start])
        if start < len(text):
            self._armed = False
            format = WORD if text[start].isalpha() else WHOLE.get(text[start])
            if format is not None and self._quoting.is_open():
                self._begin(text[start:], _whole_message(format), rescue=True)
        return start

    _arms = 0

    def _rearm(self) -> None:
        if self._arms < 2:
            self._arms += 1
            self._arm()

    # Inside a region.

    def _begin(self, text: str, reader: Callable[[Region], Step[int]], *, rescue: bool) -> None:
        self._region = Region(text, self._tools, self._names)
        self._parts = [text]
        self._reading = reader(self._region)
        self._rescue = rescue

    def _read(self, text: str, out: list[str | FoundCall], eof: bool, finished: bool) -> str | None:
        """Let the format read on. The text behind the region once it is decided, None while it is not."""
        region, reading = self._region, self._reading
        assert region is not None and reading is not None
        if text:
            region.extend(text)
            self._parts.append(text)
        region.eof, region.finished = eof, finished
        proven, cut = 0, False
        try:
            next(reading)
        except StopIteration as end:
            proven = end.value
        except NotACall:
            pass
        except CutOff:
            proven = region.items[-1][0] if region.items else 0
            cut = True
        else:
            if region.offset > self._max_held:
                self._give_up(out)
                return ""
            return None
        self._region = self._reading = None
        whole = "".join(self._parts)
        self._parts = []
        if region.offset > self._max_held:
            self._off = True
            out.append(whole)
            return ""
        rest = self._settle(region, whole, proven, out)
        if cut and not self._rescue:
            out.append(rest)  # the answer ended inside: nothing behind is searched
            return ""
        return rest

    def _settle(self, region: Region, whole: str, proven: int, out: list[str | FoundCall]) -> str:
        calls = [draft for _, draft in region.items if draft is not None]
        if not proven or not calls:
            if self._rescue:
                return whole
            at = max(region.offset, 1)
            out.append(whole[:at])
            self._quoting.advance(whole[:at])
            return whole[at:]
        out.extend(_cut(whole, [item for item in region.items if item[0] <= proven], proven))
        self._quoting.call()
        return whole[proven:]

    def _give_up(self, out: list[str | FoundCall]) -> None:
        """More was held than may be: all of it goes out as it came, and nothing is searched from here on."""
        out.append("".join(self._parts))
        self._parts = []
        self._region = self._reading = None
        self._off = True


def _transaction(format: Format, thinking: bool, inline: bool) -> Callable[[Region], Step[int]]:
    def read(region: Region) -> Step[int]:
        current, end = format, 0
        while True:
            try:
                yield from current.read(region)
            except NotACall:
                if current.tokens and end and not thinking:
                    return end
                raise
            end = region.offset
            while (yield from region.optional(_ORPHANS, space=False)):
                end = region.offset
            # The closers of a wrapper belong to its last call.
            if region.items:
                region.items[-1] = (end, region.items[-1][1])
            char = yield from region.peek()
            if current.tokens and char.isalpha() and not thinking:
                return end
            yield from region.space(" \t\r\n" if thinking else " \t\r")
            char = yield from region.peek()
            if not char and inline and not current.tokens and not region.finished:
                raise NotACall  # a sentence that was cut off behind its example
            if not char or (char == "\n" and not thinking):
                return end
            opener, _ = yield from region.ahead(_CHAINED, space=False)
            if not opener:
                raise NotACall  # prose follows on the same line: it speaks about the call
            current = _BY_OPENER[opener]

    return read


def _whole_message(format: Format) -> Callable[[Region], Step[int]]:
    def read(region: Region) -> Step[int]:
        try:
            yield from format.read(region)
        except CutOff:
            raise NotACall from None
        end = region.offset
        if region.items:
            region.items[-1] = (end, region.items[-1][1])
        yield from region.space()
        if (yield from region.peek()) or any(draft is None for _, draft in region.items):
            raise NotACall
        if not region.finished:
            raise NotACall  # the answer was cut off: this is not the entire message
        return end

    return read


def _cut(whole: str, items: list[tuple[int, Draft | None]], proven: int) -> list[str | FoundCall]:
    """The region's text, each call in the place of its own part of it."""
    ends = [0, *(end for end, _ in items)]
    out: list[str | FoundCall] = []
    for (start, end), (_, draft) in zip(pairwise(ends), items, strict=True):
        if draft is None:
            out.append(whole[start:end])
        else:
            out.append(FoundCall(draft.name, draft.arguments, whole[start:end], draft.format))
    if ends[-1] < proven:
        out.append(whole[ends[-1] : proven])
    return out


def _find(text: str, at: int) -> tuple[int, str]:
    """The next complete opener and where it is; -1 where there is none."""
    match = _OPENER.search(text, at)
    word = text.find(_WORD, at)
    if match is not None and not 0 <= word < match.start():
        return match.start(), match.group()
    return word, _WORD


def _may_begin_word(text: str) -> bool:
    """Is the end of the text the beginning of the opener that begins with a letter?"""
    least = max(0, len(text) - len(_WORD) + 1)
    place = text.rfind("c", least)
    while place >= 0:
        if _WORD.startswith(text[place:]):
            return True
        place = text.rfind("c", least, place)
    return False


def _joined(out: list[str | FoundCall]) -> list[str | FoundCall]:
    """Without empty text, and with neighbouring text as one."""
    joined: list[str | FoundCall] = []
    pieces: list[str] = []
    for item in out:
        if isinstance(item, str):
            pieces.append(item)
            continue
        if text := "".join(pieces):
            joined.append(text)
        pieces.clear()
        joined.append(item)
    if text := "".join(pieces):
        joined.append(text)
    return joined
