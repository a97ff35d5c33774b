"""Calls that are known by what they say alone: Ollama's and Gemini's have no ids, or clients do not keep them."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

Json = dict[str, Any]


def identity_of(name: object, arguments: object) -> str:
    """What tells a call from others of its turn: the tool and its arguments, however a client writes them again."""
    if isinstance(arguments, str):
        with suppress(ValueError, RecursionError):
            arguments = json.loads(arguments)
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
    """A message of Ollama's whose calls have no ids: its clients drop them."""
    if not isinstance(message, dict):
        return message
    if message.get("role") == "tool":
        return {**message, "tool_call_id": str(message.get("tool_name"))}
    calls = message.get("tool_calls")
    if not isinstance(calls, list) or not calls:
        return message
    return {**message, "tool_calls": [{**call, "id": ""} if isinstance(call, dict) else call for call in calls]}
