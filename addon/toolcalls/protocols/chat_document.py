"""A whole answer of Chat: its choices joined before they are read, and written with other parts."""

from __future__ import annotations

from typing import Any

from ..parts import Decided, Json, Other, Part, Stop, Text
from .chat_delta import CALLS, written_call


def write_choice(choice: Json, parts: list[Part], *, legacy: bool, null_content: bool) -> Json:
    """A choice of the document with these parts instead of its own."""
    message: Json = choice["message"]
    listed = message.get("tool_calls")
    calls: list[Any] = []
    for part in parts:
        if isinstance(part, Decided):
            given = listed[part.fragments[0].slot] if isinstance(listed, list) and part.fragments else {}
            call = written_call(part)
            calls.append(given if given.items() >= call.items() else call)
        elif isinstance(part, Other) and "tool_calls" in part.body:
            calls += part.body["tool_calls"]
    text = "".join(part.text for part in parts if isinstance(part, Text))
    written = {key: value for key, value in message.items() if key not in CALLS}
    if text or isinstance(message.get("content"), str):
        written["content"] = text
    if calls and legacy:
        written["function_call"] = calls[0]["function"]
    elif calls:
        written["tool_calls"] = calls
    if calls and (null_content or (written != message and not written.get("content"))):
        written["content"] = None
    stop = next((part.reason for part in parts if isinstance(part, Stop)), "")
    if not stop and listed and not calls:
        stop = "stop"
    reason = {"finish_reason": stop} if stop and (listed or calls or choice.get("finish_reason")) else {}
    return {**choice, "message": written, **reason}


def joined_choices(choices: list[Json]) -> list[Json]:
    """The first choice with the calls of the next that has some, if it has none: only one choice was requested."""
    first = choices[0].get("message")
    if not isinstance(first, dict) or first.get("tool_calls") or first.get("function_call"):
        return choices
    for position, other in enumerate(choices[1:], 1):
        message = other.get("message")
        if isinstance(message, dict) and message.get("tool_calls"):
            listed = message["tool_calls"]
            calls = listed if isinstance(listed, list) else [listed]
            rest = {key: value for key, value in message.items() if key != "tool_calls"}
            kept = [{**other, "message": rest}] if any(v for k, v in rest.items() if k != "role") else []
            whole = {**choices[0], "message": {**first, "tool_calls": calls}}
            return [whole, *choices[1:position], *kept, *choices[position + 1 :]]
    return choices
