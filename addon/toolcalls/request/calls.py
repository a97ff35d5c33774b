"""The calls of a history: ids of ours, missing names, and arguments that are no JSON object.

The call has already failed or run: it only matters that the upstream can read it. Why the model stopped is not known
any more, so nothing that was cut off is completed.
"""

from __future__ import annotations

import json
from typing import Any, TypeGuard

from ..ids import MARK, restore
from ..mend.names import tool_that_fits
from ..mend.strict import write
from .change import Change
from .history import History, PastCall, Turn

ARGUMENTS_LEFT = "arguments left as they came"
NAME_LEFT = "name left as it came"
MAX_KNOWN = 16_384


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON value")


known_keys: dict[int, frozenset[str]] = {}
"""The keys of argument texts, by hash, because every request contains the whole history again."""


def keys_of(written: str) -> frozenset[str] | None:
    """The keys of the object that this text is; None if it is not one strict JSON object."""
    known = known_keys.get(hash(written))
    if known is not None:
        return known
    try:
        value = json.loads(written, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return None
    if type(value) is not dict:
        return None
    if len(known_keys) >= MAX_KNOWN:
        known_keys.clear()
    known_keys[hash(written)] = keys = frozenset(value)
    return keys


def mend_calls(turn: Turn, history: History, change: Change) -> None:
    """Mend the names and arguments of a turn's calls, and turn ids of ours back into the upstream's."""
    ours = False
    for call in turn.calls:
        ours = ours or MARK in call.id
        if not (call.key and change.policy.request):
            continue
        if not history.by_number and not _is_name(call.name):
            _mend_name(call, change)
        given = call.arguments
        sound = type(given) is dict
        if history.writes_arguments:
            sound = type(given) is str and keys_of(given) is not None
        if not sound and change.touches(call.name):
            meant = change.meant(given)
            change.count(ARGUMENTS_LEFT if meant is None else "arguments")
            if meant is not None:
                call.body[call.key] = write(meant) if history.writes_arguments else meant
    if ours:
        _give_back_ids(turn, history, change)


def _mend_name(call: PastCall, change: Change) -> None:
    """Give a call without a name that of the only tool that its arguments fit, or else of the invalid tool.

    Hosts reject a history with an empty name for ever, and the result needs a call.
    """
    if not change.may_mend(len(change.tools)):
        change.count(NAME_LEFT)
        return
    tool = tool_that_fits(change.meant(call.arguments), change.tools)
    fits = tool is not None and tool.namespace is None and _is_name(tool.name)
    change.count("name")
    call.body["name"], call.named = tool.name if tool is not None and fits else change.invalid, True


def _is_name(name: object) -> TypeGuard[str]:
    """Whether this can be the name of a tool: it has a letter or a digit."""
    return isinstance(name, str) and (name[:1].isalnum() or any(map(str.isalnum, name)))


def _give_back_ids(turn: Turn, history: History, change: Change) -> None:
    taken = {call.id for call in turn.calls}
    seen: set[str] = set()
    for call in turn.calls:
        original = restore(call.id)
        if original is None or (original in taken and not history.by_number and call.id not in seen):
            # The upstream gave one id to two calls of a turn, but does not accept that in a history.
            continue
        taken.add(original)
        seen.add(call.id)
        if original != call.id:
            change.restored.add(original)
        change.count("id")
        history.set_id(call, original)
