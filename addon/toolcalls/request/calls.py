"""The calls of a history: ids of ours, missing names, and arguments that are no JSON object; and what was changed.

A call has already failed or run: it only matters that the upstream can read it. Why the model stopped is not known
any more, so nothing that was cut off is completed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from ..ids import restore
from ..mend.arguments import Finish, Mended, mend_arguments
from ..mend.names import tool_that_fits
from ..mend.strict import no_constant, write
from ..policy import Policy
from ..reasons import Refusal
from ..sizes import parts_in
from ..tools.declared import INVALID, Tools
from .history import History, PastCall, Turn
from .refusals import Refusals

ARGUMENTS_LEFT = "arguments left as they came"
NAME_LEFT = "name left as it came"
MAX_KNOWN = 16_384
_MOST_BROKEN = 30_000
"""The size of all that is mended in a history: 300 short arguments or 20 of 3 KB."""
_BROKEN = 100
"""What broken arguments, or a name that is none, count at least."""


class ChangeNeeded(Exception):
    """Something has to be changed, and this request is only read."""


@dataclass(slots=True)
class Change:
    """One mending of a request. Every pass calls `count` before it changes something."""

    policy: Policy
    refusals: Refusals
    tools: Tools
    reading: bool
    """Nothing is changed: the first thing that would be raises `ChangeNeeded`."""
    steps: dict[str, int] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    """Why calls of this history were refused, by the id that the client knows."""
    left: int = _MOST_BROKEN
    """How much more is mended; below 0, the rest is sent unchanged."""
    read: dict[str, Mended] = field(default_factory=dict)
    """Broken arguments that were read: the arguments, a name and the guidance need them."""
    invalid: str = field(init=False)
    """The name for calls that no tool can take."""

    def __post_init__(self) -> None:
        self.invalid = self.tools.invalid(self.policy.invalid_tool) or INVALID

    def count(self, step: str, times: int = 1) -> None:
        if times:
            if self.reading:
                raise ChangeNeeded
            self.steps[step] = self.steps.get(step, 0) + times

    def touches(self, name: object) -> bool:
        """Whether calls of this tool are mended."""
        return self.policy.request and (not isinstance(name, str) or self.policy.touches(name))

    def may_mend(self, size: int) -> bool:
        """Whether something of this size is still mended; once it is not, nothing more is."""
        self.left -= _BROKEN + size
        return self.left >= 0

    def meant(self, given: object) -> dict[str, Any] | None:
        """The arguments that were meant; None if the history has more broken arguments than can be mended.

        Calls are mended from first to last, so that the next turn leaves the same ones unchanged.
        """
        if isinstance(given, list) and len(given) == 1:
            [given] = given
        if not isinstance(given, str):
            return given if isinstance(given, dict) else {}
        found = self.read.get(given)
        if found is None and self.left >= 0:
            found = mend_arguments(given, Finish.UNKNOWN)
            if found.status != "valid" and not self.may_mend(parts_in(given)):
                return None
            self.read[given] = found
        return None if found is None else found.value or {}


known_keys: dict[int, frozenset[str]] = {}
"""The keys of argument texts, by hash, because every request contains the whole history again."""


def keys_of(written: str) -> frozenset[str] | None:
    """The keys of the object that this text is; None if it is not one strict JSON object."""
    known = known_keys.get(hash(written))
    if known is not None:
        return known
    try:
        value = json.loads(written, parse_constant=no_constant)
    except (Refusal, ValueError, RecursionError):
        return None
    if type(value) is not dict:
        return None
    if len(known_keys) >= MAX_KNOWN:
        known_keys.clear()
    known_keys[hash(written)] = keys = frozenset(value)
    return keys


def mend_calls(turn: Turn, history: History, change: Change) -> None:
    """Mend the names and arguments of a turn's calls."""
    for call in turn.calls:
        if not call.key:
            continue
        if not (history.by_number or _is_name(call.name)):
            _mend_name(call, turn, change)
        given = call.arguments
        sound = type(given) is dict
        if history.writes_arguments:
            sound = type(given) is str and keys_of(given) is not None
        if not sound and change.touches(call.name):
            meant = change.meant(given)
            change.count(ARGUMENTS_LEFT if meant is None else "arguments")
            if meant is not None:
                call.body[call.key] = write(meant) if history.writes_arguments else meant


def give_back_ids(turn: Turn, history: History, change: Change) -> None:
    """Turn ids of ours back into the upstream's."""
    taken = {call.id for call in turn.calls}
    originals: dict[str, str] = {}
    for call in turn.calls:
        original = originals.get(call.id) or restore(call.id)
        # If the upstream gave one id to two calls of a turn, it does not accept that in a history.
        if original is not None and (original not in taken or history.by_number or call.id in originals):
            originals[call.id] = original
            taken.add(original)
            change.count("id")
            history.set_id(call, original)


def _mend_name(call: PastCall, turn: Turn, change: Change) -> None:
    """Give a call without a name that of the only tool that its arguments fit, or else of the invalid tool.

    Hosts reject a history with an empty name for ever, and the result needs a call.
    """
    if not change.may_mend(len(change.tools)):
        change.count(NAME_LEFT)
        return
    tool = tool_that_fits(change.meant(call.arguments), change.tools)
    fits = tool is not None and tool.namespace is None and _is_name(tool.name)
    change.count("name")
    call.body["name"] = tool.name if tool is not None and fits else change.invalid
    for result in turn.results:
        if result.call is call and "name" in result.body:
            result.body["name"] = call.name


def _is_name(name: object) -> TypeGuard[str]:
    """Whether this can be the name of a tool: it has a letter or a digit."""
    return isinstance(name, str) and (name[:1].isalnum() or any(map(str.isalnum, name)))
