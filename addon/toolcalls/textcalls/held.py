"""Text that is held from a head on: which calls it is, read from its beginning as far as it goes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cache

from .formats import LONGEST, OPENER, PREFIXES, WEAK, Row, behind_section, rows_at
from .json_calls import skip_space
from .known import Call, CutOff, Known
from .tokens import skip_tokens
from .wrappers import REASONING_END

_HEAD = 200
"""How far behind its opener a head has to match."""
_HOPELESS = re.compile(r"(?<=>>>)[\s>]|\s*+[^\s\w{\[<`\"'=:(\\>|\]]")
"""Nothing that may stand behind an opener."""
_SHORT = 64
"""What is shorter than this behind a call may be the beginning of a token."""
_PARTIAL = re.compile(r"[<\[\]`◁&|;,]")
_CLOSING, _LONGEST_CLOSER = r"[}\])]", 96


@dataclass(slots=True, frozen=True)
class FoundCall:
    name: str
    """The declared name that the model meant."""
    arguments: str
    """JSON text: as the model wrote it, or made from raw values typed by the schema."""
    raw: str
    """The exact text that this call replaces. Of the calls of one list, the first has it, the others nothing."""
    format: str


class NoCall(Exception):
    """What is held is text, up to this place."""

    def __init__(self, end: int, *, spoils: bool = False, whole: bool = False) -> None:
        """`spoils`: no call behind it counts. `whole`: all of it is the markup of a call."""
        self.end, self.spoils, self.whole = end, spoils, whole


@dataclass(slots=True)
class Held:
    """What is held: the calls that are complete, and the text behind them."""

    _known: Known
    _weak: bool
    """It is a message from its beginning, which may be a call in a weak form."""
    done: list[FoundCall] = field(default_factory=list)
    """The calls that are complete."""
    size: int = 0
    """How much is held behind them."""
    _pieces: list[str] = field(default_factory=list)
    _at: int = 0
    """Where the text begins that is still to be read."""
    _next: int = 0
    """The size at which it is read again."""
    _closers: frozenset[str] = frozenset()
    """The closers of the rows whose heads matched; whether one came since, and the end of the text for the next."""
    _closes: bool = False
    _tail: str = ""
    _foreign: bool = False
    """A call gave the turn to somebody else."""

    @property
    def rest(self) -> str:
        """The text behind the calls that are complete."""
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    @property
    def raw(self) -> str:
        """The text of the calls that are complete."""
        return "".join(call.raw for call in self.done)

    def add(self, text: str) -> bool:
        """Hold more text; whether that may decide something: sizes at which it is read grow by half."""
        self._pieces.append(text)
        self.size += len(text)
        if not self._closers:
            return True
        self._tail += text
        self._closes = self._closes or _closer(self._closers).search(self._tail) is not None
        self._tail = self._tail[-_LONGEST_CLOSER:]
        if self.size < self._next or not (self._closes or self.done) or text.isspace():
            return False
        self._closes = False
        return True

    def read(self, *, final: bool) -> None:
        """Read what is held. Raises CutOff if it ends inside a call, NoCall if it is none up to a place in `rest`, or
        if something else follows the calls."""
        text, self._at = self.rest, 0
        try:
            self._read(text, final)
            self._next = 0
        except CutOff:
            self._next = self.size + self.size // 2 + 64 if self._closers else 0
            if not final:
                raise
            no_call = NoCall(self._head_end(text[self._at :]), spoils=not self._weak or bool(self.done))
            raise no_call from None
        except NoCall as reason:
            reason.end -= self._at
            raise
        finally:
            self._pieces = [text[self._at :]]
            self.size = len(text) - self._at

    def _head_end(self, text: str) -> int:
        """How much of a text that is no call is its head."""
        opener = OPENER.match(text)
        if self._weak and not self.done:
            return 0 if opener else 1
        return opener.end() if opener else 0

    def _read(self, text: str, final: bool) -> None:
        """Read calls from the beginning of a text, and keep them. `_at` is where the text behind them begins."""
        while True:
            if self.done:
                at, foreign = skip_tokens(text, self._at)
                self._foreign = self._foreign or foreign
                self._extend(text[self._at : at])
                self._at = at
                at = skip_space(text, at)
                if at == len(text):
                    return
                if not final and len(text) - at < _SHORT and (_PARTIAL.match(text, at) or text[at:] in PREFIXES):
                    raise CutOff
                if self.done[-1].format == "lfm2" and "Ok".startswith(text[at:].strip()):
                    if final:
                        return  # its template lets it write on
                    raise CutOff
                if self._foreign or OPENER.match(text, at) is None:
                    goes_on = REASONING_END.match(text, at) is not None or self._weak
                    raise NoCall(at, spoils=self._foreign or not goes_on)
            else:
                at = self._at
            row, calls, end = self._one(text, at, final)
            if any(name is None for name, _ in calls):
                raise NoCall(end, spoils=bool(self.done), whole=True)
            raw = text[self._at : end]
            for name, arguments in calls:
                self.done.append(FoundCall(name or "", arguments, raw, row.format))
                raw = ""
            self._at = end

    def _extend(self, tokens: str) -> None:
        if tokens:
            self.done[-1] = replace(self.done[-1], raw=self.done[-1].raw + tokens)

    def _one(self, text: str, begin: int, final: bool) -> tuple[Row, list[Call], int]:
        """The call, or the list of calls, that begins here, with the wrappers before it."""
        at, cut, matched, broken = begin, False, False, bool(self.done)
        rows = [*WEAK, *rows_at(text, at)] if self._weak and not self.done else rows_at(text, at)
        while True:
            for row in rows:
                head = row.whole_head.match(text, at)
                if head is None:
                    continue
                matched = True
                self._closers |= {row.end or _CLOSING}
                try:
                    found = row.read(row, head, self._known, final)
                except CutOff:
                    cut = True
                    continue
                if found is not None:
                    return row, *found
                broken = broken or (row not in WEAK and self._begins_call(row, head))
            behind = behind_section(text, at)
            if behind == at or at - begin > _HEAD:
                break
            at, rows = behind, rows_at(text, behind)
        waits = not matched and not final and len(text) - begin < 2 * _HEAD and len(text) - at < _HEAD
        behind = at if at > begin else begin + self._head_end(text[begin : begin + LONGEST])
        if cut or (waits and _HOPELESS.match(text, behind) is None):
            raise CutOff
        # What looks like a call in a broken one is a part of it.
        long = at - begin > _HEAD  # so many wrappers have no call in them
        raise NoCall(at if long else begin + self._head_end(text[begin : begin + LONGEST]), spoils=broken)

    def _begins_call(self, row: Row, head: re.Match[str]) -> bool:
        """Whether a head that matched names a declared tool, or is followed by JSON or Python.

        So does the head of any call whose values stand in tags: what looks like a call behind it may be in its value.
        """
        if row.param:
            return True
        written = head.groupdict().get("name")
        return not row.weak if written is None else self._known.resolve(written) is not None


@cache
def _closer(closers: frozenset[str]) -> re.Pattern[str]:
    return re.compile("|".join(sorted(closers)))
