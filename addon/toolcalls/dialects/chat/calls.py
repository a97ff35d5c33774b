"""The parts of Chat that its streamed and its whole answers share: fragments in, calls out."""

from __future__ import annotations

import itertools
from collections.abc import Container
from typing import Any

from ...calls import Outcome
from ...mend.arguments import Finish
from ...mend.call import Mender
from ...tools.declared import Tools
from .. import payload
from ..assembled_call import Fragment, Slot, index_of
from ..fragments import full_name
from ..resent import Resent, ToldCall
from ..text_search import WRITTEN_AS_TEXT

Json = dict[str, Any]

AS_CALLS = frozenset(
    {None, "", "stop", "end_turn", "eos", "other", "unknown", "function_call", "tool_calls", "tool_use"}
)
"""Finish reasons that mean nothing but "the model stopped": with calls they become `tool_calls`."""
NEEDS_CALLS = frozenset({"tool_calls", "function_call", "tool_use"})

FOREIGN_REASONS = {"sensitive": "content_filter", "model_context_window_exceeded": "length"}
"""What api.z.ai and open.bigmodel.cn say where OpenAI has a word for it."""
FAILURES = frozenset({"network_error"})
"""Finish reasons of the same endpoints that are no end of an answer but a failure of the server."""


def finish_of(choice: Json) -> Finish:
    """How a choice ended, by its finish reason and by the one that a router kept of its upstream."""
    native = choice.get("native_finish_reason")
    cut = Finish.of(native) is Finish.CUT
    return Finish.CUT if cut else Finish.of(choice.get("finish_reason"))


def true_reason(reason: str | None, *, calls: bool, legacy: bool) -> str | None:
    """The finish reason that fits the calls that really went out. `length` and the like are never rewritten."""
    known = reason.lower() if reason else reason
    if known not in AS_CALLS:
        return reason
    if calls:
        return "function_call" if legacy else "tool_calls"
    return "stop" if known in NEEDS_CALLS or not reason else reason


def mend_slot(
    slot: Slot, tools: Tools, mender: Mender, finish: Finish, *, before_error: bool = False, legacy: bool = False
) -> Outcome:
    """What becomes of a gathered call."""
    name = full_name(slot.names, tools)
    arguments, steps = slot.settle()
    if slot.found:
        steps = (WRITTEN_AS_TEXT, *steps)
        finish = Finish.COMPLETE
    identity = None if legacy else slot.id
    if slot.doubt:
        # Without a name there is nobody to tell.
        return mender.refuse(
            name, arguments, slot.doubt, steps=steps, before_error=before_error or not name, id=identity
        )
    value, slot.value = slot.value, None
    return mender.mend(name, arguments, finish, steps=steps, before_error=before_error, id=identity, value=value)


def once(slots: list[Slot], resent: Resent, tools: Tools, flowing: Container[int] = ()) -> list[Slot]:
    """Each structured call once, then those that were written as text. `flowing`: the client has a part of them."""
    calls = [slot for slot in slots if not slot.found]
    kept = resent.once(_told(slot, tools, out=id(slot) in flowing) for slot in calls)
    return [*itertools.compress(calls, kept), *(slot for slot in slots if slot.found)]


def _told(slot: Slot, tools: Tools, *, out: bool) -> ToldCall:
    arguments, _ = slot.settle()
    name = full_name(slot.names, tools)
    place = f"\0{slot.place}"
    return ToldCall(slot.key, name, arguments, place, certain=not slot.doubt, restated=slot.restated, out=out)


def calls_in(delta: Json) -> bool:
    return bool(delta.get("tool_calls") or delta.get("function_call"))


def said_in(choice: Json) -> tuple[Json, list[Fragment], bool]:
    """What a choice says: its delta, the fragments of calls in it, and whether they came in the old form.

    Some servers put a whole `message` into the last chunk, in the place of a delta or beside an empty one. Its calls
    are whole, and most often the ones that the deltas told.
    """
    delta, message = choice.get("delta"), choice.get("message")
    told = message if isinstance(message, dict) else {}
    if isinstance(delta, dict) and (calls_in(delta) or not calls_in(told)):
        return delta, *fragments_of(delta)
    calls = {key: told[key] for key in _CALLS if told.get(key)}
    fragments, legacy = fragments_of(calls)
    for fragment in fragments:
        fragment.whole = True
    return {**delta, **calls} if isinstance(delta, dict) else told, fragments, legacy


_CALLS = ("tool_calls", "function_call")


def fragments_of(delta: Json) -> tuple[list[Fragment], bool]:
    """The fragments of calls in a delta or a message; True when they came in the old `function_call` form."""
    calls = delta.get("tool_calls")
    if calls:
        entries = calls if isinstance(calls, list) else [calls]
        return [_fragment(entry) for entry in entries if isinstance(entry, dict)], False
    old = delta.get("function_call")
    if isinstance(old, dict):
        return [_fragment({"function": old})], True
    return [], False


def _fragment(entry: Json) -> Fragment:
    function = entry.get("function")
    body = function if isinstance(function, dict) else entry
    identity, name = entry.get("id"), body.get("name")
    extra: Json = {}
    if body is not entry and not entry.keys() <= _KNOWN:
        extra = {key: value for key, value in entry.items() if key not in _KNOWN and value is not None}
    return Fragment(
        index_of(entry.get("index")),
        identity if isinstance(identity, str) else "",
        name if isinstance(name, str) else "",
        payload.text_of(body.get("arguments")),
        extra,
    )


_KNOWN = frozenset({"index", "id", "type", "function"})


def written_call(slot: Slot, outcome: Outcome, arguments: str) -> Json:
    function: Json = {"arguments": arguments}
    if outcome.name:
        function = {"name": outcome.name, **function}
    return {"id": outcome.id, "type": "function", "function": function, **slot.extra}


def says_something(delta: Json) -> bool:
    return any(value for key, value in delta.items() if key not in ("role", "index", "type"))
