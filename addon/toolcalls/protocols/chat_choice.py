"""A choice of Chat: what its delta or its message says, and how a message is written."""

from __future__ import annotations

from typing import Any, Final

from .. import payload
from ..parts import Decided, Fragment, Json, Other, Part, Piece, Stop, Text, Thought
from ..payload import shown_text
from ..request.chat import SERVER_CALLS
from ..tools.declared import Tools
from .content import read_content

CALLS: Final = ("tool_calls", "function_call")
_REASONING: Final = ("reasoning_content", "reasoning", "thinking")
"""Keys of reasoning as text; servers that use two of them repeat the same text."""
_DETAILS: Final = "reasoning_details"
_THOUGHTS: Final = (*_REASONING, _DETAILS)
_SHOWN: Final = ("refusal", "audio", "annotations")
"""What a client shows of an answer besides its text."""
CONTENT: Final = frozenset({"role", "content", "tool_calls"})
KNOWN: Final = frozenset({"role", "index", "type", "content", *CALLS, *_THOUGHTS, *_SHOWN})
CHOICE: Final = frozenset({"index", "delta", "message", "finish_reason", "native_finish_reason", "logprobs"})
_ENTRY: Final = frozenset({"index", "id", "type", "function"})
_FUNCTION: Final = frozenset({"name", "arguments"})
_CUSTOM: Final = "custom"


def delta_of(choice: Json, *, text: bool, reasoning: bool) -> tuple[Json, bool]:
    """The delta of a choice, and whether its calls repeat the answer.

    Some servers put a whole `message` into the last chunk, instead of a delta or beside an empty one. `text`,
    `reasoning`: the client has that of it.
    """
    delta, message = choice.get("delta"), choice.get("message")
    whole: Json = message if isinstance(message, dict) else {}
    if isinstance(delta, dict):
        if message is None or delta.get("tool_calls") or delta.get("function_call"):
            return delta, False
        return {**delta, **{key: whole[key] for key in CALLS if whole.get(key)}}, True
    dropped = _THOUGHTS if reasoning else ()
    return {key: value for key, value in whole.items() if (key in CALLS if text else key not in dropped)}, True


def read_text(content: Any) -> list[Part]:
    if isinstance(content, str):
        return [Text(content)]
    parts = read_content(content if isinstance(content, list) else [content])
    for part in parts:
        part.body = part.body if isinstance(content, list) else {"content": content}
    return [*parts]


def read_besides(delta: Json) -> list[Part]:
    """What a delta says before its text: reasoning, a refusal, citations, audio."""
    given = {key: delta[key] for key in _THOUGHTS if delta.get(key)}
    words = [given[key] for key in _REASONING if key in given]
    text = next((word for word in words if isinstance(word, str)), "")
    if not words and isinstance(given.get(_DETAILS), list):
        details = (one.get("text") or one.get("summary") for one in given[_DETAILS] if isinstance(one, dict))
        text = "".join(word for word in details if isinstance(word, str))
    parts: list[Part] = [Thought(text, body=given)] if given else []
    if not all(isinstance(word, str) for word in words):
        parts.append(Other())  # In a form that cannot be read: no call is found in it.
    shown = {key: delta[key] for key in _SHOWN if delta.get(key)}
    if delta.get("refusal") or any(value.strip() if isinstance(value, str) else True for value in shown.values()):
        audio = delta.get("audio")
        spoken = shown_text(audio.get("transcript")) if isinstance(audio, dict) else ""
        parts.append(Other(body=shown, shown=spoken, refusal=bool(delta.get("refusal"))))
    return parts


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
    index, identity = entry.get("index"), entry.get("id")
    name, arguments = function.get("name"), function.get("arguments")
    return Fragment(
        index if type(index) is int else None,
        identity if isinstance(identity, str) else "",
        name if isinstance(name, str) else "",
        arguments if isinstance(arguments, str) else payload.text_of(arguments),
        body=body,
    )


def written_call(part: Decided | Piece | Fragment) -> Json:
    """The entry of a call, or of a piece of it, without its index."""
    said = part.outcome if isinstance(part, Decided) else part
    named = not isinstance(part, Piece) or part.begins
    identity = {"id": said.id, "type": "function"} if named and said.id else {}
    name = {"name": said.name} if named and (said.name or isinstance(part, Decided)) else {}
    return {
        **identity,
        **part.body,
        "function": {**name, "arguments": said.arguments, **part.body.get("function", {})},
    }


class HostCalls:
    """Tells entries of `tool_calls` from calls of the client's functions, in one answer. They pass as they came.

    {"type": "custom", "custom": {"name": …, "input": …}}                     a freeform tool of the client
    {"type": "builtin_function", "function": {"name": "$web_search", …}}      a tool of the host, and other types
    {"id": "srvtoolu_…", "type": "function", "function": {"name": …, …}}      a call that the host itself ran
    """

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._at: dict[Any, str] = {}
        """Index → the id of the call that began there last."""
        self.indices: set[Any] = set()
        """The indices that the client has from such calls."""
        self.custom = False
        """The client was called with a freeform tool."""

    def take(self, entry: Json, fragment: Fragment) -> bool:
        """Whether an entry is such a call, or a piece of one. `fragment`: what it is as a call of a function."""
        index = fragment.slot
        usual = entry.get("type") in (None, "", "function") and isinstance(entry.get("function"), dict)
        if fragment.id.startswith(SERVER_CALLS) or not (usual or self._is_declared(entry, fragment)):
            self._at[index] = fragment.id or self._at.get(index, "")
            self.indices.add(index)
            self.custom = self.custom or entry.get("type") == _CUSTOM or _CUSTOM in entry
            return True
        if index in self._at and (fragment.name or fragment.id not in ("", self._at[index])):
            del self._at[index]
        return index in self._at

    def _is_declared(self, entry: Json, fragment: Fragment) -> bool:
        """Whether an entry with an unusual type, or none, is a call of a function all the same."""
        kind = entry.get("type")
        if isinstance(entry.get("function"), dict):
            declared = self._tools.get(fragment.name) if fragment.name else None
            if declared is not None and declared.schema is not None:
                return True
        elif _CUSTOM in entry:
            return False
        if isinstance(kind, str) and kind:
            return kind.lower() == "function"
        # An entry of a kind that nobody knows: it has an id, and what it says is under a key of its own.
        says = any(isinstance(value, dict) for value in entry.values())
        return not (fragment.id and says) or bool(entry.keys() & {"function", "name", "arguments"})


# A message


def written(choice: Json, parts: list[Part], *, legacy: bool, null_content: bool) -> Json:
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
    made = {key: value for key, value in message.items() if key not in CALLS}
    if text or isinstance(message.get("content"), str):
        made["content"] = text
    if calls and legacy:
        made["function_call"] = calls[0]["function"]
    elif calls:
        made["tool_calls"] = calls
    if calls and (null_content or (made != message and not made.get("content"))):
        made["content"] = None
    stop = next((part.reason for part in parts if isinstance(part, Stop)), "")
    if not stop and listed and not calls:
        stop = "stop"
    reason = {"finish_reason": stop} if stop and (listed or calls or choice.get("finish_reason")) else {}
    return {**choice, "message": made, **reason}


def joined(choices: list[Json]) -> list[Json]:
    """The first choice with the calls of the next that has some, if it has none: only one choice was asked for."""
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
