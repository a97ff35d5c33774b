"""Identifies calls by their content, because those of Ollama and Gemini have no ids, or clients do not keep them."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

Json = dict[str, Any]


def identity_of(name: object, arguments: object) -> str:
    """A key for a call within its turn: the tool and its arguments, in whatever form a client sends them back."""
    if isinstance(arguments, str):
        with suppress(ValueError, RecursionError):
            arguments = json.loads(arguments)
    return json.dumps([name, _plain(arguments or {}, 0)], sort_keys=True)


def _plain(value: object, depth: int) -> object:
    """The value with integers for whole floats, because JavaScript writes 1.0 as 1."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if depth < 64 and isinstance(value, dict):
        return {key: _plain(entry, depth + 1) for key, entry in value.items()}
    if depth < 64 and isinstance(value, list):
        return [_plain(entry, depth + 1) for entry in value]
    return value


def without_ids(message: Any) -> Any:
    """A message of Ollama's protocol without the ids of its calls, because clients drop them."""
    if not isinstance(message, dict):
        return message
    if message.get("role") == "tool":
        return {**message, "tool_call_id": str(message.get("tool_name"))}
    calls = message.get("tool_calls")
    if not isinstance(calls, list) or not calls:
        return message
    return {**message, "tool_calls": [{**call, "id": ""} if isinstance(call, dict) else call for call in calls]}
