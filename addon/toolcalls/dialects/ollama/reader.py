"""Turns the lines of Ollama's `/api/chat` into parts. A response that is not streamed is one such line.

{"model":…,"created_at":…,"message":{"role":"assistant","content":"…","thinking":"…","tool_calls":[…]},"done":false}

A call arrives in one piece, its arguments as an object: {"id":…,"function":{"index":0,"name":…,"arguments":{…}}}. The
last line contains `"done":true` and the reason; an error is a line `{"error":"…"}` that replaces the rest.
"""

from __future__ import annotations

from typing import Any

from ...mend.finish import Finish
from ...mend.reading import strict
from ...turn import payload
from ...turn.parts import (
    Failure,
    Fragment,
    OtherDelta,
    Part,
    ReadEvent,
    ReasoningDelta,
    Stop,
    TextDelta,
    index_of,
    string_of,
)
from ...wire import ndjson
from ...wire.events import Event
from ..answer_io import AnswerReader, ProtocolTraits
from ..listed_content import read_content

Json = dict[str, Any]

STOPPED = "stop"
_LINE = frozenset({"model", "created_at", "message", "done", "done_reason"})
_MESSAGE = frozenset({"role", "content", "tool_calls"})
_FUNCTION = ("index", "name", "arguments")


class OllamaReader(AnswerReader):
    traits = ProtocolTraits(whole_calls=True, needs_ids=False, text_key="content")

    def __init__(self) -> None:
        self.head: Json = {}
        """The model and the time from the last line: clients need both in every line that we write."""
        self._indices: set[int] = set()
        self._ends = 0
        """How many lines were marked as the last one."""

    def read(self, event: Event) -> ReadEvent | None:
        line = payload.read_strict(event.data or "")
        if not isinstance(line, dict):
            return None
        if "error" in line:
            return ReadEvent(event.raw, line, [Failure()])
        if message_of(line).get("tool_calls"):
            # Keep every number as it is spelled. A line with a number that JSON readers do not have (1e400) is not
            # handled, because that number could not be written again.
            line = payload.read_twice(event.data or "")[1]
            if line is None:
                return None
        message = message_of(line)
        self.head = {key: line[key] for key in ("model", "created_at") if key in line}
        more = any(value for key, value in message.items() if key not in _MESSAGE)
        more = more or bool(message.get("content") and not isinstance(message["content"], str))
        more = more or any(value for key, value in line.items() if key not in _LINE)
        answer_id = str(self._ends)
        self._ends += is_last(line)
        return ReadEvent(event.raw, line, self._parts(line, message), has_other_content=more, answer_id=answer_id)

    def read_apart(self, event: Event) -> list[ReadEvent]:
        read = self.read(event)
        if read is None:
            return []
        thinking = message_of(read.payload).get("thinking")
        if read.stop is None or not thinking or not isinstance(thinking, str):
            return [read]
        # Reasoning is sent at once, but the end may have to wait.
        rest = {key: value for key, value in message_of(read.payload).items() if key != "thinking"}
        last = {**read.payload, "message": rest}
        first = {**self.head, "message": {"role": "assistant", "content": "", "thinking": thinking}, "done": False}
        parts: list[Part] = [part for part in read.parts if not isinstance(part, ReasoningDelta)]
        more = any(value for key, value in last.items() if key not in _LINE)
        return [
            ReadEvent(write_line(first), first, [ReasoningDelta(thinking)], has_other_content=True),
            ReadEvent(write_line(last), last, parts, has_other_content=more, answer_id=read.answer_id),
        ]

    def _parts(self, line: Json, message: Json) -> list[Part]:
        """The parts of a line. `message`: its message."""
        parts: list[Part] = []
        thinking = message.get("thinking")
        if thinking:
            parts.append(ReasoningDelta(thinking, "thinking") if isinstance(thinking, str) else OtherDelta())
        content = message.get("content")
        if not isinstance(content, str):
            parts += read_content(content)
        elif content:
            parts.append(TextDelta(content))
        calls = message.get("tool_calls")
        if isinstance(calls, list):
            parts += [self._call(entry) for entry in calls if isinstance(entry, dict)]
        if is_last(line):
            reason = line.get("done_reason")
            # Older servers do not send a reason.
            word = reason if reason and isinstance(reason, str) else STOPPED
            parts.append(Stop(word, Finish.of(reason)))
        return parts

    def _call(self, entry: Json) -> Fragment:
        """The fragment for an entry of `tool_calls`, which is a whole call."""
        function = entry.get("function")
        steps: list[str] = []
        if not isinstance(function, dict):
            function = {key: entry[key] for key in _FUNCTION if key in entry}
            entry = {key: value for key, value in entry.items() if key not in (*_FUNCTION, "function")}
            steps.append("function around the call")
        arguments = function.get("arguments")
        if not isinstance(arguments, dict):
            steps.append("arguments made an object")
        index = index_of(function.get("index"))
        if index in self._indices:
            index = self.free_index()
            steps.append("index of its own")
        elif index is not None:
            self._indices.add(index)
        return Fragment(
            None,
            string_of(entry.get("id")),
            string_of(function.get("name")),
            "" if arguments is None else arguments if isinstance(arguments, str) else strict.write(arguments),
            {**entry, "function": {**function, **({} if index is None else {"index": index})}},
            steps=tuple(steps),
        )

    def free_index(self) -> int:
        """An index that no call of the answer uses yet."""
        index = max(self._indices, default=-1) + 1
        self._indices.add(index)
        return index


def message_of(line: Json) -> Json:
    message = line.get("message")
    return message if isinstance(message, dict) else {}


def write_line(line: Json) -> bytes:
    return ndjson.write(strict.write(line))


def is_line(line: Json) -> bool:
    """Whether this is a line of Ollama's protocol and not an event of another one."""
    return isinstance(line.get("message"), dict) and isinstance(line.get("done"), bool)


def is_last(line: Json) -> bool:
    return line.get("done") is True
