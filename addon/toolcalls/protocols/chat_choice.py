"""A choice of Chat: what its delta or its message says, its reasoning, its calls; and how a message is written."""

from __future__ import annotations

from typing import Any, Final

from .. import payload
from ..parts import Decided, Fragment, Json, Other, Part, Stop, Text, Thought

CALLS: Final = ("tool_calls", "function_call")
_REASONING: Final = ("reasoning_content", "reasoning", "thinking")
"""Keys of reasoning as text; servers that use two of them repeat the same text."""
_DETAILS: Final = "reasoning_details"
THOUGHTS: Final = (*_REASONING, _DETAILS)
SHOWN: Final = ("refusal", "audio", "annotations")
"""What a client shows of an answer besides its text."""
_ENTRY: Final = frozenset({"index", "id", "type", "function"})
_FUNCTION: Final = frozenset({"name", "arguments"})


def delta_of(choice: Json) -> tuple[Json, bool]:
    """The delta of a choice, and whether its calls repeat the answer.

    Some servers put a whole `message` into the last chunk, instead of a delta or beside an empty one.
    """
    delta, message = choice.get("delta"), choice.get("message")
    if isinstance(delta, dict) and (message is None or delta.get("tool_calls") or delta.get("function_call")):
        return delta, False
    whole = message if isinstance(message, dict) else {}
    if not isinstance(delta, dict):
        return whole, True
    return {**delta, **{key: whole[key] for key in CALLS if whole.get(key)}}, True


def without_repeated(message: Json, *, text: bool, reasoning: bool) -> Json:
    """A message that repeats the answer, without what the client has. Its calls are compared with the others."""
    dropped = THOUGHTS if reasoning else ()
    return {key: value for key, value in message.items() if (key in CALLS if text else key not in dropped)}


def thoughts(delta: Json) -> list[Part]:
    given = {key: delta[key] for key in THOUGHTS if delta.get(key)}
    if not given:
        return []
    words = [given[key] for key in _REASONING if key in given]
    text = next((word for word in words if isinstance(word, str)), "")
    if not words and isinstance(given[_DETAILS], list):
        details = (one.get("text") or one.get("summary") for one in given[_DETAILS] if isinstance(one, dict))
        text = "".join(word for word in details if isinstance(word, str))
    parts: list[Part] = [Thought(text, body=given)]
    if not all(isinstance(word, str) for word in words):
        parts.append(Other())  # In a form that cannot be read: no call is found in it.
    return parts


def says(value: Any) -> bool:
    return bool(value.strip() if isinstance(value, str) else value)


def fragment_of(entry: Json) -> Fragment:
    """The fragment in an entry of `tool_calls`. What is not known in it stays beside the call."""
    function = entry.get("function")
    body: Json = {}
    if not isinstance(function, dict):
        function = entry
    elif not (entry.keys() <= _ENTRY and function.keys() <= _FUNCTION):
        body = {key: value for key, value in entry.items() if key not in _ENTRY and value is not None}
        inside = {key: value for key, value in function.items() if key not in _FUNCTION and value is not None}
        body |= {"function": inside} if inside else {}
    index, identity, name, arguments = (
        entry.get("index"),
        entry.get("id"),
        function.get("name"),
        function.get("arguments"),
    )
    return Fragment(
        index if type(index) is int else None,
        identity if isinstance(identity, str) else "",
        name if isinstance(name, str) else "",
        arguments if isinstance(arguments, str) else payload.text_of(arguments),
        body=body,
    )


def written_call(part: Decided) -> Json:
    """A call without its index, as it stands in a message."""
    function = {"name": part.outcome.name, "arguments": part.outcome.arguments}
    return {"id": part.outcome.id, "type": "function", **beside(part.body, function)}


def beside(body: Json, function: Json) -> Json:
    """The function of a call, and what else its entry has."""
    return {**body, "function": {**function, **body.get("function", {})}} if body else {"function": function}


# A message


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
