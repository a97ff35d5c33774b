"""Whether a call is new, or repeats an earlier call of the answer.

One rule for all protocols: an id names one call of an answer. The same id and name, with no arguments or with
arguments that mean the same, is the same call, sent again; with other arguments it is another call, which gets a new
id. Calls with different ids are different calls, however alike, and so are the calls of a server that gives no ids.
A call that means the same as an earlier one, but whose id was lost or changed, is that call, sent again: it has no id
and the earlier one has; it is of another answer, because a gateway asked its upstream again in the middle of the
stream; or no kind of event contained both, although each kind contains a call once (Responses). The meaning is the
value: spaces, the order of keys and encoding twice do not count. Arguments are compared only in these cases, and if
an id arrives twice.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from ..mend.arguments import Finish, mend_arguments
from ..mend.names import mend_name
from ..mend.shape.shape import mend_shape
from ..tools.declared import Tools
from .fragments import is_empty

_LONG: Final = 4096
"""Arguments with more characters are compared as text."""


class Arrival(NamedTuple):
    """How a call arrived: this decides whether it can be an earlier call that means the same."""

    has_id: bool = False
    """It has an id of its own, not just its index or another call's id."""
    answer_id: str = ""
    """The id of the answer in which it began."""
    events: frozenset[str] = frozenset()
    """The kinds of events that contained it, in protocols in which several do."""

    def may_repeat(self, earlier: Arrival) -> bool:
        """Whether a call that arrived like this may be an earlier one, whose id was lost or changed."""
        lost_its_id = earlier.has_id and not self.has_id
        in_other_events = bool(self.events and earlier.events) and self.events.isdisjoint(earlier.events)
        return lost_its_id or in_other_events or self.answer_id != earlier.answer_id


@dataclass(slots=True)
class ComparedCall:
    """A call in the form in which it is compared with the other calls of the answer."""

    key: str
    """Its id, or else its index or item. Empty if it has none of these: then it is always a new call."""
    name: str
    arguments: str
    fallback_key: str = ""
    """The index or item it arrived at: a call without an id that arrives there again is the same call."""
    certain: bool = True
    """False if its fragments may belong to another call."""
    restated: bool = False
    """It is from a message that repeats the whole answer, or was matched with a call in such a message."""
    arrival: Arrival = field(default_factory=Arrival)
    out: bool = False
    """It was sent, at least in part."""
    sent_whole: bool = False
    """It repeats a call that was sent."""
    kept: bool = True
    """The client gets it: it repeats no earlier call, and no later one replaced it."""
    _meaning: tuple[bool, bytes] | None = field(default=None, repr=False)

    @property
    def blank(self) -> bool:
        return is_empty(self.arguments)

    @property
    def meaning(self) -> tuple[bool, bytes]:
        if self._meaning is None:
            self._meaning = meaning_of(self.arguments)
        return self._meaning

    @property
    def readable(self) -> bool:
        return self.certain and self.meaning[0]


