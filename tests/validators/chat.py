"""A strict reader of Chat streams, written from the API reference: it rejects what a careful client may reject."""

from __future__ import annotations

import json
from typing import Any

from tests.chat_client import events

KNOWN_REASONS = {"stop", "length", "tool_calls", "content_filter", "function_call", "error"}


class Illegal(AssertionError):
    pass


def validate(body: bytes, *, complete: bool = True) -> None:
    """Raises where the sequence is not legal. `complete`: a finish reason and `[DONE]` must be there."""
    finished: dict[int, str] = {}
    calls: dict[int, dict[int, str]] = {}
    identities: set[str] = set()
    done = False
    for data in events(body):
        if done:
            raise Illegal(f"an event behind [DONE]: {data}")
        if data.strip() == "[DONE]":
            done = True
            continue
        chunk = json.loads(data)
        if "error" in chunk:
            return
        if not isinstance(chunk.get("choices"), list):
            raise Illegal(f"choices is no list: {data}")
        for choice in chunk["choices"]:
            _choice(choice, finished, calls, identities, data)
    if complete:
        if not done:
            raise Illegal("no [DONE]")
        if 0 not in finished:
            raise Illegal("no finish reason")
    for index, reason in finished.items():
        made = calls.get(index, {})
        if made and reason in ("stop", "function_call"):
            raise Illegal(f"{len(made)} calls, but the finish reason is {reason}")
        if not made and reason == "tool_calls":
            raise Illegal("the finish reason is tool_calls, but there is no call")
        for arguments in made.values():
            if not isinstance(json.loads(arguments), dict):
                raise Illegal(f"arguments are no object: {arguments}")


def _choice(
    choice: dict[str, Any],
    finished: dict[int, str],
    calls: dict[int, dict[int, str]],
    identities: set[str],
    data: str,
) -> None:
    index = choice["index"]
    if index in finished:
        raise Illegal(f"choice {index} goes on behind its finish reason: {data}")
    delta = choice["delta"]
    for call in delta.get("tool_calls") or []:
        made = calls.setdefault(index, {})
        place = call["index"]
        if place not in made:
            if place != len(made):
                raise Illegal(f"call {place} behind {len(made)} calls: indices are not dense")
            if not call.get("id") or call["id"] in identities:
                raise Illegal(f"the id {call.get('id')!r} is missing or used twice")
            if call.get("type") != "function":
                raise Illegal("type is not function")
            identities.add(call["id"])
            made[place] = ""
        elif call.get("id") or call["function"].get("name"):
            raise Illegal("id or name in a continuation")
        made[place] += call["function"].get("arguments") or ""
    if choice.get("finish_reason"):
        if choice["finish_reason"] not in KNOWN_REASONS:
            raise Illegal(f"unknown finish reason {choice['finish_reason']!r}")
        finished[index] = choice["finish_reason"]
