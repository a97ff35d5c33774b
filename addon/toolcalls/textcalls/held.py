"""Text that is held from a head on: which calls it is, read from its beginning as far as it goes.

It is read when a closer came, at sizes that grow by half, so that all readings together cost a few times the last
one. It is let go if the head does not match within 200 characters, or if something other than a call, white space
and special tokens follows a closer. In between a piece is only kept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from ..mend.lexer import end_of
from ..sizes import MOST_CALLS, LimitReached
from .formats import OPENER, WEAK, Row, behind_section, may_begin, rows_at
from .known import SPACE, CutOff, ReadCall, WrittenTools
from .tokens import skip_tokens
from .wrappers import REASONING_END

_HEAD_WITHIN = 200
"""How far behind its opener a head has to match."""
_HOPELESS = re.compile(r"(?<=>>>)[\s>]|\s*+[^\s\w{\[<`\"'=:(\\>|\]]")
"""Nothing that may stand behind an opener."""
_MAY_CLOSE = re.compile(r"[>\]})`]")
"""The last character of every closer."""
_BRACKET, _LONGEST_CLOSER = r"[}\])]", 96


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


class Held:
    """What is held: the calls that are complete, and the text behind them."""

    def __init__(self, known: WrittenTools, text: str, most: int, *, weak: bool = False) -> None:
        """`most`: how much may be held. `weak`: it is a message from its beginning, so weak forms count."""
        self._known, self._most, self._weak = known, most, weak
        self.done: list[FoundCall] = []
        """The calls that are complete."""
        self.size = len(text)
        """How much is held behind them."""
        self._pieces = [text]
        self._at = 0
        """Where the text begins that is still to be read."""
        self._next = 0
        """The size at which it is read again."""
        self._closers: frozenset[str] = frozenset()
        """The closers of the rows whose heads matched."""
        self._recent = ""
        """The last text that came, and what a closer may begin with before it."""
        self._closes = False
        """A closer came since it was read."""
        self._other_speaker = False
        """A call gave the turn to somebody else."""

    @property
    def rest(self) -> str:
        """The text behind the calls that are complete."""
        self._pieces = ["".join(self._pieces)]
        return self._pieces[0]

    @property
    def raw(self) -> str:
        """The text of the calls that are complete."""
        return "".join(call.raw for call in self.done)

    def add(self, text: str) -> bool:
        """Hold more text; whether it is to be read now."""
        self._pieces.append(text)
        self.size += len(text)
        if self.size > self._most or not self._closers:
            return True
        self._recent = self._recent[-_LONGEST_CLOSER:] + text
        if not (self._closes or self.done) and _MAY_CLOSE.search(text) is not None:
            self._closes = any(re.search(closer, self._recent) for closer in self._closers)
        return self.size >= self._next and (self._closes or self.done != []) and not text.isspace()

    def read(self, *, final: bool) -> None:
        """Read what is held. Raises CutOff if it ends inside a call, NoCall if it is none up to a place in `rest`, or
        if something else follows the calls; LimitReached if that is too much."""
        text, self._at = self.rest, 0
        if len(text) > self._most or len(self.done) > MOST_CALLS:
            raise LimitReached
        self._closes, self._next = False, 0
        try:
            while not self.done or self._goes_on(text, final):
                calls, end, format = self._read_one(text, final)
                found, raw = list[FoundCall](), text[self._at : end]
                for tool, arguments in calls:
                    if tool is None:
                        raise NoCall(end, spoils=self.done != [], whole=True)
                    found.append(FoundCall(tool.name, arguments, "" if found else raw, format))
                self.done += found
                self._at = end
        except CutOff:
            if not final:
                self._next = self.size + self.size // 2 + 64 if self._closers else 0
                raise
            end, spoils = self._head_end(text, self._at), not self._weak or self.done != []
            raise NoCall(end - self._at, spoils=spoils) from None
        except NoCall as reason:
            reason.end -= self._at
            raise
        finally:
            self._pieces = [text[self._at :]]
            self.size = len(text) - self._at

    def _head_end(self, text: str, at: int) -> int:
        """Where the head of a text that is no call ends."""
        opener = OPENER.match(text, at)
        if self._weak and not self.done:
            return at if opener else at + 1
        return opener.end() if opener else at

    def _goes_on(self, text: str, final: bool) -> bool:
        """Whether another call follows the last one and its tokens. Raises NoCall if something else does."""
        end, other_speaker = skip_tokens(text, self._at)
        self._other_speaker = self._other_speaker or other_speaker
        last = self.done[-1]
        self.done[-1] = replace(last, raw=last.raw + text[self._at : end])
        self._at, at = end, end_of(SPACE, text, end)
        if at == len(text):
            return False
        if not final and may_begin(text[at : at + 256]):
            raise CutOff
        if last.format == "lfm2" and "Ok".startswith(text[at:].strip()):
            if not final:
                raise CutOff
            return False  # `<|tool_call_start|>[ls()]<|tool_call_end|>Ok`: LFM2 says it behind a call that it means
        if self._other_speaker or OPENER.match(text, at) is None:
            goes_on = REASONING_END.match(text, at) is not None or self._weak
            raise NoCall(at, spoils=self._other_speaker or not goes_on)
        return True

    def _read_one(self, text: str, final: bool) -> tuple[list[ReadCall], int, str]:
        """The call, or the list of calls, that begins here behind its wrappers; where it ends, and its format."""
        begin = at = end_of(SPACE, text, self._at) if self.done else self._at
        cut, matched, broken = False, False, self.done != []
        rows = [*(WEAK if self._weak and not self.done else ()), *rows_at(text, at)]
        while True:
            for row in rows:
                head = row.whole_head.match(text, at)
                if head is None:
                    continue
                matched = True
                self._closers |= {row.end or _BRACKET}
                try:
                    found = row.read(row, head, self._known, final)
                except CutOff:
                    cut = True
                    continue
                except ValueError:
                    found = None
                if found is not None:
                    return *found, row.format
                # What looks like a call in a broken one is a part of it.
                broken = broken or (row not in WEAK and self._begins_call(row, head))
            behind = behind_section(text, at)
            if behind == at or at - begin > _HEAD_WITHIN:
                break
            at, rows = behind, rows_at(text, behind)
            matched = matched and not rows
        head_end = self._head_end(text, begin)
        waits = not matched and not final and len(text) - begin < 2 * _HEAD_WITHIN and len(text) - at < _HEAD_WITHIN
        if cut or (waits and _HOPELESS.match(text, at if at > begin else head_end) is None):
            raise CutOff
        # So many wrappers have no call in them.
        raise NoCall(at if at - begin > _HEAD_WITHIN else head_end, spoils=broken)

    def _begins_call(self, row: Row, head: re.Match[str]) -> bool:
        """Whether a head that matched names a declared tool, or is followed by JSON or Python.

        So does the head of any call whose values stand in tags: what looks like a call behind it may be in its value.
        """
        if row.param:
            return True
        written = head.groupdict().get("name")
        return not row.weak if written is None else self._known.resolve(written) is not None
