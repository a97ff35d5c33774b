"""The calls of a history: repetitions, ids of ours, missing names, and arguments that are no JSON object.

The call has already failed or run: it only matters that the upstream can read it. Why the model stopped is not known
any more, so nothing that was cut off is completed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeGuard

from ..ids import MARK, restore
from ..mend.arguments import Finish, Mended, mend_arguments
from ..mend.names import tool_that_fits
from ..mend.strict import write
from ..sizes import parts_in
from ..tools.declared import INVALID
from .change import Change
from .history import History, Json, PastCall

ARGUMENTS_LEFT = "arguments left as they came"
NAME_LEFT = "name left as it came"
_BROKEN = 100
"""What broken arguments, or a name that is none, count at least."""
MAX_KNOWN = 65_536


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON value")


_read = json.JSONDecoder(parse_constant=_no_constant).decode


@lru_cache
def _one(keys: frozenset[str]) -> frozenset[str]:
    """Each set once: most calls of a tool have the same keys."""
    return keys


class KnownArguments(dict[int, frozenset[str]]):
    """The keys of argument texts, by hash, because every request contains the whole history again.

    If there are too many, all are forgotten.
    """

    def keys_of(self, written: str) -> frozenset[str] | None:
        """The keys of the object that this text is; None if it is not one strict JSON object."""
        known = self.get(hash(written))
        if known is not None:
            return known
        try:
            value = _read(written)
        except (ValueError, RecursionError):
            return None
        if type(value) is not dict:
            return None
        if len(self) >= MAX_KNOWN:
            self.clear()
        self[hash(written)] = keys = _one(frozenset(value))
        return keys


known_arguments = KnownArguments()
"""Shared by all requests, because every turn sends the history again."""


class Calls:
    """The calls of one history, turn by turn."""

    def __init__(self, history: History, change: Change) -> None:
        self._history = history
        self._change = change
        self.noted: dict[str, PastCall] = {}
        """The calls so far, by the id that the client knows."""
        self.named: dict[str, str] = {}
        """The names that were given to calls without a name, by the ids that the client knows."""
        self._read: dict[str, Mended] = {}
        """Broken arguments that were read: the arguments, a name and the guidance need them."""

    def mend(self, calls: Sequence[PastCall]) -> None:
        """Mend the calls of a turn."""
        ours = False
        for call in calls:
            self.noted[call.id] = call
            if call.key and self._change.policy.request:
                self.mend_call(call)
            ours = ours or MARK in call.id
        if ours:
            self._give_back_ids(calls)

    def mend_call(self, call: PastCall) -> None:
        """Mend the name and the arguments of a call."""
        name, given = call.name, call.given
        if not self._history.by_number and not is_name(name):
            name = self._mend_name(call)
        if self._history.writes_arguments:
            sound = type(given) is str and known_arguments.keys_of(given) is not None
        else:
            sound = type(given) is dict
        if not sound and self._change.touches(name):
            self._mend_arguments(call)

    def _mend_arguments(self, call: PastCall) -> None:
        change, given = self._change, call.given
        change.begin()
        meant = self.meant(given)
        if meant is None:
            change.count(ARGUMENTS_LEFT)
            return
        written = write(meant) if self._history.writes_arguments else meant
        if written != given:
            change.count("arguments")
            call.body[call.key] = written

    def _mend_name(self, call: PastCall) -> str:
        """The name for a call without one: that of the only tool that its arguments fit, or else of the invalid tool.

        Hosts reject a history with an empty name for ever, and the result needs a call.
        """
        change = self._change
        change.begin()
        if not change.may_mend(_BROKEN + len(change.tools)):
            change.count(NAME_LEFT)
            return ""
        tool = tool_that_fits(self.meant(call.given), change.tools)
        if tool is not None and tool.namespace is None and is_name(tool.name):
            good = tool.name
        else:
            good = change.tools.invalid(change.policy.invalid_tool) or INVALID
        change.count("name")
        call.body["name"] = self.named[call.id] = good
        return good

    def meant(self, given: object) -> Json | None:
        """The arguments that were meant; None if the history has more broken arguments than can be mended.

        Calls are mended from first to last, so that the next turn leaves the same ones unchanged.
        """
        if isinstance(given, list) and len(given) == 1:
            [given] = given
        if not isinstance(given, str):
            return given if isinstance(given, dict) else {}
        found, change = self._read.get(given), self._change
        if found is None and change.left >= 0:
            found = mend_arguments(given, Finish.UNKNOWN)
            if found.status != "valid" and not change.may_mend(_BROKEN + parts_in(given)):
                return None
            self._read[given] = found
        return None if found is None else found.value or {}

    def _give_back_ids(self, calls: Sequence[PastCall]) -> None:
        """Turn ids of ours back into the upstream's, in the calls of one turn."""
        taken = {call.id for call in calls}
        seen: set[str] = set()
        for call in calls:
            original = restore(call.id)
            if original is None:
                continue
            if original in taken and not self._history.by_number and call.id not in seen:
                # The upstream gave one id to two calls of a turn, but does not accept that in a history.
                self._change.given[call.id] = call.id
                continue
            taken.add(original)
            seen.add(call.id)
            self._change.given[call.id] = original
            self._change.count("id")
            self._history.set_id(call, original)


def is_name(name: object) -> TypeGuard[str]:
    """Whether this can be the name of a tool: it has a letter or a digit."""
    return isinstance(name, str) and (name[:1].isalnum() or any(map(str.isalnum, name)))
