"""Writes what an answer releases as lines of Ollama's `/api/chat`.

Each line has everything that clients require: the model, the time, a message with role and content, and `done`. The
protocol has no finish reason for calls: `stop` is correct even if there are calls.
"""

from __future__ import annotations

from typing import Any

from ...turn import payload
from ...turn.answer import CompletedCall
from ...turn.finish_reason import FinishWords
from ...turn.parts import ReadEvent
from ..answer_io import AnswerWriter
from .reader import STOPPED, OllamaReader, message_of, write_line

Json = dict[str, Any]

_EMPTY: Json = {"role": "assistant", "content": ""}


class OllamaWriter(AnswerWriter):
    words = FinishWords(calls=STOPPED, stop=STOPPED)

    def __init__(self, reader: OllamaReader) -> None:
        self._reader = reader

    def text(self, read: ReadEvent | None, text: str) -> bytes:
        return self._line({**_EMPTY, "content": text})

    def rest(self, read: ReadEvent) -> bytes:
        return write_line({**read.payload, "message": _without_content(read)})

    def calls(self, read: ReadEvent) -> bytes:
        return self._line({**_EMPTY, "tool_calls": message_of(read.payload).get("tool_calls")})

    def call(self, call: CompletedCall) -> bytes:
        return self._line({**_EMPTY, "tool_calls": [self._entry(call)]})

    def end(self, read: ReadEvent | None, reason: str) -> bytes:
        if read is None:
            return self._line(_EMPTY, done=True, done_reason=reason)
        return write_line({**read.payload, "message": _without_content(read), "done_reason": reason})

    def document(self, read: ReadEvent, texts: list[str], calls: list[CompletedCall], reason: str | None) -> bytes:
        message = _without_content(read)
        message["content"] = "".join(texts) or message["content"]
        if calls:
            message["tool_calls"] = [self._entry(call) for call in calls]
        stopped = {} if reason is None else {"done_reason": reason}
        written = write_line({**read.payload, "message": message, **stopped})
        return written if read.raw.endswith(b"\n") else written.removesuffix(b"\n")

    def keep_alive(self) -> bytes:
        """A full line with an empty message, because clients stop at anything shorter, above all at a blank line."""
        return self._line(_EMPTY)

    def _line(self, message: Json, **end: Any) -> bytes:
        return write_line({**self._reader.head, "message": message, "done": False, **end})

    def _entry(self, call: CompletedCall) -> Json:
        """The original call with the name, the arguments and the id that the client gets."""
        outcome, original = call.outcome, call.extra
        function = original["function"] if original else {"index": self._reader.free_index()}
        value = payload.read_twice(outcome.arguments)[1]
        # Arguments that are not an object are written unchanged: the user's options leave this call alone.
        arguments = value if isinstance(value, dict) else outcome.arguments
        named = {**function, "name": outcome.name, "arguments": arguments}
        return {**original, **({"id": outcome.id} if outcome.id else {}), "function": named}


def _without_content(read: ReadEvent) -> Json:
    """The message of a line, without its text and its calls."""
    kept = {key: value for key, value in message_of(read.payload).items() if key != "tool_calls"}
    content = kept.pop("content", "")
    return {**_EMPTY, **kept, "content": content if content and not isinstance(content, str) else ""}
