"""A choice of Chat: what its delta or its message says, and how a call is written."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any, Final

from .. import payload
from ..parts import Decided, Fragment, Json, Other, Part, Piece, Stop, Thought
from ..payload import shown_text
from ..request.history import SERVER_CALLS
from ..tools.declared import Tools

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
_CALLS_FUNCTION: Final = frozenset({"function", "name", "arguments"})
"""Keys of a call of a function, one of which each piece of it has, but for its beginning."""


@dataclass(slots=True)
class Choice:
    """What the stream has said in one choice."""

    index: int
    tools: Tools
    has_role: bool = False
    has_text: bool = False
    has_reasoning: bool = False
    legacy: bool | None = None
    """The calls arrive in the old form, `function_call`; None before there is one."""
    writes_legacy: bool = False
    stop: Stop | None = None
    """The last reason."""
    indices: list[int] = field(default_factory=list)
    """The indices of the calls that the client has, by number."""
    at_hosts: dict[Any, str | None] = field(default_factory=dict)
    """Index → the id of the call there that passes as it came; None if another call has begun there since."""
    custom: bool = False
    """The client was called with a freeform tool."""

    def is_hosts(self, entry: Json, fragment: Fragment) -> bool:
        """Whether an entry of `tool_calls` is no call of the client's functions, and passes as it came, or a piece of
        such a call. `fragment`: what it is as a call of a function.

        {"type": "custom", "custom": {"name": …, "input": …}}                     a freeform tool of the client
        {"type": "builtin_function", "function": {"name": "$web_search", …}}      a tool of the host, and other types
        {"id": "srvtoolu_…", "type": "function", "function": {"name": …, …}}      a call that the host itself ran
        """
        index, kind = fragment.slot, str(entry.get("type") or "").lower()
        if kind in ("", "function"):
            # An entry of a kind that nobody knows says what it says under a key of its own.
            ours = bool(entry.keys() & _CALLS_FUNCTION) or not any(isinstance(one, dict) for one in entry.values())
        else:
            declared = self.tools.get(fragment.name) if isinstance(entry.get("function"), dict) else None
            ours = declared is not None and declared.schema is not None
        theirs = self.at_hosts.get(index)
        if fragment.id.startswith(SERVER_CALLS) or not ours:
            self.at_hosts[index] = fragment.id or theirs or ""
            self.custom = self.custom or _CUSTOM in (kind, *entry)
            return True
        if theirs is not None and (fragment.name or fragment.id not in ("", theirs)):
            self.at_hosts[index] = None
        return self.at_hosts.get(index) is not None

    def index_of(self, number: int) -> int:
        """The index of a call at the client: one that no call has that passes as it came."""
        while number >= len(self.indices):
            free = self.indices[-1] + 1 if self.indices else 0
            self.indices.append(next(index for index in itertools.count(free) if index not in self.at_hosts))
        return self.indices[number]


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


def read_content(content: Any) -> list[Other]:
    """The parts of a text that is no string, in order: what the client sees in each entry.

    Some servers send a list of entries, as in requests: `[{"type": "text", "text": "…"}]`.
    """
    listed = isinstance(content, list)
    parts: list[Other] = []
    for entry in content if listed else [content]:
        shown, refusal = shown_text(entry), False
        if isinstance(entry, dict):
            thought, refusal = entry.get("type") in ("thinking", "reasoning"), bool(entry.get("refusal"))
            shown = "" if thought else None if entry.get("content") else shown_text(entry.get("text"))
        if entry:
            parts.append(Other(body={"content": [entry] if listed else entry}, shown=shown, refusal=refusal))
    return parts


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


def joined(choices: list[Json]) -> list[Json]:
    """The first choice with the calls of the next that has some, if it has none: only one choice was asked for."""
    messages = [one if isinstance(one := choice.get("message"), dict) else {} for choice in choices]
    at = next((at for at, one in enumerate(messages) if one.get("tool_calls") or one.get("function_call")), 0)
    listed = messages[at].get("tool_calls")
    if not (at and listed and messages[0]):
        return choices
    calls = listed if isinstance(listed, list) else [listed]
    rest = {key: value for key, value in messages[at].items() if key != "tool_calls"}
    kept = [{**choices[at], "message": rest}] if any(value for key, value in rest.items() if key != "role") else []
    whole = {**choices[0], "message": {**messages[0], "tool_calls": calls}}
    return [whole, *choices[1:at], *kept, *choices[at + 1 :]]
