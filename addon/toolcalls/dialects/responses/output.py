"""The items of a response's output: their types, and the fields that clients need."""

from __future__ import annotations

from collections.abc import Callable

from .events import Json

CALL = "function_call"
FREEFORM = "custom_tool_call"

_PREFIXES = {CALL: "fc", "message": "msg", "reasoning": "rs", FREEFORM: "ctc"}
_NEEDED: dict[str, Json] = {
    "message": {"role": "assistant", "content": []},
    "reasoning": {"summary": []},
}
"""Fields that clients need: Codex drops an item that lacks one of them, and the deltas after it."""


def fresh_ids(unique: Callable[[str], str]) -> Callable[[str], str]:
    """A function that makes a new id for an item of a type. `unique`: makes a new id for a call."""
    return lambda kind: f"{_PREFIXES.get(kind, 'item')}_{unique('').removeprefix('call_')}"


def with_needed(body: Json, kind: str, identity: str) -> Json:
    """The item with the fields that clients need; the same object if nothing is missing."""
    missing = {key: value for key, value in _NEEDED.get(kind, {}).items() if body.get(key) is None}
    if kind in _NEEDED and body.get("id") != identity:
        missing["id"] = identity
    return {**body, **missing} if missing else body
