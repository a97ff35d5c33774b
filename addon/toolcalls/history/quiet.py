"""Is there nothing to do? Asked of every request, and the answer is yes for most: so it has to be cheap.

A `False` costs nothing but time: whatever is not exactly as expected is looked at in full.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ids import MARK
from .arguments import Known
from .refusals import Refusals

Json = dict[str, Any]


def is_quiet(protocol: str, request: Json, known: Known, refusals: Refusals) -> bool:
    """True only where every call is sound, no id is ours and no result is that of a refused call."""
    look = _LOOKS.get(protocol, _chat)
    try:
        return look(request, known, refusals)
    except (AttributeError, IndexError, KeyError, TypeError):
        return False


def _chat(request: Json, known: Known, refusals: Refusals) -> bool:
    answered: list[str] = []
    is_object = known.is_object
    for message in request["messages"]:
        calls = message.get("tool_calls")
        if calls:
            for call in calls:
                if MARK in call["id"] or not is_object(call["function"]["arguments"]):
                    return False
            if len(calls) > 1 and len({call["id"] for call in calls}) < len(calls):
                return False
        elif "tool_call_id" in message:
            answered.append(message["tool_call_id"])
        elif "function_call" in message:
            return False
    return _are_foreign(answered, refusals)


def _messages(request: Json, known: Known, refusals: Refusals) -> bool:
    answered: list[str] = []
    for message in request["messages"]:
        blocks = message["content"]
        if type(blocks) is str:
            continue
        used: list[str] = []
        empty = False
        for block in blocks:
            kind = block["type"]
            if kind == "tool_use":
                if MARK in block["id"] or type(block["input"]) is not dict:
                    return False
                used.append(block["id"])
            elif kind == "tool_result":
                answered.append(block["tool_use_id"])
            elif kind == "text" and not block["text"]:
                empty = True
        if empty and used:
            return False
        if len(used) > 1 and len(set(used)) < len(used):
            return False
    return _are_foreign(answered, refusals)


def _responses(request: Json, known: Known, refusals: Refusals) -> bool:
    items = request["input"]
    if type(items) is str:
        return True
    answered: list[str] = []
    used: list[str] = []
    for item in items:
        if "call_id" not in item:
            continue
        if "output" in item:
            answered.append(item["call_id"])
            continue
        if MARK in item["call_id"] or (item["type"] == "function_call" and not known.is_object(item["arguments"])):
            return False
        used.append(item["call_id"])
    return len(set(used)) == len(used) and _are_foreign(answered, refusals)


def _are_foreign(ids: list[str], refusals: Refusals) -> bool:
    """Are these the upstream's own ids, each of one result, and of none that we refused?"""
    return len(set(ids)) == len(ids) and MARK not in "\n".join(ids) and not any(map(refusals.__contains__, ids))


_LOOKS: dict[str, Callable[[Json, Known, Refusals], bool]] = {"messages": _messages, "responses": _responses}
