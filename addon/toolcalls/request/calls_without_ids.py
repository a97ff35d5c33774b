"""Calls that are known by what they say alone: Ollama's and Gemini's have no ids, or clients do not keep them."""

from __future__ import annotations

import json
from typing import Any

Json = dict[str, Any]


def identity_of(name: object, arguments: object) -> str:
    """What tells a call from others of its turn: the tool and its arguments, however a client writes them again."""
    return json.dumps([name, _plain(arguments or {}, 0)], sort_keys=True)


def _plain(value: object, depth: int) -> object:
    """JavaScript writes 1.0 as 1."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if depth < 64 and isinstance(value, dict):
        return {key: _plain(entry, depth + 1) for key, entry in value.items()}
    if depth < 64 and isinstance(value, list):
        return [_plain(entry, depth + 1) for entry in value]
    return value


def without_ids(message: Any) -> Any:
    """A message of Ollama's with ids that are made of what the calls say; its results have none."""
    if not isinstance(message, dict):
        return message
    if message.get("role") == "tool":
        return {**message, "tool_call_id": str(message.get("tool_name"))}
    calls = message.get("tool_calls")
    if not isinstance(calls, list) or not calls:
        return message
    functions = [call.get("function") if isinstance(call, dict) else None for call in calls]
    return {
        **message,
        "tool_calls": [
            {"id": identity_of(function.get("name"), function.get("arguments"))}
            for function in functions
            if isinstance(function, dict)
        ],
    }
