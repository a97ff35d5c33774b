"""How an answer ended, and which finish reason is true, given the calls that were really sent.

What a reason means for incomplete calls is in `mend/finish.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from .mend.finish import Finish
from .parts import Stop

_NEEDS_CALLS: Final = frozenset({"tool_calls", "function_call", "tool_use"})
"""Reasons after which an agent expects calls: if there are none, it asks again and again."""
_JUST_STOPPED: Final = frozenset({"", "stop", "end_turn", "eos"}) | _NEEDS_CALLS


@dataclass(slots=True, frozen=True)
class FinishWords:
    """A protocol's words for why the model stopped."""

    calls: str
    """It wants the results of calls."""
    stop: str
    """It is done."""
    others: frozenset[str] = frozenset()
    """Further words for "it stopped", besides those that count in every protocol."""


@dataclass(slots=True)
class End:
    """What is known of the end of one answer.

    | what happened | a call that lacks its end | the reason that the client gets |
    | --- | --- | --- |
    | a reason came | by the worst reason (`Finish`) | the true one |
    | a call went on behind it | as if no reason had come | the true one |
    | the limit of tokens was reached, or the model refused | was cut off | the true one |
    | the upstream failed | is dropped | the one that came, if one did |
    | the stream broke off, or a cut call was refused | was cut off | the one that came, if one did |
    | a call goes as it came, because the options say so | as it came | the one that came, if one did |
    | the client has half a call that is refused | that is all of it | as it came |
    """

    words: FinishWords
    limit: int | None
    """How many tokens the answer may have."""
    reasons: list[str] = field(default_factory=list)
    worst: Finish | None = None
    """The worst that a reason means for incomplete calls."""
    cut_off: bool = False
    """It has as many tokens as the request allows, or the model refused: whatever the reason says, it was cut off."""
    failed: bool = False
    """A reason says that the upstream failed."""
    went_on: bool = False
    """A call went on behind the reasons, which say nothing about it then."""
    broken: bool = False
    """The upstream failed, or a call was cut off: no reason is made up."""
    left_alone: bool = False
    """A call went as it came, because the options say so: no end is made up."""
    left_half: bool = False
    """The client has half a call: its reason stays as it came."""

    def note_tokens(self, tokens: int) -> None:
        self.cut_off = self.cut_off or (self.limit is not None and 0 < self.limit <= tokens)

    def note(self, finish: Finish) -> None:
        """Something says how the answer ended."""
        known = {self.worst, finish}
        self.worst = next(one for one in (Finish.CUT, Finish.UNKNOWN, Finish.COMPLETE) if one in known)

    def finish_of(self, stop: Stop) -> Finish:
        """What a reason means for calls that are not complete."""
        self.note_tokens(stop.tokens)
        self.failed = self.failed or stop.failed
        return Finish.CUT if self.cut_off else stop.finish

    def trusted(self, finish: Finish) -> Finish:
        """How the answer ended, by the reasons that arrived; else `finish`."""
        if self.went_on or self.worst is None:
            return finish
        return Finish.CUT if self.cut_off else self.worst

    def truth(self, reasons: Sequence[str], *, calls: bool, other_tools: bool) -> str:
        """The true one of these reasons: the first that names a limit, else what the calls of the client say, else
        the last. Empty if there is none. `other_tools`: the server called tools of its own."""
        words, stopped = self.words, _JUST_STOPPED | self.words.others
        limit = next((reason for reason in reasons if reason.lower() not in stopped), None)
        last = reasons[-1] if reasons else ""
        if limit is not None or (self.left_half and reasons):
            return limit or last
        if calls:
            return words.calls
        loops = last == words.calls != words.stop or last.lower() in _NEEDS_CALLS
        return words.stop if loops and not other_tools else last