class ResentCalls:
    """The calls of one answer so far."""

    __slots__ = ("_arrivals", "_by_key", "_by_meaning", "_calls", "_full_names", "_tools", "_unread", "_values")

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._calls: list[ComparedCall] = []
        self._by_key: dict[str, list[ComparedCall]] = {}
        self._full_names: dict[str, str] = {}
        self._values: dict[str, set[str]] = {}
        """The mended values of calls, by key, for keys that arrived more than once."""
        self._unread: list[ComparedCall] = []
        """Calls that are not in `_by_meaning` yet."""
        self._by_meaning: dict[tuple[str, bytes], list[ComparedCall]] = {}
        """Calls by name and meaning, one for each way to arrive: filled when a call arrives that may repeat one."""
        self._arrivals: dict[Arrival, None] = {}
        """How the calls so far arrived."""

    def knows(self, key: str) -> bool:
        """Whether a call with this id has already arrived."""
        return bool(key) and key in self._by_key

    def compare(self, calls: list[ComparedCall]) -> None:
        """Decide which of these calls the client gets (`kept`), and remember them. Each call is sent only once; one
        that was sent in part is continued or refused."""
        for call in calls:
            call.sent_whole = self._repeats(call)
            call.kept = call.out or not call.sent_whole
            if not call.kept:
                continue
            self._calls.append(call)
            self._unread.append(call)
            self._arrivals[call.arrival] = None
            for key in {call.key, call.fallback_key} - {""}:
                self._by_key.setdefault(key, []).append(call)
        for call in calls:
            call.out = True

    def _repeats(self, call: ComparedCall) -> bool:
        """Whether a call is an earlier one, sent again; an earlier one that it completes is no longer kept."""
        if call.restated:
            return self._restates(call)
        earlier = [one for one in self._by_key.get(call.key, ()) if one.kept and self._same_name(one, call)]
        if not earlier:
            return self._repeats_under_another_id(call)
        if call.blank or any(_only_repeats(one, call) for one in earlier):
            return True
        if self._mended_alike(call, earlier) or _is_beginning(call, earlier[-1]):
            return True
        _drop_if_lesser(earlier[-1], call)
        return self._repeats_under_another_id(call)

    def _repeats_under_another_id(self, call: ComparedCall) -> bool:
        """Whether a call means the same as an earlier one, whose id it lost or changed."""
        arrival = call.arrival
        if not call.certain or not any(arrival.may_repeat(earlier) for earlier in self._arrivals):
            return False
        unread, self._unread = self._unread, []
        for one in unread:
            alike = self._by_meaning.setdefault((self._full(one.name), one.meaning[1]), [])
            if one.certain and not any(
                known.arrival == one.arrival and known.readable >= one.readable for known in alike
            ):
                alike.append(one)
        found = self._by_meaning.get((self._full(call.name), call.meaning[1]), ())
        return any(arrival.may_repeat(one.arrival) and one.kept and _only_repeats(one, call) for one in found)

    def _mended_alike(self, call: ComparedCall, earlier: list[ComparedCall]) -> bool:
        """Whether the call equals one of these once its shape is mended: `"timeout": "1"` is `"timeout": 1`.

        Each call is mended only once for this, however often its id arrives.
        """
        values = self._values.get(call.key)
        if values is None:
            values = self._values[call.key] = {self._mended(one) for one in earlier if one.certain}
        mended = self._mended(call) if call.certain else ""
        known = bool(mended) and mended in values
        values.add(mended)
        return known

    def _mended(self, call: ComparedCall) -> str:
        """The tool and the mended arguments as text; empty if either cannot be determined."""
        tool = self._tools.get(self._full(call.name))
        value = mend_arguments(call.arguments, Finish.CUT).value if tool is not None else None
        if tool is None or value is None:
            return ""
        return f"{tool.name} {_written(mend_shape(value, tool).value)}"

    def _restates(self, call: ComparedCall) -> bool:
        """Whether a call in a message that repeats the answer arrived before.

        If the earlier call was not sent, and it is broken or lacks the arguments of this one, this one replaces it.
        """
        kept = [one for one in self._calls if one.kept and self._same_name(one, call)]
        if call.key and any(one.restated and one.key == call.key and _only_repeats(one, call) for one in kept):
            return True
        before = [one for one in kept if not one.restated]
        found = (
            next((one for one in before if call.key and one.key == call.key), None)
            or next((one for one in before if _only_repeats(one, call)), None)
            or next(iter(before), None)
        )
        if found is None:
            return False
        # Each earlier call matches only one call of the message.
        found.restated = True
        if found.out or not call.readable or (found.readable and (call.blank or not found.blank)):
            return True
        found.kept = False
        return False

    def _same_name(self, one: ComparedCall, other: ComparedCall) -> bool:
        if not other.name or one.name == other.name:
            return True
        return self._full(one.name) == self._full(other.name)

    def _full(self, name: str) -> str:
        if name not in self._full_names:
            self._full_names[name] = mend_name(name, self._tools).name
        return self._full_names[name]


def _mean_the_same(one: ComparedCall, other: ComparedCall) -> bool:
    """Whether two calls have arguments of the same meaning, both with certainty."""
    return one.certain and other.certain and one.meaning[1] == other.meaning[1]


def _only_repeats(one: ComparedCall, other: ComparedCall) -> bool:
    """Whether the second call only repeats the first."""
    return _mean_the_same(one, other) and (one.readable or not other.readable)


def _is_beginning(call: ComparedCall, earlier: ComparedCall) -> bool:
    """Whether the arguments of a call are only the beginning of those of an earlier one."""
    return not call.readable and earlier.arguments.startswith(call.arguments)


def _drop_if_lesser(earlier: ComparedCall, call: ComparedCall) -> None:
    """Keep a call instead of an earlier one that was not sent and is empty, doubtful, or only its beginning."""
    begins = not earlier.readable and (_mean_the_same(earlier, call) or call.arguments.startswith(earlier.arguments))
    lesser = earlier.blank or not earlier.certain or begins
    if lesser and not earlier.out and call.readable:
        earlier.kept = False


def brief_meaning(arguments: str) -> bytes:
    """A hash, equal for arguments that mean the same. Long ones must be the same text: parsing them takes long."""
    if len(arguments) > _LONG:
        return hashlib.sha256(arguments.encode("utf-8", "surrogatepass")).digest()
    return meaning_of(arguments)[1]


def meaning_of(arguments: str) -> tuple[bool, bytes]:
    """Whether the arguments can be read without closing them, and a hash, equal for all that mean the same."""
    value = mend_arguments(arguments, Finish.CUT).value
    readable = value is not None
    if value is None:  # A bracket is missing, but the call may still mean the same as another.
        value = mend_arguments(arguments, Finish.COMPLETE).value
    try:
        text = arguments if value is None else _written(value)
    except (ValueError, RecursionError):
        readable, text = False, arguments
    return readable, hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _written(value: Any) -> str:
    """A value in canonical form."""
    return json.dumps(_plain(value), sort_keys=True)


def _plain(value: Any) -> Any:
    """The value with whole floats as integers, so that 1.0 equals 1."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
