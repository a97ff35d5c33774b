"""Is there nothing to do? Asked of every request, and the answer is yes for most: so it has to be cheap.

A `False` costs nothing but time: whatever is not exactly as expected is looked at in full.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ids import MARK
from . import gemini
from .arguments import KnownGoodArguments
from .refusals import Refusals

Json = dict[str, Any]


def needs_no_change(protocol: str, request: Json, known: KnownGoodArguments, refusals: Refusals) -> bool:
    """True only where every call is sound, no id is ours and no result is that of a refused call."""
    look = _LOOKS.get(protocol, _chat)
    try:
        return look(request, known, refusals)
    except (AttributeError, IndexError, KeyError, TypeError):
        return False


def _chat(request: Json, known: KnownGoodArguments, refusals: Refusals) -> bool:
    ids: list[str] = []
    texts: list[str] = []
    answered: list[str] = []
    for message in request["messages"]:
        if message.get("tool_calls"):
            calls = message["tool_calls"]
            for call in calls:
                ids.append(call["id"])
                texts.append(call["function"]["arguments"])
            if len(calls) > 1 and len(set(ids[-len(calls) :])) < len(calls):
                return False
            if message.get("function_call"):
                return False
        elif "tool_call_id" in message:
            answered.append(message["tool_call_id"])
        elif "function_call" in message:
            return False
    return MARK not in "\n".join(ids) and _are_foreign(answered, refusals) and known.are_objects(texts)


def _messages(request: Json, known: KnownGoodArguments, refusals: Refusals) -> bool:
    ids: list[str] = []
    answered: list[str] = []
    for message in request["messages"]:
        blocks = message["content"]
        if type(blocks) is str:
            continue
        before = len(ids)
        empty = False
        for block in blocks:
            kind = block["type"]
            if kind == "tool_use":
                if type(block["input"]) is not dict:
                    return False
                ids.append(block["id"])
            elif kind == "tool_result":
                answered.append(block["tool_use_id"])
            elif kind == "text" and not block["text"]:
                empty = True
        if empty and len(ids) > before:
            return False
        if len(ids) > before + 1 and len(set(ids[before:])) < len(ids) - before:
            return False
    return MARK not in "\n".join(ids) and _are_foreign(answered, refusals)


def _responses(request: Json, known: KnownGoodArguments, refusals: Refusals) -> bool:
    items = request["input"]
    if type(items) is str:
        return True
    ids: list[str] = []
    texts: list[str] = []
    answered: list[str] = []
    for item in items:
        if "call_id" not in item:
            if item.get("type") == "function_call":
                return False
            continue
        if item["type"].endswith("_output"):
            answered.append(item["call_id"])
            continue
        ids.append(item["call_id"])
        if item["type"] == "function_call":
            texts.append(item["arguments"])
    if len(set(ids)) < len(ids) or MARK in "\n".join(ids):
        return False
    return _are_foreign(answered, refusals) and known.are_objects(texts)


def _ollama(request: Json, known: KnownGoodArguments, refusals: Refusals) -> bool:
    ids: list[str] = []
    answered: list[str] = []
    for message in request["messages"]:
        before = len(ids)
        for call in message.get("tool_calls") or ():
            if type(call["function"]["arguments"]) is not dict:
                return False
            if call.get("id"):
                ids.append(call["id"])
        if len(set(ids[before:])) < len(ids) - before:
            return False
        if "tool_call_id" in message:
            answered.append(message["tool_call_id"])
    return MARK not in "\n".join(ids) and _are_foreign(answered, refusals)


def _are_foreign(ids: list[str], refusals: Refusals) -> bool:
    """Are these the upstream's own ids, each of one result, and of none that we refused?"""
    unique = set(ids)
    return len(unique) == len(ids) and MARK not in "\n".join(ids) and not refusals.know_any(unique)


def _gemini(request: Json, known: KnownGoodArguments, refusals: Refusals) -> bool:
    return all(MARK not in identity for _, identity in gemini.ids_in(request.get("request", request)))


_LOOKS: dict[str, Callable[[Json, KnownGoodArguments, Refusals], bool]] = {
    "messages": _messages,
    "responses": _responses,
    "gemini": _gemini,
    "ollama": _ollama,
}
