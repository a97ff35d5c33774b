"""Finds the calls at the end of an answer while its text streams.

Text passes at once. A suffix that may be the beginning of a head is held; from a head on that is not quoted, text is
held to the end of the answer and read once. It is let go before if the head does not match, or if something other
than a call, white space and special tokens follows a closer: that is looked for at sizes that grow by half, so that
all readings together cost a few times the last one.

Text in = text out + `raw` of the calls, and the calls do not depend on how the text was split.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from ..sizes import MOST_ARGUMENTS, MOST_CALLS, MOST_TAGS, MOST_WRITTEN, has_more_parts
from ..tools.declared import Tools
from .formats import AT_LINE, LONGEST, OPENER_OR_END, OPENERS, PREFIXES, is_special
from .held import FoundCall, Held, NoCall
from .known import CutOff, Known
from .read_aloud import was_read
from .structure import Structure
from .weak_heads import may_be_weak
from .wrappers import ENDS

MAX_HELD = MOST_ARGUMENTS
_MOST_HEADS = 4_000
"""Openers in what is held: each is looked at again where the first one is none."""
_SPARE = 128 * 1024
"""How much is read at the end beside what is held, if head after head is none."""
_NO_WRAPPERS = frozenset(("<|message|>", "<|channel|>", "<|start|>assistant", "assistant<|channel|>"))
_MOST_SKIPPED = 64 * 1024
_MOST_RESTARTS = 2
"""How often the message begins again, behind reasoning."""
_SPECIAL_PREFIXES = frozenset(
    opener[:size] for opener in OPENERS if is_special(opener) for size in range(1, len(opener) + 1)
)
_PREFIXES = PREFIXES | {end[:size] for end in ENDS for size in range(1, len(end))}
_FIRST = re.compile("[" + re.escape("".join(sorted({prefix[0] for prefix in _PREFIXES}))) + "]")
_HEAD = 200
"""How much of a message shows that it is no call in a weak form."""


class Search:
    """The search of one text of an answer."""

    def __init__(
        self,
        tools: Tools,
        *,
        max_held: int = MAX_HELD,
        resolve: Callable[[str], str | None] | None = None,
        texts: Callable[[], Iterable[str] | None] = tuple,
        weak: bool = True,
        whole: bool = False,
        structure: Structure | None = None,
        reasoning: bool = False,
    ) -> None:
        """`texts`: what the model was given to read, None if that is too much. `weak`: the message may be nothing but
        bare JSON and the like. `whole`: every format counts only as the whole message.

        `structure`: what is open behind the text before. `reasoning`: the text is a thought, whose last call counts
        even if others were weighed before.
        """
        self._known = Known(tools, resolve)
        self._texts, self._max_held, self._weak, self._whole = texts, max_held, weak, whole
        self._structure = structure or Structure()
        self._reasoning = reasoning
        self.off = len(tools) == 0
        """Nothing is searched: all text passes."""
        self._skipped: list[str] = []
        self._skipped_size = self._sized = 0
        self._suffix = ""
        """The end of the text, if it may be the beginning of an opener."""
        self._gone = 0
        """How much of it has passed already, because no call may begin there."""
        self._starts = weak and not self.off and self._structure.begins_message
        """The message begins here, so a weak format may follow."""
        self._restarts = 0
        self._refused = False
        """A quoted head came last, and nothing but white space behind it: what it wraps is quoted as well."""
        self._held: Held | None = None
        """The text from a head on."""

    # What the answer asks.

    @property
    def held(self) -> bool:
        return self._held is not None or len(self._suffix) > self._gone

    @property
    def undecided(self) -> bool:
        """Whether how the text ends decides what is held."""
        return self._held is not None

    @property
    def rests(self) -> bool:
        """Whether nothing is held, and no text is the beginning of anything."""
        return self.off or not (self._suffix or self._starts or self._held)

    def skip(self, text: str) -> None:
        """Take text that has passed, in which no opener begins."""
        if text and not self.off:
            self._skip(text)
            self._refused = self._refused and text.isspace()

    def structure_at_end(self) -> Structure:
        self._catch_up()
        return self._structure

    def feed(self, text: str) -> list[str | FoundCall]:
        """Search the next text; the text that passes, in order. A call is found only at the end."""
        if self.off or not text:
            return [text] if text else []
        out: list[str] = []
        rest: str | None = text
        while rest is not None:
            rest = self._search(rest, out) if self._held is None else self._hold(rest, out)
        return ["".join(out)] if out else []

    def close(self, finished: bool | None = True) -> list[str | FoundCall]:
        """End the text. `finished`: whether the model ended it (False: it was cut off; None: unknown)."""
        out: list[str] = []
        calls: list[str | FoundCall] = []
        rest = ""
        if finished is not False and not self.off:
            self._known.forgives = finished is True
            left = (self._held.size if self._held else 0) + _SPARE
            while (rest or self.held) and not calls:
                if self._held is None:
                    rest = self._search(rest, out, final=True) or ""
                else:
                    self._held.add(rest)
                    left -= self._held.size
                    rest = self._read_held(out, calls, final=True) or ""
                    self.off = left < 0
                    if self.off:
                        break
        self.off = True
        behind = "".join(self._drain()) + rest
        parts = ("".join(out), *calls, behind) if calls else ("".join(out) + behind,)
        return [part for part in parts if part]

    def release(self) -> list[str | FoundCall]:
        """Release what is held, because something else follows it, so it is text."""
        held = "".join(self._drain())
        self._starts = False
        self._skip(held)
        return [held] if held else []

    def _drain(self) -> list[str]:
        held = [self._held.raw, self._held.rest] if self._held else []
        held.append(self._suffix[self._gone :])
        self._held, self._suffix, self._gone = None, "", 0
        return held

    # Text that passes.

    def _skip(self, text: str) -> None:
        self._skipped.append(text)
        self._skipped_size += len(text)
        if self._skipped_size > _MOST_SKIPPED:
            self._catch_up()

    def _catch_up(self) -> None:
        if self._skipped:
            self._structure.add("".join(self._skipped))
            self._skipped, self._skipped_size = [], 0

    def _pass(self, text: str, out: list[str]) -> None:
        gone = min(self._gone, len(text))
        text, self._gone = text[gone:], self._gone - gone
        if text:
            out.append(text)
            self.skip(text)

    def _search(self, text: str, out: list[str], *, final: bool = False) -> str | None:
        """Pass text up to a head that is not quoted, or up to a suffix that may be the beginning of one; what a head
        begins with is returned, and is to be held."""
        text, self._suffix, at, known = self._suffix + text, "", 0, self._gone
        sure = len(text) - (0 if final else LONGEST)
        while at < len(text):
            if self._starts:
                begin = at + len(text) - at - len(text[at:].lstrip())
                self._pass(text[at:begin], out)
                at = begin
                if at == len(text):
                    return None
                self._catch_up()
                may_be = may_be_weak(text[at : at + _HEAD], self._known) if self._structure.may_begin() else False
                if may_be is None and not final and len(text) - at < _HEAD:
                    self._suffix = text[at:]
                    return None
                self._starts = False
                if may_be:
                    self._held = Held(self._known, True)
                    return text[at:]
            match = OPENER_OR_END.search(text, at)
            if match is None or (match.start() >= sure and match.start() >= _suffix_of(text)):
                break
            self._pass(text[at : match.start()], out)
            at, opener = match.start(), match[0]
            if opener in ENDS:
                self._pass(opener, out)
                at = match.end()
                self._restart()
            elif at >= known and self._may_begin(opener):
                self._held = Held(self._known, False)
                return text[at:]
            else:
                self._pass(opener, out)
                at, self._refused = match.end(), opener not in _NO_WRAPPERS
        end = max(at, len(text) if final else _suffix_of(text))
        for begin in _starts(text, end):
            self._pass(text[at:begin], out)
            at = begin
            if at >= known and self._may_be_begun(text[at:]):
                break
        else:
            self.off = self.off or final  # what it leaves open quotes nothing any more
            self._pass(text[at:], out)
            at = len(text)
        self._suffix, self._gone = text[end:], at - end
        return None

    def _may_be_begun(self, suffix: str) -> bool:
        """Whether a call may begin with an opener that begins like this."""
        if self._refused or suffix not in PREFIXES:
            return False
        self._catch_up()
        return self._structure.may_begin(special=suffix in _SPECIAL_PREFIXES) and self._is_placed(suffix)

    def _may_begin(self, opener: str) -> bool:
        self._catch_up()
        structure = self._structure
        if self._refused or not structure.may_begin(special=is_special(opener)) or not self._is_placed(opener):
            return False
        return not self._whole or structure.begins_message

    def _is_placed(self, opener: str) -> bool:
        """Whether an opener that is a word, or a mark of prompts, stands at the beginning of a line; the name of a
        role may be glued to the end of a sentence."""
        if not (opener[0].isalpha() or opener in AT_LINE) or self._structure.begins_line:
            return True
        return opener[0] == "a" and self._structure.ends_with(".")

    def _restart(self) -> None:
        self._refused = False
        if self._weak and self._restarts < _MOST_RESTARTS:
            self._restarts += 1
            self._starts = True

    # Text that is held.

    def _hold(self, text: str, out: list[str]) -> str | None:
        """Hold text, until it is no call; what is to be searched then."""
        assert self._held is not None
        worth_reading = self._held.add(text)
        if self._held.size > self._max_held:
            out += self._drain()
            self.off = True
            return None
        return self._read_held(out, [], final=False) if worth_reading else None

    def _read_held(self, out: list[str], calls: list[str | FoundCall], *, final: bool) -> str | None:
        """Read what is held, as far as it goes. What is no call passes, and what is behind it is returned."""
        held = self._held
        assert held is not None
        if self._is_too_large(held):
            out += self._drain()
            self.off = True
            return None
        try:
            held.read(final=final)
        except CutOff:
            return None
        except NoCall as reason:
            return self._let_go(held, reason, out)
        if not final:
            return None
        if any(was_read(call.name, call.arguments, self._texts(), self._known) for call in held.done):
            return self._let_go(held, NoCall(0), out)
        calls += held.done
        self._held = None
        return held.rest

    def _is_too_large(self, held: Held) -> bool:
        """Whether more is held than is read; it is measured when it has grown by half."""
        if held.size <= self._sized:
            return len(held.done) > MOST_CALLS
        self._sized = held.size + held.size // 2
        text = held.rest
        heads = islice(OPENER_OR_END.finditer(text), _MOST_HEADS, None)
        return has_more_parts(text, MOST_WRITTEN) or text.count("</") > MOST_TAGS or next(heads, None) is not None

    def _let_go(self, held: Held, no_call: NoCall, out: list[str]) -> str:
        """What was held is text, up to a place: the rest is to be searched."""
        rest, structure = held.rest, self._structure
        passed = held.raw + rest[: no_call.end]
        if held.done or no_call.whole:
            self._catch_up()
            structure.add_calls(passed)
        else:
            self._skip(passed)
        if no_call.spoils and not self._reasoning:
            self._catch_up()
            structure.spoil()
        self._held = None
        out.append(passed)
        return rest[no_call.end :]


def _starts(text: str, at: int) -> Iterator[int]:
    """Where the ends of a text begin that may be the beginning of an opener, even if one is an opener itself."""
    firsts = (first.start() for first in _FIRST.finditer(text, max(at, len(text) - LONGEST)))
    return (start for start in firsts if text[start:] in _PREFIXES)


def _suffix_of(text: str) -> int:
    return next(_starts(text, 0), len(text))
