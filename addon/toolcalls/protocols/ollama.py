"""Ollama's own `/api/chat`: lines of JSON, and calls that arrive in one piece.

    {"model", "created_at", "message": {"role", "content", "thinking", "tool_calls"}, "done": false}
    the last line has `"done": true`, a `done_reason` and counts; an error is a line `{"error": …}`

Clients insist on the model, the time and a message with role and content in every line, and stop reading at the last
line and at a blank one. `stop` is the right reason even if there are calls. `/api/generate` has no tools.
"""

from __future__ import annotations

from typing import Any

from .. import payload
from ..finish_reason import FinishWords
from ..mend import strict
from ..mend.finish import Finish
from ..mend.mender import Mender
from ..parts import Fragment, Json, Other, Part, Piece, Stop, Text, Thought
from ..payload import index_of, says, string_of
from ..policy import Policy
from ..request.request import Request, tokens_in
from ..wire.framing import NDJSON
from ..wire.sse import Event
from .chat_choice import read_content
from .protocol import Failed, Protocol

STOPPED = "stop"
_EMPTY: Json = {"role": "assistant", "content": ""}
_LINE = frozenset({"model", "created_at", "message", "done", "done_reason"})
_MESSAGE = frozenset({"role", "content", "tool_calls", "thinking"})
_FUNCTION = ("index", "name", "arguments")


class Ollama(Protocol):
    framing = NDJSON
    words = FinishWords(calls=STOPPED, stop=STOPPED)
    needs_ids = False
    text_needs_reason = True

    def __init__(self, request: Request, policy: Policy, mender: Mender) -> None:
        super().__init__(request, policy, mender)
        self._head: Json = {}
        """The model and the time of the last line: clients need both in every line."""
        self._indices: set[int] = set()
        self._ends = 0
        self._has_tools = len(request.tools) > 0

    def take(self, event: Event) -> list[bytes]:
        if event.data is None:
            return [] if self.answer.has_calls and self.tail else [event.raw]  # Some clients stop at a blank line.
        return super().take(event)

    def is_document(self, first: Event) -> bool:
        line = payload.read_strict(first.data or "")
        return isinstance(line, dict) and line.get("done") is True

    # An event

    def read(self, event: Event) -> list[Part] | None:
        line = payload.read_strict(event.data or "")
        if not isinstance(line, dict):
            return None
        if "error" in line:
            raise Failed
        if _message(line).get("tool_calls"):
            # Every number as it is spelled. What has a number that cannot be written again (1e400) is left alone.
            line = payload.read_twice(event.data or "")[1]
            if line is None:
                return None
        self._head = {key: line[key] for key in ("model", "created_at") if key in line}
        self.answer.id = str(self._ends)
        parts = self._read_message(_message(line)) + self._read_end(line)
        self.answer.call_may_follow = self._has_tools and len(parts) == 1
        return parts

    def _read_message(self, message: Json) -> list[Part]:
        parts: list[Part] = []
        thinking, content, calls = (message.get(key) for key in ("thinking", "content", "tool_calls"))
        if thinking:
            body = {"thinking": thinking}
            parts.append(Thought(thinking, body=body) if isinstance(thinking, str) else Other(body=body))
        if isinstance(content, str):
            parts += [Text(content)] if content else []
        else:
            parts += [read_content(content)] if content else []
        more = {key: value for key, value in message.items() if says(value) and key not in _MESSAGE}
        if more:
            parts.append(Other(body=more, quiet=True))
        if isinstance(calls, list):
            parts += [self._read_call(entry) for entry in calls if isinstance(entry, dict)]
        return parts

    def _read_call(self, entry: Json) -> Fragment:
        function, steps = entry.get("function"), list[str]()
        if not isinstance(function, dict):
            function = {key: entry[key] for key in _FUNCTION if key in entry}
            entry = {key: value for key, value in entry.items() if key not in (*_FUNCTION, "function")}
            steps.append("function around the call")
        arguments = function.get("arguments")
        if not isinstance(arguments, dict):
            steps.append("arguments made an object")
        index = index_of(function.get("index"))
        if index in self._indices:
            index = self._free_index()
            steps.append("index of its own")
        elif index is not None:
            self._indices.add(index)
        text = "" if arguments is None else arguments if isinstance(arguments, str) else strict.write(arguments)
        body = {**entry, "function": {**function, **({} if index is None else {"index": index})}}
        name, wanted = string_of(function.get("name")), string_of(entry.get("id"))
        return Fragment(index, wanted, name, text, whole=True, steps=tuple(steps), body=body)

    def _free_index(self) -> int:
        index = max(self._indices, default=-1) + 1
        self._indices.add(index)
        return index

    def _read_end(self, line: Json) -> list[Part]:
        """The last line's reason, which older servers do not send; its counts belong to it."""
        more = {key: value for key, value in line.items() if says(value) and key not in _LINE}
        if line.get("done") is not True:
            return [Other(body={"line": more}, quiet=True)] if more else []
        self._ends += 1
        reason = line.get("done_reason")
        word = reason if reason and isinstance(reason, str) else STOPPED
        return [Stop(word, Finish.of(reason), {"line": line}, tokens_in(line, "eval_count"))]

    # Writing

    def write(self, part: Part) -> bytes:
        match part:
            case Text():
                return self._line({"content": part.text})
            case Piece() | Fragment():
                return self._line({"tool_calls": [self._entry(part)]})
            case Stop():
                line = part.body.get("line") or {**self._head, "message": {}, "done": True}
                return _written({**line, "message": _EMPTY, "done_reason": part.reason})
            case Other() if "line" in part.body:
                return self._line({}, **part.body["line"])
        return self._line(part.body)

    def write_document(self, body: bytes, parts: list[Part]) -> bytes:
        line = payload.object_in(body) or {}
        texts = "".join(part.text for part in parts if isinstance(part, Text))
        calls = [self._entry(part) for part in parts if isinstance(part, Piece | Fragment)]
        message = {**_EMPTY, **{key: value for key, value in _message(line).items() if key != "tool_calls"}}
        if texts or isinstance(message["content"], str):
            message["content"] = texts
        stop = next((part.reason for part in parts if isinstance(part, Stop)), None)
        ended = {} if stop is None else {"done_reason": stop}
        written = _written({**line, "message": {**message, **({"tool_calls": calls} if calls else {})}, **ended})
        return written if body.endswith(b"\n") else written.removesuffix(b"\n")

    def keep_alive(self) -> bytes:
        """A full line with an empty message, because clients stop at anything shorter."""
        return self._line({})

    def _line(self, message: Json, **more: Any) -> bytes:
        return _written({**self._head, "message": {**_EMPTY, **message}, "done": False, **more})

    def _entry(self, part: Piece | Fragment) -> Json:
        """The call as the client gets it: the original entry with the outcome's name, arguments and id."""
        if isinstance(part, Fragment):
            return part.body
        function = part.body["function"] if part.body else {"index": self._free_index()}
        value = payload.read_twice(part.arguments)[1]
        # Arguments that are no object are written as they are: the user's options leave this call alone.
        named = {**function, "name": part.name, "arguments": part.arguments if value is None else value}
        return {**part.body, **({"id": part.id} if part.id else {}), "function": named}


def _message(line: Json) -> Json:
    message = line.get("message")
    return message if isinstance(message, dict) else {}


def _written(line: Json) -> bytes:
    return NDJSON.write(strict.write(line), "")


def is_line(line: Json) -> bool:
    """Whether this is a line of Ollama's protocol and not an event of another one."""
    return isinstance(line.get("message"), dict) and isinstance(line.get("done"), bool)
