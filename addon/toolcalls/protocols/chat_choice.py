"""A choice of Chat: what its delta or its message says, and how a call is written."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any, Final

from .. import payload
from ..answer import Answer
from ..parts import Fragment, Json, Other, Part, Piece, Stop, Thought, read_together
from ..payload import says, shown_text
from ..request.history import SERVER_CALLS
from ..request.request import Request

CALLS: Final = ("tool_calls", "function_call")
_REASONING: Final = ("reasoning_content", "reasoning", "thinking")
"""Keys of reasoning as text; servers that use two of them repeat the same text."""
_DETAILS: Final = "reasoning_details"
_THOUGHTS: Final = (*_REASONING, _DETAILS)
_SHOWN: Final = ("refusal", "audio", "annotations")
"""What a client shows of an answer besides its text."""
CONTENT: Final = frozenset({"role", "index", "type", "content", *CALLS})
CHOICE: Final = frozenset({"index", "delta", "message", "finish_reason", "native_finish_reason", "logprobs"})
_ENTRY: Final = frozenset({"index", "id", "type", "function"})
_FUNCTION: Final = frozenset({"name", "arguments"})
_CUSTOM: Final = "custom"
_CALLS_FUNCTION: Final = frozenset({"function", "name", "arguments"})
"""Keys of a call of a function, one of which each piece of it has, but for its beginning."""


class Choice(Answer):
    """One choice: an answer of its own, and what the stream has said in it."""

    has_role = has_reasoning = False
    stop: Stop | None = None
    """The last reason."""
    legacy: bool | None = None
    """The calls arrive in the old form, `function_call`; None before there is one."""
    writes_legacy = False
    """The client gets them in that form too."""
    _custom = False
    """The client was called with a freeform tool."""

    def __init__(self, request: Request, *rest: Any) -> None:
        super().__init__(request, *rest)
        self._legacy_functions = request.legacy_functions
        self._indices: list[int] = []
        """The indices of the calls that the client has, by number."""
        self._at_hosts: dict[Any, str | None] = {}
        """Index → the id of the call there that passes as it came; None if another call has begun there since."""

    def delta_of(self, said: Json) -> tuple[Json, bool]:
        """The delta of a choice, and whether its calls repeat the answer.

        A document has a whole `message`, and some servers put one into the last chunk, instead of a delta or beside
        one. Of that, what the client has already is left out.
        """
        delta, message = said.get("delta"), said.get("message")
        delta = delta if isinstance(delta, dict) else {}
        if not isinstance(message, dict) or any(delta.get(key) for key in CALLS):
            return delta, False
        known = _THOUGHTS if self.has_reasoning else ()
        new = {key: message[key] for key in message if key in CALLS or not (self.has_text or key in known)}
        return {**delta, **new}, True

    def read_besides(self, delta: Json) -> list[Part]:
        """What a delta says besides its text and its calls: reasoning, a refusal, citations, audio, and whatever
        nobody knows."""
        said = {key: delta[key] for key in delta if key not in CONTENT and says(delta[key])}
        thoughts = [said[key] for key in _REASONING if key in said]
        if not thoughts and isinstance(said.get(_DETAILS), list):
            details = (one.get("text") or one.get("summary") for one in said[_DETAILS] if isinstance(one, dict))
            thoughts = ["".join(word for word in details if isinstance(word, str))]
        readable = [word for word in thoughts if isinstance(word, str)]
        parts: list[Part] = [Thought(readable[0], body=said)] if readable else []
        self.has_reasoning = self.has_reasoning or bool(thoughts)
        # No call is found in reasoning in a form that cannot be read.
        shows = any(key in said for key in _SHOWN) or readable != thoughts
        if said and (shows or not parts):
            audio = said.get("audio")
            spoken = shown_text(audio.get("transcript")) if isinstance(audio, dict) else ""
            told = Other(body={} if parts else said, shown=spoken, refusal="refusal" in said)
            told.quiet = told.waits = not shows
            parts.append(told)
        return parts

    def read_calls(self, delta: Json, *, again: bool) -> list[Part]:
        """The calls of a delta. Those in the old form count only if they do not arrive as `tool_calls` too."""
        listed = delta.get("tool_calls")
        if self.legacy not in (None, not listed) and self.has_calls:
            return read_together(b"", [Other(quiet=True)])  # The client does not get them.
        self.legacy = not listed
        if self.legacy:
            listed = [{"function": delta["function_call"]}]
            self.writes_legacy = self._legacy_functions
        if self.writes_legacy:
            self.end.words, self.needs_ids = replace(self.end.words, calls="function_call"), False
        parts: list[Part] = []
        for place, entry in enumerate(listed if isinstance(listed, list) else [listed]):
            if not isinstance(entry, dict):
                continue
            fragment = fragment_of(entry)
            if again:
                fragment.again, fragment.slot = True, place
                fragment.body = entry if isinstance(entry.get("function"), dict) else {}
            known = again and fragment.id in self._at_hosts.values()
            if not self._is_hosts(entry, fragment):
                parts.append(fragment)
                continue
            parts += [] if known else [Other(body={"tool_calls": [entry]}, waits=True)]
            self.end.left_alone = self.end.other_tools = True
            self.end.called = self.sent > 0 or self._custom
        return parts

    def _is_hosts(self, entry: Json, fragment: Fragment) -> bool:
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
            declared = self._tools.get(fragment.name) if isinstance(entry.get("function"), dict) else None
            ours = declared is not None and declared.schema is not None
        theirs = self._at_hosts.get(index)
        if fragment.id.startswith(SERVER_CALLS) or not ours:
            self._at_hosts[index] = fragment.id or theirs or ""
            self._custom = self._custom or _CUSTOM in (kind, *entry)
            return True
        if theirs is not None and (fragment.name or fragment.id not in ("", theirs)):
            self._at_hosts[index] = None
        return self._at_hosts.get(index) is not None

    def index_of(self, number: int) -> int:
        """The index of a call at the client: one that no call has that passes as it came."""
        while number >= len(self._indices):
            free = self._indices[-1] + 1 if self._indices else 0
            self._indices.append(next(index for index in itertools.count(free) if index not in self._at_hosts))
        return self._indices[number]


def read_content(content: Any) -> Other:
    """A text that is no string, with what the client sees of it.

    Some servers send a list of entries, as in requests: `[{"type": "text", "text": "…"}]`.
    """
    texts: list[str | None] = []
    refusal = False
    for entry in content if isinstance(content, list) else [content]:
        if not isinstance(entry, dict):
            texts.append(shown_text(entry))
        elif entry.get("type") not in ("thinking", "reasoning"):
            texts.append(None if entry.get("content") else shown_text(entry.get("text")))
            refusal = refusal or bool(entry.get("refusal"))
    known = [text for text in texts if text is not None]
    return Other(body={"content": content}, shown="".join(known) if known == texts else None, refusal=refusal)


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


def written_call(part: Piece | Fragment, index: int | None = None) -> Json:
    """The entry of a call, or of a piece of it."""
    named = not isinstance(part, Piece) or part.begins
    head: Json = {} if index is None else {"index": index}
    head |= {"id": part.id, "type": "function"} if named and part.id else {}
    told = {"name": part.name} if named and (part.name or isinstance(part, Piece)) else {}
    told["arguments"] = part.arguments
    # Keys of the upstream stand behind ours, and what they say does not count.
    return {**head, **part.body, **head, "function": {**told, **part.body.get("function", {}), **told}}
