"""Finds the calls at the end of an answer while its text streams.

Text passes at once. A suffix that may be the beginning of a head waits for the next text; from a head on that is not
quoted, text is held to the end of the answer and read (`held.py`).

Text in = text out + `raw` of the calls, and the calls do not depend on how the text was split.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from ..sizes import MOST_ARGUMENTS, MOST_TAGS, MOST_WRITTEN, LimitReached, has_more_parts
from ..tools.declared import Tools
from .formats import AT_LINE, BEGINNINGS, LONGEST, OPENER_OR_END
from .held import FoundCall, Held, NoCall
from .known import CutOff, WrittenTools
from .read_aloud import was_read
from .structure import Structure
from .weak_heads import may_be_weak
from .wrappers import ENDS

_MOST_HEADS = 4_000
"""Openers in what is held: each is looked at again where the first one is none."""
_SPARE = 256 * 1024
"""How much is read at the end beside what is held, if head after head is none: what is behind that stays text."""
_NO_WRAPPERS = frozenset(("<|message|>", "<|channel|>", "<|start|>assistant", "assistant<|channel|>"))
_PREFIXES = BEGINNINGS.keys() | {end[:size] for end in ENDS for size in range(1, len(end))}
_FIRST = re.compile("[" + re.escape("".join(sorted({prefix[0] for prefix in _PREFIXES}))) + "]")
_WEAK_SHOWS_WITHIN = 200
"""How much of a message shows that it is no call in a weak form."""


@dataclass(slots=True, eq=False)
class Search:
    """The search of one text of an answer."""

    tools: Tools
    declared: Tools | None = None
    """All tools of the request, if these are more."""
    max_held: int = MOST_ARGUMENTS
    texts: Callable[[], Iterable[str] | None] = tuple
    """What the model was given to read, None if that is too much."""
    weak: bool = True
    """The message may be nothing but bare JSON and the like."""
    whole: bool = False
    """Every format counts only as the whole message."""
    reasoning: bool = False
    """The text is a thought, whose last call counts even if others were weighed before."""
    structure: Structure = field(default_factory=Structure)
    """What is open behind the text that passed."""
    off: bool = False
    """Nothing is searched: all text passes."""
    held: Held | None = None
    """The text from a head on: how the text ends decides what it is."""
    _suffix: str = ""
    """The end of the text, if it may be the beginning of an opener."""
    _gone: int = 0
    """How much of it has passed already, because no call may begin there."""
    _measured: int = 0
    """The size from which what is held is measured again."""
    _refused: bool = False
    """A quoted head came last, and nothing but white space behind it: what it wraps is quoted as well."""
    _known: WrittenTools = field(init=False)
    _starts: bool = field(init=False)
    """The message begins here, so a weak format may follow."""

    def __post_init__(self) -> None:
        self._known = WrittenTools(self.tools, self.declared)
        self.off = len(self.tools) == 0
        self._starts = self.weak and not self.off and self.structure.begins_message

    # What the answer asks.

    @property
    def rests(self) -> bool:
        """Whether nothing is held, and no text is the beginning of anything."""
        return self.off or not (self._suffix or self._starts or self.held)

    def skip(self, text: str) -> None:
        """Take text that has passed, in which no opener begins."""
        if text and not self.off:
            self.structure.add(text)
            self._refused = self._refused and text.isspace()

    def feed(self, text: str) -> list[str | FoundCall]:
        """Search the next text; the text that passes, in order. A call is found only at the end."""
        if self.off or not text:
            return [text] if text else []
        if self.held is not None and not self.held.add(text):
            return []
        out: list[str] = []
        rest = text if self.held is None else self._read(out)
        while rest is not None and self._search(rest, out):
            rest = self._read(out)
        return ["".join(out)] if out else []

    def close(self, finished: bool | None = True) -> list[str | FoundCall]:
        """End the text. `finished`: whether the model ended it (False: it was cut off; None: unknown)."""
        out: list[str] = []
        calls: list[FoundCall] = []
        rest = ""
        if finished is not False and not self.off:
            self._known.closers_may_be_missing = finished is True
            left = (self.held.size if self.held else 0) + _SPARE
            while left >= len(rest) and not calls:
                if self.held is None and not self._search(rest, out, final=True):
                    rest = ""
                    break
                left -= self.held.size if self.held else 0
                rest = self._read(out, calls) or ""
        self.off = True
        behind = self._drain() + rest
        parts: tuple[str | FoundCall, ...] = ("".join(out), *calls, behind) if calls else ("".join(out) + behind,)
        return [part for part in parts if part]

    def release(self) -> list[str | FoundCall]:
        """Release what is held, because something else follows it, so it is text."""
        if self.held is None and len(self._suffix) <= self._gone:
            return []
        held = self._drain()
        self._starts = False
        self.structure.add(held)
        return [held]

    def _drain(self) -> str:
        held = self.held.raw + self.held.rest if self.held else self._suffix[self._gone :]
        self.held, self._suffix, self._gone = None, "", 0
        return held

    # Text that passes.

    def _pass(self, text: str, out: list[str]) -> None:
        gone = min(self._gone, len(text))
        text, self._gone = text[gone:], self._gone - gone
        if text:
            out.append(text)
            self.skip(text)

    def _search(self, text: str, out: list[str], *, final: bool = False) -> bool:
        """Pass text up to a head that is not quoted, which is held from then on: True; or up to a suffix that may be
        the beginning of one."""
        text, self._suffix, at, gone = self._suffix + text, "", 0, self._gone
        sure = len(text) - (0 if final else LONGEST)
        while at < len(text):
            if self._starts:
                begin = len(text) - len(text[at:].lstrip())
                self._pass(text[at:begin], out)
                at = begin
                start = text[at : at + _WEAK_SHOWS_WITHIN]
                may_be = start and may_be_weak(start, self._known)
                if may_be is not False and not self.structure.may_begin():
                    may_be = False
                if (may_be is None or not start) and not final and len(start) < _WEAK_SHOWS_WITHIN:
                    self._suffix = text[at:]
                    return False
                self._starts = False
                if may_be:
                    self.held = Held(self._known, text[at:], self.max_held, weak=True)
                    return True
            match = OPENER_OR_END.search(text, at)
            if match is None or (match.start() >= sure and match.start() >= _suffix_of(text)):
                break
            self._pass(text[at : match.start()], out)
            at, opener = match.start(), match[0]
            if at >= gone and opener not in ENDS and self._may_begin(opener):
                self.held = Held(self._known, text[at:], self.max_held)
                return True
            self._pass(opener, out)
            at = match.end()
            if opener not in ENDS:
                self._refused = opener not in _NO_WRAPPERS
                continue
            self._refused, self._starts = False, self.weak
        self._keep_suffix(text, at, gone, out, final)
        return False

    def _keep_suffix(self, text: str, at: int, gone: int, out: list[str], final: bool) -> None:
        """Pass the text from `at` on, up to what may be the beginning of a head if a call may begin there.

        `gone`: up to where it has passed already.
        """
        end = max(at, len(text) if final else _suffix_of(text))
        for begin in _starts(text, end):
            self._pass(text[at:begin], out)
            at = begin
            if at >= gone and self._may_begin(text[at:]):
                break
        else:
            self.off = self.off or final  # what it leaves open quotes nothing any more
            self._pass(text[at:], out)
            at = len(text)
        self._suffix, self._gone = text[end:], at - end

    def _may_begin(self, opener: str) -> bool:
        """Whether a call may begin here, with this opener or with one that begins like this."""
        special = BEGINNINGS.get(opener)
        if self._refused or special is None:
            return False
        word = opener if opener[0].isalpha() or opener in AT_LINE else ""
        if not self.structure.may_begin(special=special, word=word):
            return False
        return not self.whole or self.structure.begins_message

    # Text that is held.

    def _read(self, out: list[str], calls: list[FoundCall] | None = None) -> str | None:
        """Read what is held, as far as it goes. What is no call passes, and what is behind it is returned.

        `calls` takes the calls at the end of the answer, and what is behind them is returned.
        """
        held, structure = self.held, self.structure
        assert held is not None
        try:
            if held.size > self._measured:
                self._measured = held.size + held.size // 2
                text = held.rest
                heads = islice(OPENER_OR_END.finditer(text), _MOST_HEADS, None)
                if has_more_parts(text, MOST_WRITTEN) or text.count("</") > MOST_TAGS or any(heads):
                    raise LimitReached
            held.read(final=calls is not None)
            if calls is None:
                return None
            if any(was_read(call.name, call.arguments, self.texts(), self._known) for call in held.done):
                raise NoCall(0)
            calls += held.done
            self.held = None
            return held.rest
        except CutOff:
            return None
        except LimitReached:
            out.append(self._drain())
            self.off = True
            return None
        except NoCall as reason:
            rest = held.rest
            passed = held.raw + rest[: reason.end]
            if held.done or reason.whole:
                structure.add_calls(passed)
            else:
                structure.add(passed)
            if reason.spoils and not self.reasoning:
                structure.spoil()
            self.held = None
            out.append(passed)
            return rest[reason.end :]


def _starts(text: str, at: int) -> Iterator[int]:
    """Where the ends of a text begin that may be the beginning of an opener, even if one is an opener itself."""
    firsts = (first.start() for first in _FIRST.finditer(text, max(at, len(text) - LONGEST)))
    return (start for start in firsts if text[start:] in _PREFIXES)


def _suffix_of(text: str) -> int:
    return next(_starts(text, 0), len(text))
