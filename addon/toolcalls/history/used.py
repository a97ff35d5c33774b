"""The ids that stand in a history, as the client wrote them: a new call must not get one of them again."""

from __future__ import annotations

from typing import Any


def used_ids(request: dict[str, Any]) -> frozenset[str]:
    found: set[object] = set()
    messages = request.get("messages")
    for message in messages if isinstance(messages, list) else ():
        if not isinstance(message, dict):
            continue
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict):
                found.add(_id(call.get("id")))
        blocks = message.get("content")
        for block in blocks if isinstance(blocks, list) else ():
            if isinstance(block, dict) and block.get("type") == "tool_use":
                found.add(_id(block.get("id")))
    items = request.get("input")
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict):
            found.add(_id(item.get("call_id")))
    return frozenset(identity for identity in found if isinstance(identity, str))


def _id(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
