"""Converts the contents of a Gemini request to messages, for code that looks at turns and not at parts."""

from __future__ import annotations

from typing import Any

from .answered import EXTRA, SIGNATURE
from .calls_without_ids import identity_of

Json = dict[str, Any]

NUMBER = "number"
"""The key by which a call without an id is found again."""
_SPELLINGS = (SIGNATURE, "thought_signature")
CALL = ("functionCall", "function_call")
RESULT = ("functionResponse", "function_response")


def inner(request: Json) -> tuple[Json, tuple[str, ...]]:
    """The request itself, and its path: with a Google login it is inside another one."""
    inside = request.get("request")
    return (inside, ("request",)) if isinstance(inside, dict) and "contents" in inside else (request, ())


def contents_as_messages(request: Json) -> list[tuple[int, Any]]:
    """Messages in the form of Chat, each with the number of its content.

    `reasoning` is set if nothing can be missing: the first call of a turn has its signature, or there is no call.
    """
    contents = inner(request)[0].get("contents")
    found: list[tuple[int, Any]] = []
    for number, content in enumerate(contents if isinstance(contents, list) else ()):
        if isinstance(content, dict):
            found.append((number, _as_message(content)))
    return found


def call_parts(content: Json) -> list[int]:
    """The numbers of the parts of a content that are calls."""
    return [number for number, part in enumerate(parts_in(content)) if entry_in(part, CALL) is not None]


def parts_in(content: Json) -> list[Json]:
    parts = content.get("parts")
    return [part if isinstance(part, dict) else {} for part in parts] if isinstance(parts, list) else []


def entry_in(part: Json, spellings: tuple[str, ...]) -> Json | None:
    """The object under one of these keys: Gemini's JSON has two spellings for each."""
    return next((part[key] for key in spellings if isinstance(part.get(key), dict)), None)


def _as_message(content: Json) -> Json:
    parts = parts_in(content)
    text = [{"type": "text", "text": part.get("text")} for part in parts if not part.get("thought")]
    if content.get("role") != "model":
        results = [entry for part in parts if (entry := entry_in(part, RESULT)) is not None]
        if not results:
            return {"role": "user", "content": text}
        answers = [{"type": "text", "text": identity_of(one.get("name"), one.get("response"))} for one in results]
        return {"role": "tool", "tool_call_id": "results", "content": answers}
    message: Json = {"role": "assistant", "content": text, "tool_calls": []}
    for part in parts:
        call = entry_in(part, CALL)
        if call is not None:
            signature = next((part[key] for key in _SPELLINGS if part.get(key)), None)
            number = str(len(message["tool_calls"]))
            entry = {"name": call.get("name"), "arguments": call.get("args"), NUMBER: number, EXTRA: signature}
            message["tool_calls"].append(entry)
    if not message["tool_calls"] or message["tool_calls"][0][EXTRA]:
        message["reasoning"] = ""
    return message
