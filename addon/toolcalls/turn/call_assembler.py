"""What the assemblers of fragments and of blocks have in common: whether a fragment may belong to another call."""

from __future__ import annotations

from typing import Generic, TypeVar

from ..tools.declared import Tools
from ..work import Work
from .assembled_call import AssembledCall
from .calls_at_index import CallsByIndex, refuse
from .fragments import may_begin

C = TypeVar("C", bound=AssembledCall)


class CallAssembler(Generic[C]):
    """The calls of one answer that were not released yet, in the order in which they began."""

    __slots__ = ("_calls_by_index", "_incomplete", "_tools", "_work", "answer_id", "calls")

    def __init__(self, tools: Tools, work: Work) -> None:
        """`work`: the work budget of the response."""
        self._tools = tools
        self._work = work
        self.calls: list[C] = []
        self._calls_by_index = CallsByIndex()
        self._incomplete: list[C] = []
        """The calls whose arguments look incomplete, and some that have been completed or have ended since."""
        self.answer_id = ""
        """The id of the answer as it arrives now: another one means that the answer began again."""

    def others_incomplete(self, call: C) -> list[C]:
        """The other calls that are incomplete. If there are any, each fragment is looked at: it may be theirs."""
        self._incomplete = [one for one in self._incomplete if not (one.ended or one.looks_complete())]
        return [one for one in self._incomplete if one is not call]

    def _refuse_if_stray(self, call: C, text: str) -> None:
        """Refuse a call that looks complete but gets more, and all incomplete calls: the text may be theirs."""
        if text.strip() and not may_begin(text) and call.looks_complete():
            others = self.others_incomplete(call)
            refuse([call, *others] if others else ())
