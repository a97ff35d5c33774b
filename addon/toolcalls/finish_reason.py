"""How an answer ended, and which finish reason is true, given the calls that were really sent.

What a reason means for incomplete calls is in `mend/finish.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from .mend.finish import Finish

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
    finishes: set[Finish] = field(default_factory=set)
    """What they mean for incomplete calls; the worst counts."""
    called: bool = False
    """The client has a call that it has to run."""
    other_tools: bool = False
    """The answer has calls that pass as they came, of tools that are not the client's to run."""
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

    def true_reason(self, *alone: str) -> str:
        """The true one of the reasons that came, or of this one `alone`: the first that names a limit, else what the
        calls of the client say, else the last."""
        reasons, words = alone or self.reasons, self.words
        last = reasons[-1] if reasons else ""
        stopped = _JUST_STOPPED | words.others
        limit = next((reason for reason in reasons if reason.lower() not in stopped), None)
        if limit is not None or (self.left_half and reasons):
            return limit or last
        if self.called:
            return words.calls
        loops = last == words.calls != words.stop or last.lower() in _NEEDS_CALLS
        return words.stop if not last or (loops and not self.other_tools) else last
