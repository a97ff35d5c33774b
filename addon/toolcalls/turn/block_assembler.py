"""Which call a fragment belongs to, if each call has an event for its beginning and one for its end.

Fragments have no id here, and indices are shared, repeated or missing. A fragment goes to the last call that began at
its index; without an index, to the last that began. At an unknown index it goes to the only call that has not ended,
if that has no fragments yet; else to no known call. Whether the gathered calls may run is decided in
`calls_at_index.py`: there, an index counts from the beginning of a call until every call that began there has ended.
"""

from __future__ import annotations

from ..mend.finish import Finish
from ..tools.declared import Tools
from ..wire.events import MOST_CALLS, LimitReached
from ..work import Work
from .block_call import BlockCall
from .call_assembler import CallAssembler
from .calls_at_index import refuse
from .fragments import may_begin
from .parts import CallStart, Fragment, Index


class BlockAssembler(CallAssembler[BlockCall]):
    __slots__ = ("_at", "_count", "_last", "_unended")

    def __init__(self, tools: Tools, work: Work) -> None:
        super().__init__(tools, work)
        self._at: dict[Index, BlockCall] = {}
        self._unended: dict[int, BlockCall] = {}
        self._last: BlockCall | None = None
        self._count = 0

    def begin(self, start: CallStart) -> BlockCall:
        """The call of a start event: a new call, or one whose start is repeated or follows its first fragments."""
        here = self._at.get(start.index)
        if here is not None and not here.ended:
            begins_again = start.id and start.id == here.id and start.name == here.name
            if not here.started or (begins_again and not (here.fragments and here.is_whole())):
                again = here.started
                here.extra = {**start.extra, **here.extra}
                here.given = here.given or start.given
                here.started = True
                here.id = here.key = start.id
                here.names = [start.name] if start.name else []
                if here.fragments and (begins_again or not again):
                    # The fragments may belong to a call whose beginning was lost, so they must be valid as they are.
                    self._calls_by_index.at(start.index).require_all_or_none()
                return here
            self._end(here)
        return self._begin(start, started=True)

    def note_that_more_follows(self) -> None:
        """Note that something else begins: if the answer is cut off later, the last call is not affected."""
        if self._last is not None:
            self._last.followed = True
            self._last = None

    def add(self, fragment: Fragment) -> BlockCall | None:
        """Take a fragment and return the call that it is added to; None if that call has ended and lacks nothing."""
        index = fragment.index
        here = self._at.get(index)
        if here is None:
            only = next(iter(self._unended.values())) if len(self._unended) == 1 else None
            if only is None or only.fragments:
                stray = bool(self._unended) and not may_begin(fragment.arguments)
                begun = self._begin(CallStart(index, "", ""), started=False)
                if stray:
                    # It cannot begin arguments, so it belongs to a call that has not ended.
                    self._calls_by_index.without_index.distrust()
                begun.add(fragment.arguments)
                return begun
            # This server counts fragments differently from start events.
            here = self._at[index] = only
            self._calls_by_index.continue_at(index, only)
        if here.ended and not here.all_or_none:
            if here.done or here.is_whole():
                if self._unended and not (fragment.has_index and _repeats(here, fragment.arguments)):
                    # It may belong to a call that has not ended.
                    self._calls_by_index.without_index.distrust()
                return None
            here.ended = False
            self._unended[id(here)] = here
        self._refuse_if_stray(here, fragment.arguments)
        self._calls_by_index.note_fragment(index, here, sure=False, has_index=fragment.has_index)
        here.add(fragment.arguments)
        return here

    def end(self, index: Index) -> BlockCall | None:
        """Note the end of a block and return its call, if it is one."""
        self._calls_by_index.end(index)
        here = self._at.get(index)
        if here is None or here.ended:
            return None
        self._end(here)
        return here

    def judge(self, *live: BlockCall, complete: bool) -> None:
        """Refuse the calls that cannot be trusted: all of them, if fragments arrived without a start event.

        `live`: calls of which the client has a part.
        """
        for at_index in self._calls_by_index.all:
            at_index.judge(complete=complete)
        calls = [*live, *self.calls]
        if any(not call.started and call.fragments for call in calls):
            refuse(calls)

    def hand_out(self, finish: Finish) -> list[BlockCall]:
        """Remove and return all calls."""
        self.judge(complete=finish is Finish.COMPLETE)
        calls, self.calls = self.calls, []
        return calls

    def _end(self, call: BlockCall) -> None:
        call.ended = True
        self._unended.pop(id(call), None)

    def _begin(self, start: CallStart, *, started: bool) -> BlockCall:
        """Add a new call. `started`: its start event has arrived."""
        if self._count >= MOST_CALLS:
            raise LimitReached
        self.note_that_more_follows()
        key = f"call {self._count}"
        call = BlockCall.of_start(start, started=started, held_under=key, work=self._work, tools=self._tools)
        self._count += 1
        call.answer_id = self.answer_id
        self.calls.append(call)
        self._incomplete.append(call)
        self._unended[id(call)] = call
        self._at[start.index] = self._last = call
        self._calls_by_index.begin(start.index, call)
        return call


def _repeats(call: BlockCall, text: str) -> bool:
    """Whether the text is blank or repeats all arguments of the call."""
    return not text.strip() or text == "".join(call.fragments)
