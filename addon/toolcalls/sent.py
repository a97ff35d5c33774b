"""What the client has: each call of an answer is sent once, however often the upstream sends it."""

from __future__ import annotations

from .call import Call
from .fragments import is_empty
from .mend.arguments import mend_arguments
from .mend.finish import Finish
from .mend.names import mend_name
from .mend.shape import mend_shape
from .payload import canonical
from .tools.declared import Tools


class Sent:
    """The calls that the client has: each call of an answer is sent once.

    An id names one call. The same id and name with no arguments, or with arguments that mean the same, is the same
    call, sent again; with other arguments it is another call, which gets a new id. Without an id, or in an answer
    that began again, a call that means the same as an earlier one is that call. Calls with ids of their own are two
    calls, however alike, and so are the calls of a server that gives no ids. A call of an event that repeats the
    answer is new only if no earlier call is left that it may be.
    """

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self.calls: list[Call] = []
        self._values: dict[int, str | None] = {}

    def knows(self, key: str) -> bool:
        """Whether the client has a call with this id."""
        return any(key in one.keys or key in one.ids for one in self.calls)

    def new(self, calls: list[Call]) -> list[Call]:
        """These calls without those that the client has; one that completes another of the list replaces it."""
        kept: list[Call] = []
        named = {call.id.casefold() for call in calls if call.fragments[0].again and call.id}
        for call in calls:
            name = mend_name(call.name, self._tools).name
            earlier = [
                one
                for one in (*self.calls, *kept)
                if call.name in ("", one.name) or mend_name(one.name, self._tools).name == name
            ]
            if call.fragments[0].again:
                lesser = self._restates(call, earlier, kept, named)
            elif any(self._repeats(one, call) for one in earlier):
                lesser = call
            else:
                lesser = next((one for one in kept if one in earlier and self._completes(one, call)), None)
            if lesser is call:
                continue
            if lesser is not None:
                kept.remove(lesser)
            kept.append(call)
        self.calls += kept
        return kept

    def _restates(self, call: Call, earlier: list[Call], kept: list[Call], named: set[str]) -> Call | None:
        """What gives way to a call of an event that repeats the answer: itself, an earlier call, or none.

        `named`: the ids that the event names.
        """
        for one in earlier:
            same = _same_id(one, call) if call.id else bool(one.id)
            if one.restated and same and ((call.id and is_empty(call.arguments)) or self._alike(one, call)):
                return call
        left = [one for one in earlier if not one.restated]
        free = [one for one in left if named.isdisjoint({one.id.casefold(), *one.keys})]
        fits = [one for one in left if _same_id(one, call)] or free
        if not fits:
            return None
        fits[0].restated = True
        lacks = not _readable(fits[0]) or (is_empty(fits[0].arguments) and not is_empty(call.arguments))
        return fits[0] if fits[0] in kept and _readable(call) and lacks else call

    def _repeats(self, one: Call, call: Call) -> bool:
        """Whether a call is an earlier one, sent again."""
        if _same_id(one, call):
            begins = not _readable(call) and one.arguments.startswith(call.arguments)
            return is_empty(call.arguments) or begins or self._alike(one, call)
        lost_its_id = bool(one.id) and not call.id
        certain = not (one.refusal or call.refusal)
        first, again = one.fragments[0], call.fragments[0]
        return certain and (lost_its_id or first.answer_id != again.answer_id) and self._alike(one, call)

    def _completes(self, one: Call, call: Call) -> bool:
        """Whether an earlier call with this id, of which nothing was sent, is only the beginning of this one."""
        if not _same_id(one, call) or not _readable(call):
            return False
        return is_empty(one.arguments) or (not _readable(one) and call.arguments.startswith(one.arguments))

    def _alike(self, one: Call, call: Call) -> bool:
        """Whether the second call says no more than the first: by value, and once the shape is mended."""
        if one.meaning[1] == call.meaning[1]:
            return _readable(one) or not _readable(call)
        mended = self._mended(call)
        return mended is not None and mended == self._mended(one)

    def _mended(self, call: Call) -> str | None:
        if id(call) not in self._values:
            tool = mend_name(call.name, self._tools).tool
            value = mend_arguments(call.arguments, Finish.CUT).value if tool is not None else None
            self._values[id(call)] = (
                None if tool is None or value is None else canonical(mend_shape(value, tool).value)
            )
        return self._values[id(call)]


def _same_id(one: Call, call: Call) -> bool:
    return bool(call.id) and call.id.casefold() in {one.id.casefold(), *one.keys, *map(str.casefold, one.ids)}


def _readable(call: Call) -> bool:
    """Whether the arguments can be read without closing them."""
    return call.meaning[0]
