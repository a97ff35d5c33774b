"""A strict reader of Ollama's `/api/chat`, written from `api/types.go` and from what the two SDKs insist on.

    (a line with `done` false)* · a line with `done` true          or, at any place, a last line {"error": …}

Every line is one object with model, time, role and content; calls are whole, their arguments objects.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

_NEEDED = {"model": str, "created_at": str, "message": dict, "done": bool}
_REASONS = {"stop", "length", "load", "unload"}


class Illegal(AssertionError):
    """The body is not what the protocol allows."""


@dataclass
class Chat:
    """What a client holds in the end."""

    text: str = ""
    thinking: str = ""
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    indices: list[int] = field(default_factory=list)
    done_reason: str | None = None
    last: dict[str, Any] = field(default_factory=dict)
    """The line with `done` true, with its counts."""
    error: str | None = None


def read(body: bytes, *, complete: bool = True) -> Chat:
    """What a client holds; raises where a line is not legal. `complete`: the last line must be there."""
    chat = Chat()
    lines = body.decode().splitlines()  # As httpx cuts them.
    for number, line in enumerate(lines, 1):
        if not line.strip():
            raise Illegal("a blank line")
        said = json.loads(line)
        if "error" in said:
            if number < len(lines):
                raise Illegal("a line behind an error")
            chat.error = said["error"]
            return chat
        if chat.last:
            raise Illegal(f"a line behind the last one: {line}")
        _take(said, chat)
    if complete and not chat.last:
        raise Illegal("no line with done true")
    return chat


def _take(said: dict[str, Any], chat: Chat) -> None:
    for key, kind in _NEEDED.items():
        if not isinstance(said.get(key), kind):
            raise Illegal(f"{key} is missing or no {kind.__name__}: {said}")
    message = said["message"]
    if message.get("role") != "assistant" or not isinstance(message.get("content"), str):
        raise Illegal(f"a message without role or content: {said}")
    chat.text += message["content"]
    chat.thinking += message.get("thinking") or ""
    for call in message.get("tool_calls") or []:
        function = call["function"]
        if not isinstance(function.get("name"), str) or not isinstance(function.get("arguments"), dict):
            raise Illegal(f"a call without a name, or its arguments are no object: {call}")
        chat.calls.append((function["name"], function["arguments"]))
        chat.ids += [call["id"]] if call.get("id") else []
        chat.indices += [function["index"]] if "index" in function else []
    if len(set(chat.ids)) < len(chat.ids) or len(set(chat.indices)) < len(chat.indices):
        raise Illegal(f"two calls have one id or one index: {chat.ids} {chat.indices}")
    if said["done"]:
        if said.get("done_reason") not in _REASONS:
            raise Illegal(f"unknown done_reason {said.get('done_reason')!r}")
        chat.done_reason, chat.last = said["done_reason"], said
    elif said.get("done_reason"):
        raise Illegal("a reason before the end")
