"""Finds tool calls written as text, while the text streams. One linear scanner for all formats.

Text without an opener passes at once; what it changes about quoting is examined when the next opener needs to know. A
suffix that may be the beginning of an opener is held until the next characters decide. After a complete opener that
is not quoted, a region begins: its format reads it, as a generator over the arriving text. The region is held until
the answer ends, or until something follows that is not a call: then its opener is text, and the rest is searched. A
quoted region is read too, but passes while it is read.

The result is the same for every split of the text, and text in = text out + `raw` of the calls.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..tools.declared import Tools
from ..work import Work
from . import placeholders
from .behind_calls import anywhere, entire_message, split_at_calls, texts_of
from .cursor import Step
from .formats import WHOLE, WORD
from .formats.words import may_be_word
from .names import Names
from .open_region import OpenRegion
from .openers import (
    AT_HEAD,
    BEGUN,
    BY_OPENER,
    EXTENDS,
    FIRST,
    FIRST_AT_HEAD,
    FIRST_PRECEDED_BY,
    LONGEST,
    OPENER,
    PARTIAL,
    PRECEDED_BY,
    REASONING_ENDS,
    begun_reasoning_end,
)
from .quoting import Quoting
from .region import Region
from .skipped_text import SkippedText

MAX_HELD = 16 * 1024 * 1024
_BLOCK = 2048
_MOST_RESTARTS = 2  # How often a message may begin again, after reasoning.
_OPENER, _REGION, _BRACKET = 40, 400, 10
"""The steps that an opener, a region and a `<` cost."""
_SPACE = re.compile(r"[ \t\r\n]*+")
_TAG = re.compile(r"<([^\W\d][\w:.-]{0,60})[\s=>]")


@dataclass(slots=True, frozen=True)
class FoundCall:
    name: str
    """The declared name that the model meant."""
    arguments: str
    """JSON text: as the model wrote it, or made from raw values typed by the schema."""
    raw: str
    """The exact text that this call replaces. Of the calls of one JSON list, the first has it, the others nothing."""
    format: str
    behind: Any = field(default=None, compare=False)
    """The structured call that its text followed, if there was one; the search of the answer knows it."""


class Scanner:
    def __init__(
        self,
        tools: Tools,
        *,
        max_held: int = MAX_HELD,
        resolve: Callable[[str], str | None] | None = None,
        in_request: Callable[[str, str], bool] = lambda name, text: False,
        begins: bool = True,
        weak: bool = True,
        quoting: Quoting | None = None,
        work: Work | None = None,
    ) -> None:
        """`in_request`: whether the text of a call of this tool appears in what the model was given to read.

        `begins`: no text came before this one. `weak`: a message of nothing but bare JSON and the like may be a call.
        `quoting`: the quoting state after the text before.
        """
        self._tools = tools
        self._names = Names(tools, resolve)
        self._in_request = in_request
        self._max_held = max_held
        self.off = len(tools) == 0
        """Nothing is searched: all text passes."""
        self._quoting = quoting or Quoting()
        self._work = work or Work()
        self._text = ""
        """A suffix that may begin an opener."""
        self._region: OpenRegion | None = None
        self.resting = False
        """Nothing is held back, so only an opener or the beginning of one matters."""
        self._skipped = SkippedText(self._work)
        """Text that passed, and that `_quoting` has not seen yet."""
        self._at_message_start = begins and weak and not self.off  # A weak format may follow.
        self._restarts = 0 if weak else _MOST_RESTARTS
        self._reasoning_end = ""  # The beginning of an end of reasoning, which has passed.

    @property
    def held(self) -> bool:
        """Whether anything is held back right now."""
        return self._region is not None or bool(self._text)

    @property
    def undecided(self) -> bool:
        """Whether a region is open: how the text ends decides what it is."""
        return self._region is not None

    def quoting_at_end(self) -> Quoting:
        """The quoting state at the end of the text, for the text that follows in another block or item."""
        self._skipped.examine(self._quoting)
        return self._quoting

    def needs(self, text: str) -> bool:
        """Whether this text has to be searched. If not, it passes, and only `skip` gets it."""
        return BEGUN.search(text) is not None if self.resting else not self.off

    def skip(self, text: str) -> None:
        """Take text that passed without being searched."""
        self._skipped.add(text, self._quoting)

    def feed(self, text: str) -> list[str | FoundCall]:
        """Search the next text; the text that passes and the calls that were found, in order."""
        if not text:
            return []
        self._work.add_text(len(text))
        if self.off:
            return [text]
        if not self.needs(text):
            self.skip(text)
            return [text]
        out: list[str | FoundCall] = []
        if len(text) <= _BLOCK:
            self._take(text, out)
            return _joined(out)
        # In blocks, because the rest of a block is copied when a region ends.
        for at in range(0, len(text), _BLOCK):
            block = text[at : at + _BLOCK]
            if self.needs(block):
                self._take(block, out)
            else:
                self.skip(block)
                out.append(block)
        return _joined(out)

    def close(self, finished: bool | None = True) -> list[str | FoundCall]:
        """End the text. `finished`: whether the model ended it (False: it was cut off; None: unknown)."""
        out: list[str | FoundCall] = []
        if finished is False:
            out += self.release()
        elif self.held and not self.off:
            self._take("", out, eof=True, finished=finished is True)
        self.stop()
        return _joined(out)

    def release(self) -> list[str | FoundCall]:
        """Release what is held, unchanged: something else follows it, so it is text."""
        held = self._text if self._region is None else self._region.drain()
        self._text, self._region = "", None
        self._at_message_start = False
        self.skip(held)
        return [held] if held else []

    def stop(self) -> None:
        """Search nothing any more; nothing may be held."""
        self.off, self.resting = True, False

    # Between regions.

    def _take(self, text: str, out: list[str | FoundCall], *, eof: bool = False, finished: bool = False) -> None:
        """Search a text that may change something: inside a region, or between regions."""
        if self._skipped.size:
            self._skipped.examine(self._quoting)
        self._work.spend(_BRACKET * text.count("<"))
        rest: str | None = text
        while rest is not None:
            if self.off:
                out.append(rest)
                rest = None
            elif self._region is not None:
                rest = self._read(self._region, rest, out, eof, finished)
            else:
                self._text, rest = "", self._text + rest
                self._search(rest, out, eof)
                rest = None if self._region is None else ""
        self._quoting.charge(self._work)
        self.resting = not (self.off or self.held or self._at_message_start or self._reasoning_end)

    def _search(self, text: str, out: list[str | FoundCall], eof: bool) -> None:
        """Release text up to a region, up to a suffix that may begin one, or up to its end."""
        quoting = self._quoting
        at, end = self._after_reasoning(text, out), len(text)
        while at < end:
            if self._at_message_start:
                at = self._begin_message(text, at, out)
                if self._region is not None or at >= end:
                    return
            match = OPENER.search(text, at)
            if match is None:
                break
            start, opener = match.start(), match.group()
            self._work.spend(_OPENER)
            quoting.advance(text[at:start])
            out.append(text[at:start])
            if opener in REASONING_ENDS:
                at = match.end()
                quoting.advance(opener)
                out.append(opener)
                self._restart_message()
                continue
            misplaced = opener in PRECEDED_BY and PRECEDED_BY[opener] != quoting.previous
            if misplaced or (opener in AT_HEAD and not quoting.at_head) or quoting.quoted:
                at = start + 1
                quoting.advance(text[start])
                out.append(text[start])
                continue
            if not eof and opener in EXTENDS and end - start < LONGEST and text[start:] in PARTIAL:
                self._text = text[start:]
                return
            reader = anywhere(BY_OPENER[opener], begins=not quoting.has_visible_text)
            self._begin(text[start:], reader, quoted=not quoting.call_may_begin)
            return
        cut = self._pass(text, at, eof)
        out.append(text[at:cut])
        self._text = text[cut:]
        if cut == end and not self._reasoning_end:
            self._reasoning_end = begun_reasoning_end(text, at)

    def _pass(self, text: str, at: int, eof: bool) -> int:
        """The index up to which the rest passes: its end, or a suffix that may be the beginning of an opener."""
        quoting, end = self._quoting, len(text)
        if not eof:
            for match in FIRST.finditer(text, max(at, end - LONGEST)):
                start = match.start()
                if text[start:] not in PARTIAL:
                    continue
                quoting.advance(text[at:start])
                at = start
                first = match.group()
                if first in FIRST_PRECEDED_BY and FIRST_PRECEDED_BY[first] != quoting.previous:
                    continue
                if (first not in FIRST_AT_HEAD or quoting.at_head) and not quoting.quoted_so_far:
                    return start
        self.skip(text[at:])
        return end

    def _begin_message(self, text: str, at: int, out: list[str | FoundCall]) -> int:
        """Release the white space at the beginning of a message, then try the weak formats. Returns where it ends."""
        start = _SPACE.match(text, at).end()  # type: ignore[union-attr]
        self._quoting.advance(text[at:start])
        out.append(text[at:start])
        if start < len(text):
            self._at_message_start = False
            if text[start].isalpha():
                format = WORD if may_be_word(text[start : start + 2], self._tools) else None
            else:
                format = WHOLE.get(text[start])
            if format is not None and self._quoting.call_may_begin:
                self._begin(text[start:], entire_message(format), rescue=True)
        return start

    def _after_reasoning(self, text: str, out: list[str | FoundCall]) -> int:
        """The index after an end of reasoning whose beginning has passed: the message begins again there."""
        seen, self._reasoning_end = self._reasoning_end, ""
        if not seen or not text:
            self._reasoning_end = seen
            return 0
        end = next((end for end in REASONING_ENDS if (seen + text).startswith(end)), None)
        if end is None:
            begun = any(end.startswith(seen + text) for end in REASONING_ENDS)
            self._reasoning_end = seen + text if begun else ""
            return 0
        at = len(end) - len(seen)
        self._quoting.advance(text[:at])
        out.append(text[:at])
        self._restart_message()
        return at

    def _restart_message(self) -> None:
        if self._restarts < _MOST_RESTARTS and not self._quoting.quoted:
            self._restarts += 1
            self._at_message_start = True

    # Inside a region.

    def _begin(
        self, text: str, reader: Callable[[Region], Step[int]], *, rescue: bool = False, quoted: bool = False
    ) -> None:
        """Begin a region. `rescue`: if it fails, its text is searched. `quoted`: it is read over, and not held."""
        shown = not quoted and self._quoting.shown
        self._quoting.charge(self._work)
        self._work.spend(_REGION)
        region = Region(text, self._tools, self._names, self._work)
        before = self._quoting.copy() if quoted else None
        self._region = OpenRegion(region, text, reader, self._work, rescue=rescue, shown=shown, quoting=before)

    def _read(
        self, opened: OpenRegion, text: str, out: list[str | FoundCall], eof: bool, finished: bool
    ) -> str | None:
        """Let the format read on. Returns the text after the region once the region is decided, None before."""
        opened.read(text, eof=eof, finished=finished)
        region = opened.region
        if opened.decided:
            self._region = None
        if opened.quoted:
            passed, self._quoting = opened.pass_over(self._quoting)
            out.append(passed)
            # If the end of a quoted call is unknown, what follows may be part of the call.
            self.off = self.off or opened.cut or (opened.decided and region.inside)
            return region.rest if opened.decided else None
        if region.offset > self._max_held:
            # More is held than is allowed: it is text, and nothing more is searched.
            out.append(opened.drain())
            self._region, self.off = None, True
            return ""
        if not opened.decided:
            return None
        rest = self._decide(opened, out)
        if (opened.cut or region.inside) and not opened.rescue:
            # The answer ended inside a call, or the end of a call is unknown: the text after it is not searched.
            self.off = region.inside
            out.append(rest)
            return ""
        return rest

    def _decide(self, opened: OpenRegion, out: list[str | FoundCall]) -> str:
        """Release the calls of a region, or its text unchanged. Returns the rest, which is searched."""
        region, whole, proven = opened.region, opened.drain(), opened.proven
        items = [item for item in region.items if item[0] <= proven]
        parts = split_at_calls(whole, items, proven)
        calls = [part for part in parts if not isinstance(part, str)]
        shown = opened.shown or any(placeholders.are_left(call.arguments) for call, _ in calls)
        if not calls or shown or any(self._in_request(*text) for text in texts_of(calls)):
            self._work.spend(len(whole) // 2)
            if opened.rescue:
                return whole
            at = max(region.offset, 1)
            out.append(whole[:at])
            if region.items:
                # After a call the format read nothing but its own closers.
                self._quoting.call(whole[:at], turn_follows=region.turn_follows)
                self._quoting.behind_quoted = shown
                return whole[at:]
            self._quoting.advance(whole[:at])
            if tag := _TAG.match(whole):
                self._quoting.open_element(tag[1].lower())
            return whole[at:]
        for part in parts:
            if isinstance(part, str):
                out.append(part)
            else:
                call, raw = part
                out.append(FoundCall(call.name, call.arguments, raw, call.format))
        self._quoting.call(whole[:proven])
        return whole[proven:]


def _joined(out: list[str | FoundCall]) -> list[str | FoundCall]:
    """The output without empty texts, and with adjacent texts joined."""
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
