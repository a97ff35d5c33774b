"""Is there nothing to do? Asked of every request, and the answer is yes for most: so it has to be cheap.

A `False` costs nothing but time: whatever is not exactly as expected is looked at in full.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ids import MARK
from . import gemini
from .arguments import KnownGoodArguments
from .guidance import blames_arguments
from .refusals import Refusals
from .request_edit import is_name

Json = dict[str, Any]


def needs_no_change(
    protocol: str, request: Json, known: KnownGoodArguments, refusals: Refusals, *, guides: bool = False
) -> bool:
    """True only where every call is sound and named, no id is ours and no result is that of a refused call.

    `guides`: and where no result blames the arguments.
    """
    look = _LOOKS.get(protocol, _chat)
    results: list[Any] = []
    try:
        return look(request, known, refusals, results) and not (guides and any(map(_blames, results)))
    except (AttributeError, IndexError, KeyError, TypeError):
        return False


def _blames(result: Json) -> bool:
    failed = result.get("is_error") is True
    return blames_arguments(result["output"] if "output" in result else result.get("content"), failed=failed)


def _chat(request: Json, known: KnownGoodArguments, refusals: Refusals, results: list[Json]) -> bool:
    ids: list[str] = []
    names: set[str] = set()
    texts: list[str] = []
    answered: list[str] = []
    for message in request["messages"]:
        if message.get("tool_calls"):
            calls = message["tool_calls"]
            for call in calls:
                ids.append(call["id"])
                function = call["function"]
                names.add(function["name"])
                texts.append(function["arguments"])
            if len(calls) > 1 and len(set(ids[-len(calls) :])) < len(calls):
                return False
            if message.get("function_call"):
                return False
        elif "tool_call_id" in message:
            answered.append(message["tool_call_id"])
            results.append(message)
        elif "function_call" in message:
            return False
    if not all(map(is_name, names)) or MARK in "\n".join(ids):
        return False
    return _are_foreign(answered, refusals) and known.are_objects(texts)


def _messages(request: Json, known: KnownGoodArguments, refusals: Refusals, results: list[Json]) -> bool:
    ids: list[str] = []
    names: set[str] = set()
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
                names.add(block["name"])
            elif kind == "tool_result":
                answered.append(block["tool_use_id"])
                results.append(block)
            elif kind == "text" and not block["text"]:
                empty = True
        if empty and len(ids) > before:
            return False
        if len(ids) > before + 1 and len(set(ids[before:])) < len(ids) - before:
            return False
    return all(map(is_name, names)) and MARK not in "\n".join(ids) and _are_foreign(answered, refusals)


def _responses(request: Json, known: KnownGoodArguments, refusals: Refusals, results: list[Json]) -> bool:
    items = request["input"]
    if type(items) is str:
        return True
    ids: list[str] = []
    names: set[str] = set()
    texts: list[str] = []
    answered: list[str] = []
    for item in items:
        if "call_id" not in item:
            if item.get("type") == "function_call":
                return False
            continue
        if item["type"].endswith("_output"):
            answered.append(item["call_id"])
            results.append(item)
            continue
        ids.append(item["call_id"])
        if item["type"] == "function_call":
            names.add(item["name"])
            texts.append(item["arguments"])
    if not all(map(is_name, names)) or len(set(ids)) < len(ids) or MARK in "\n".join(ids):
        return False
    return _are_foreign(answered, refusals) and known.are_objects(texts)


def _ollama(request: Json, known: KnownGoodArguments, refusals: Refusals, results: list[Json]) -> bool:
    ids: list[str] = []
    names: set[str] = set()
    answered: list[str] = []
    for message in request["messages"]:
        before = len(ids)
        for call in message.get("tool_calls") or ():
            if type(call["function"]["arguments"]) is not dict:
                return False
            names.add(call["function"]["name"])
            if call.get("id"):
                ids.append(call["id"])
        if len(set(ids[before:])) < len(ids) - before:
            return False
        if "tool_call_id" in message:
            answered.append(message["tool_call_id"])
            results.append(message)
    return all(map(is_name, names)) and MARK not in "\n".join(ids) and _are_foreign(answered, refusals)


def _are_foreign(ids: list[str], refusals: Refusals) -> bool:
    """Are these the upstream's own ids, each of one result, and of none that we refused?"""
    unique = set(ids)
    return len(unique) == len(ids) and MARK not in "\n".join(ids) and not refusals.know_any(unique)


def _gemini(request: Json, known: KnownGoodArguments, refusals: Refusals, results: list[Json]) -> bool:
    return all(MARK not in identity for _, identity in gemini.ids_in(request.get("request", request)))


_LOOKS: dict[str, Callable[[Json, KnownGoodArguments, Refusals, list[Json]], bool]] = {
    "messages": _messages,
    "responses": _responses,
    "gemini": _gemini,
    "ollama": _ollama,
}
