"""Tool calls written as text, found while the text streams. One linear scanner for all formats.

Text without an opener passes at once, and what it changes about quoting is looked at when the next opener wants to
know. A suffix that may be the beginning of an opener is held until the next characters tell. Behind a complete opener
that is not quoted a region begins: its format reads it, as a generator over the arriving text. It is held until the
answer ends or something follows that is no call: then it comes out as it came, and is not searched again.

The result is the same for every split of the text, and text in = text out + `raw` of the calls.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from ..tools.declared import Tools
from ..work import Work
from .behind_calls import anywhere, entire_message, parted
from .cursor import CutOff, NotACall, Step
from .formats import WHOLE, WORD
from .formats.words import may_be_word
from .names import Names
from .openers import (
    AT_HEAD,
    BEGUN,
    BEHIND,
    BY_OPENER,
    EXTENDS,
    FIRST,
    FIRST_AT_HEAD,
    FIRST_BEHIND,
    LONGEST,
    OPENER,
    PARTIAL,
    THOUGHT_ENDS,
    begun_thought_end,
)
from .quoting import Quoting
from .region import Region
from .tokens import without_tokens

MAX_HELD = 16 * 1024 * 1024
_BLOCK, _SKIPPED_BLOCK = 2048, 16 * 1024
_MOST_ARMS = 2
MOST_SKIPPED = 320 * 1024
SKIPPED_BEYOND = 64 * 1024
"""So much text may pass before anybody looks how it is quoted: most answers are shorter. Then it goes on in steps."""
_OPENER, _REGION, _LOOK, _BRACKET = 40, 400, 10, 10
"""The steps that an opener, a region, a look into a region and a `<` take."""
_SPACE = re.compile(r"[ \t\r\n]*+")
_TAG = re.compile(r"<([^\W\d][\w:.-]{0,60})[\s=>]")


@dataclass(slots=True, frozen=True)
class FoundCall:
    name: str
    """The declared name that the model meant."""
    arguments: str
    """JSON text: as the model wrote it, or made from raw values typed by the schema."""
    raw: str
    """The exact text that this call takes the place of. Calls of one JSON list share it: the first has it."""
    format: str


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
        """`in_request`: does the text of a call of this tool stand in what the model was given to read?

        `begins`: this is the beginning of a message, where the `weak` forms may stand: bare JSON may be a call.
        `quoting`: what is open of a text that stands before this one. `work`: the steps that the search may take.
        """
        self._tools = tools
        self._names = Names(tools, resolve)
        self._in_request = in_request
        self._max_held = max_held
        self.off = len(tools) == 0
        """Nothing is searched any more."""
        self._quoting = quoting or Quoting()
        self._work = work or Work()
        self._text = ""
        self._parts: list[str] = []
        self._region: Region | None = None
        self._reading: Step[int] | None = None
        self._rescue = False
        self._read_over = False
        self._shown_by_words = False
        """The words before the region say that what is in it is shown, not meant."""
        self._quoting_before = self._quoting
        """What was open where the region began that is read over."""
        self._line_over: list[str] = []
        """The last line of that region so far, behind its line end."""
        self.resting = False
        """Nothing is held or expected: only an opener, or what may become one, can matter."""
        self._skipped: list[str] = []
        """Text that passed and that the quoting does not know of yet."""
        self._skipped_size = 0
        self._armed = begins and weak and not self.off
        self._arms = 0 if weak else _MOST_ARMS
        self._thought_end = ""

    @property
    def held(self) -> bool:
        """Is anything held back right now?"""
        return self._region is not None or bool(self._text)

    @property
    def undecided(self) -> bool:
        """Is a region open, which the end of the text decides?"""
        return self._region is not None

    def pop_quoting(self) -> Quoting:
        """What is open where the text ends, for what follows in another place."""
        self._catch_up()
        return self._quoting

    def needs(self, text: str) -> bool:
        """False: this text passes, and `skip` is all that has to be done with it."""
        return BEGUN.search(text) is not None if self.resting else not self.off

    def skip(self, text: str) -> None:
        """Text that passed without being searched."""
        self._skipped.append(text)
        self._skipped_size += len(text)
        if self._skipped_size > MOST_SKIPPED:
            self._catch_up(max(SKIPPED_BEYOND, self._skipped_size - MOST_SKIPPED))

    def _catch_up(self, most: int | None = None) -> None:
        """Look how the text is quoted that passed, or how so much of it is."""
        text = "".join(self._skipped)
        end = len(text) if most is None else most
        self._skipped, self._skipped_size = [text[end:]], len(text) - end
        for at in range(0, end, _SKIPPED_BLOCK):
            block = text[at : min(at + _SKIPPED_BLOCK, end)]
            if most is None:
                # It allowed two steps a character when it came, but no more were saved up than may be.
                self._work.came((len(block) + _BLOCK) // 2)
            self._quoting.advance(block)
            self._account()

    def _account(self) -> None:
        """Account for the steps that the quoting took."""
        self._work.spend(self._quoting.work)
        self._quoting.work = 0

    def feed(self, text: str) -> list[str | FoundCall]:
        if not text:
            return []
        self._work.said(len(text))
        if self.off:
            return [text]
        if not self.needs(text):
            self.skip(text)
            return [text]
        out: list[str | FoundCall] = []
        if len(text) <= _BLOCK:
            self._take(text, out)
            return _joined(out)
        # In blocks: what is left of one when a region ends is copied.
        for at in range(0, len(text), _BLOCK):
            block = text[at : at + _BLOCK]
            if self.needs(block):
                self._take(block, out)
            else:
                self.skip(block)
                out.append(block)
        return _joined(out)

    def close(self, finished: bool | None = True) -> list[str | FoundCall]:
        """The text is over. `finished`: the model said so; None where nobody knows, False where it was cut off."""
        out: list[str | FoundCall] = []
        if finished is False:
            out += self.pass_on()
        elif not self.off:
            self._take("", out, eof=True, finished=finished is True)
        self.off, self.resting = True, False
        self._skipped, self._skipped_size = [], 0
        return _joined(out)

    def pass_on(self) -> list[str | FoundCall]:
        """Something else was said behind what is held: so that is text, and it goes out as it came."""
        region = self._region
        if region is not None and self._read_over:
            held = region.drain() + region.rest
        else:
            held = self._text + "".join(self._parts)
        self._text, self._parts = "", []
        self._region = self._reading = None
        self._armed = False
        self.skip(held)
        return [held] if held else []

    # Between regions.

    def _take(self, text: str, out: list[str | FoundCall], *, eof: bool = False, finished: bool = False) -> None:
        if self._skipped_size:
            self._catch_up()
        self._work.spend(_BRACKET * text.count("<"))
        rest: str | None = text
        while rest is not None:
            if self.off:
                out.append(rest)
                rest = None
            elif self._region is not None:
                rest = self._read(rest, out, eof, finished)
            else:
                self._text, rest = "", self._text + rest
                self._search(rest, out, eof)
                rest = None if self._region is None else ""
        self._account()
        self.resting = self._region is None and not (self.off or self._text or self._armed or self._thought_end)

    def _search(self, text: str, out: list[str | FoundCall], eof: bool) -> None:
        """Pass text on up to a region, a suffix that may become one, or its end."""
        quoting = self._quoting
        at, end = self._behind_thinking(text, out), len(text)
        while at < end:
            if self._armed:
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
            if opener in THOUGHT_ENDS:
                at = match.end()
                quoting.advance(opener)
                out.append(opener)
                self._rearm()
                continue
            misplaced = opener in BEHIND and BEHIND[opener] != quoting.previous
            if misplaced or (opener in AT_HEAD and not quoting.at_head) or quoting.quoted:
                at = start + 1
                quoting.advance(text[start])
                out.append(text[start])
                continue
            if not eof and opener in EXTENDS and end - start < LONGEST and text[start:] in PARTIAL:
                self._text = text[start:]
                return
            reader = anywhere(BY_OPENER[opener], begins=not quoting.said)
            self._begin(text[start:], reader, quoted=not quoting.opens)
            return
        cut = self._pass(text, at, eof)
        out.append(text[at:cut])
        self._text = text[cut:]
        if cut == end and not self._thought_end:
            self._thought_end = begun_thought_end(text, at)

    def _pass(self, text: str, at: int, eof: bool) -> int:
        """Up to where the rest passes: all of it, but for a suffix that may be the beginning of an opener."""
        quoting, end = self._quoting, len(text)
        if not eof:
            for match in FIRST.finditer(text, max(at, end - LONGEST)):
                place = match.start()
                if text[place:] not in PARTIAL:
                    continue
                quoting.advance(text[at:place])
                at = place
                first = match.group()
                if first in FIRST_BEHIND and FIRST_BEHIND[first] != quoting.previous:
                    continue
                if (first not in FIRST_AT_HEAD or quoting.at_head) and not quoting.quoted_so_far:
                    return place
        self.skip(text[at:])
        return end

    def _begin_message(self, text: str, at: int, out: list[str | FoundCall]) -> int:
        """At the beginning of a message: white space passes, then the weak forms are tried."""
        start = _SPACE.match(text, at).end()  # type: ignore[union-attr]
        self._quoting.advance(text[at:start])
        out.append(text[at:start])
        if start < len(text):
            self._armed = False
            if text[start].isalpha():
                format = WORD if may_be_word(text[start : start + 2], self._tools) else None
            else:
                format = WHOLE.get(text[start])
            if format is not None and self._quoting.opens:
                self._begin(text[start:], entire_message(format), rescue=True)
        return start

    def _behind_thinking(self, text: str, out: list[str | FoundCall]) -> int:
        """Behind an end of reasoning that came in pieces and was not held the message begins once more."""
        seen, self._thought_end = self._thought_end, ""
        if not seen or not text:
            self._thought_end = seen
            return 0
        end = next((end for end in THOUGHT_ENDS if (seen + text).startswith(end)), None)
        if end is None:
            begun = any(end.startswith(seen + text) for end in THOUGHT_ENDS)
            self._thought_end = seen + text if begun else ""
            return 0
        at = len(end) - len(seen)
        self._quoting.advance(text[:at])
        out.append(text[:at])
        self._rearm()
        return at

    def _rearm(self) -> None:
        if self._arms < _MOST_ARMS and not self._quoting.quoted:
            self._arms += 1
            self._armed = True

    # Inside a region.

    def _begin(
        self, text: str, reader: Callable[[Region], Step[int]], *, rescue: bool = False, quoted: bool = False
    ) -> None:
        """`rescue`: where it fails, its text is searched. `quoted`: it is only read over, nothing is held."""
        self._shown_by_words = not quoted and self._quoting.shown
        self._account()
        self._work.spend(_REGION)
        self._region = Region(text, self._tools, self._names, self._work)
        self._parts = [] if quoted else [text]
        self._reading = reader(self._region)
        self._rescue = rescue
        self._read_over = quoted
        if quoted:
            self._quoting_before = self._quoting.copy()
            self._line_over = []

    def _read(self, text: str, out: list[str | FoundCall], eof: bool, finished: bool) -> str | None:
        """Let the format read on. The text behind the region once it is decided, None while it is not."""
        region, reading = self._region, self._reading
        assert region is not None and reading is not None
        if text:
            region.extend(text)
            if not self._read_over:
                self._parts.append(text)
        region.eof, region.finished = eof, finished
        proven, decided, cut = 0, True, False
        try:
            next(reading)
            decided = False
        except StopIteration as end:
            proven = end.value
        except NotACall:
            pass
        except CutOff:
            cut = True
        self._work.spend(_LOOK * region.looks)
        region.looks = 0
        if decided:
            self._region = self._reading = None
        if self._read_over:
            return self._pass_over(region, out, decided, cut)
        if region.offset > self._max_held:
            self._give_up(out)
            return ""
        if not decided:
            return None
        whole = "".join(self._parts)
        self._parts = []
        rest = self._settle(region, whole, proven, out)
        if (cut or region.inside) and not self._rescue:
            # The answer ended inside a call, or it cannot be told where one ends: nothing behind is searched.
            self.off = region.inside
            out.append(rest)
            return ""
        return rest

    def _pass_over(self, region: Region, out: list[str | FoundCall], decided: bool, cut: bool) -> str | None:
        """A region that is quoted: its text goes on as it is read."""
        if decided and not region.offset:
            region.pos = 1
        text = region.drain()
        out.append(text)
        self._quoting.advance(text)
        _, newline, line = text.rpartition("\n")
        self._line_over = ["\n", line] if newline else [*self._line_over, line]
        if decided and region.items:
            # Nothing in the text of a call ends the quotation that it stands in.
            self._quoting = self._quoting_before
            self._quoting.call("".join(self._line_over), answered=region.answered)
            self._quoting.behind_quoted = True
        # Where it cannot be told where a quoted call ends, what follows may be a part of it.
        self.off = self.off or cut or (decided and region.inside)
        return region.rest if decided else None

    def _settle(self, region: Region, whole: str, proven: int, out: list[str | FoundCall]) -> str:
        """Tell the calls of a region, or its text as it came; what is left of it is searched."""
        items = [item for item in region.items if item[0] <= proven]
        parts = parted(whole, items, proven)
        calls = [part for part in parts if not isinstance(part, str)]
        if (
            not calls
            or self._shown_by_words
            or any(self._in_request(call.name, without_tokens(raw)) for call, raw in calls)
        ):
            self._work.spend(len(whole) // 2)
            if self._rescue:
                return whole
            at = max(region.offset, 1)
            out.append(whole[:at])
            if region.items:
                # Behind a call the format read nothing but its own closers.
                self._quoting.call(whole[:at], answered=region.answered)
                self._quoting.behind_quoted = self._shown_by_words
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

    def _give_up(self, out: list[str | FoundCall]) -> None:
        """More was held than may be: all of it goes out as it came, and nothing is searched from here on."""
        out.append("".join(self._parts))
        self._parts = []
        self._region = self._reading = None
        self.off = True


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
