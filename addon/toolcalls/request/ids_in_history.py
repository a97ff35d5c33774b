"""Finds the ids in a history, as the client wrote them: a new call must not get one of them again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]


def used_ids(request: Json) -> frozenset[str]:
    try:
        found = frozenset(_as_expected(request))
    except (AttributeError, KeyError, TypeError):
        found = frozenset(_whatever_it_is(request))
    return found - {""}


def _as_expected(request: Json) -> list[str]:
    """The ids of a request that has the expected form; raises if it has not. This is the fast way."""
    ids: list[str] = []
    for message in request.get("messages") or ():
        # No comprehension: most turns have one call, and in Python 3.11 each comprehension costs a frame.
        if message.get("tool_calls"):
            for call in message["tool_calls"]:
                ids.append(call["id"])  # noqa: PERF401
        if "content" in message and type(message["content"]) is list:
            for block in message["content"]:
                if block["type"] == "tool_use":
                    ids.append(block["id"])  # noqa: PERF401
    for turn in request.get("contents") or ():
        ids += [part["functionCall"]["id"] for part in turn["parts"] if "id" in part.get("functionCall", ())]
    items = request.get("input")
    if type(items) is list:
        ids += [item["call_id"] for item in items if "call_id" in item]
    "".join(ids)  # raises if an id is not a string
    return ids


def _whatever_it_is(request: Json) -> Iterator[str]:
    for message in _objects(request.get("messages")):
        for call in _objects(message.get("tool_calls")):
            yield _id(call.get("id"))
        for block in _objects(message.get("content")):
            if block.get("type") == "tool_use":
                yield _id(block.get("id"))
    for turn in _objects(request.get("contents")):
        for part in _objects(turn.get("parts")):
            made = part.get("functionCall")
            yield _id(made.get("id") if isinstance(made, dict) else None)
    for item in _objects(request.get("input")):
        yield _id(item.get("call_id"))


def _objects(values: object) -> Iterator[Json]:
    for value in values if isinstance(values, list) else ():
        if isinstance(value, dict):
            yield value


def _id(value: object) -> str:
    return value if isinstance(value, str) else ""
