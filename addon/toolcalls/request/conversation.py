"""Reads a request of any protocol as a conversation: who said what, in the form of Chat."""

from __future__ import annotations

from typing import Any

from ..ids import restore
from .answered import FIELDS, THINKING
from .calls_without_ids import identity_of, without_ids
from .contents_as_messages import contents_as_messages
from .items_as_messages import items_as_messages
from .pairs import text_of
from .responses_pairs import SERVER_STATE

Json = dict[str, Any]

_OF_THE_CLIENT = (*FIELDS["chat"], *FIELDS["ollama"], "reasoning_opaque")

Conversation = list[tuple[int, Any]]
"""Messages with their numbers."""


def conversation_of(protocol: str, request: Json) -> Conversation:
    """The messages of a request; none if the server keeps the history."""
    if protocol == "gemini":
        return contents_as_messages(request)
    messages, items = request.get("messages"), request.get("input")
    if isinstance(messages, list):
        numbered = enumerate(messages)
        return [(at, without_ids(message)) for at, message in numbered] if protocol == "ollama" else list(numbered)
    if not isinstance(items, list) or any(request.get(key) for key in SERVER_STATE):
        return []
    return items_as_messages(items)


def has_reasoning(message: Json) -> bool:
    """Whether the client itself sends reasoning with this message."""
    if any(message.get(key) is not None for key in _OF_THE_CLIENT):
        return True
    content = message.get("content")
    return isinstance(content, list) and any(
        isinstance(block, dict) and block.get("type") in THINKING for block in content
    )


def is_of_user(message: object) -> bool:
    """Whether this is what the user said, and not the results of calls."""
    if not isinstance(message, dict) or message.get("role") != "user":
        return False
    content = message.get("content")
    return not isinstance(content, list) or not any(
        isinstance(block, dict) and block.get("type") == "tool_result" for block in content
    )


def known_as(identity: str, name: object, arguments: object) -> str:
    """A key that tells a call from those of other sessions: ids such as `functions.Bash:0` are in each of them."""
    return f"{identity}\0{identity_of(name, arguments)}"


def calls_of(message: Json) -> list[str]:
    """The keys of the calls of a message (`known_as`), with the ids that the host gave."""
    found: list[str] = []
    for entry in listed(message.get("tool_calls")) or listed(message.get("content")):
        if isinstance(entry, dict) and entry.get("type") in (None, "function", "tool_use"):
            function = entry.get("function")
            call = function if isinstance(function, dict) else entry
            given = call.get("arguments") if "arguments" in call else call.get("input")
            found.append(known_as(upstream_id(entry.get("id")), call.get("name"), given))
    return found


def listed(value: object) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def upstream_id(identity: object) -> str:
    """The id that the host gave to a call, whether or not the client knows it as an id of ours."""
    return (restore(identity) or identity) if isinstance(identity, str) else ""


def results_of(message: Json) -> list[str]:
    """The results in a message, each with the id of its call."""
    content = message.get("content")
    blocks = content if message.get("role") == "user" and isinstance(content, list) else [message]
    results = [block for block in blocks if isinstance(block, dict)]
    return [
        f"{upstream_id(block.get('tool_call_id') or block.get('tool_use_id'))}\0{text_of(block.get('content'))}"
        for block in results
        if block.get("tool_call_id") or block.get("type") == "tool_result"
    ]
