"""Writes what an answer releases as chunks of a Chat stream, each with one choice."""

from __future__ import annotations

from ...outcome import Outcome
from ...turn import payload
from ...turn.answer import CompletedCall
from ...turn.finish_reason import FinishWords
from ...turn.live import LivePart
from ...wire import sse
from ...wire.escaper import PLACEHOLDER, fill_placeholder
from ..answer_io import StreamWriter
from .reader import CALLS, Json, ReadChoice, has_content

DONE = b"data: [DONE]\n\n"
WORDS = FinishWords("tool_calls", "stop", frozenset({"other", "unknown"}))
LEGACY_WORDS = FinishWords("function_call", "stop", frozenset({"other", "unknown"}))


def write(chunk: Json) -> bytes:
    return sse.write(payload.write(chunk))


class DeltaWriter(StreamWriter[ReadChoice]):
    """Writes chunks like those of the upstream: with its id, model and role."""

    def __init__(self, index: int = 0) -> None:
        self._index = index
        self.envelope: Json = {}
        """The fields that all chunks of this answer have in common."""
        self._role = ""
        """A role that arrived in an event that is held: the first call or note that is sent carries it."""
        self._legacy = False
        self.words = WORDS

    def write_legacy(self, legacy: bool) -> None:
        """Choose whether calls are written in the old `function_call` form."""
        self._legacy = legacy
        self.words = LEGACY_WORDS if legacy else WORDS

    def remember(self, read: ReadChoice, *, held: bool = False) -> None:
        if not self.envelope:
            self.envelope = {key: value for key, value in read.payload.items() if key not in ("choices", "usage")}
        if held:
            self._role = self._role or str(read.delta.get("role") or "")

    # A chunk of the upstream with another delta

    def text(self, read: ReadChoice | None, text: str) -> bytes:
        delta: Json = {"content": text}
        return _copy_with(read, delta) if read is not None else self._chunk({}, delta)

    def calls(self, read: ReadChoice) -> bytes:
        calls = {key: value for key, value in read.delta.items() if key in CALLS and value}
        return _copy_with(read, calls, logprobs=None)

    def without_calls(self, read: ReadChoice, texts: list[bytes] | None, *, calls_follow: bool) -> list[bytes]:
        rest = {key: value for key, value in read.delta.items() if key not in CALLS}
        if texts is not None and isinstance(rest.get("content"), str):
            del rest["content"]
        needs_chunk = has_content(rest)
        if read.stop is None:
            usage, logprobs = read.payload.get("usage"), read.choice.get("logprobs")
            needs_chunk = needs_chunk or bool(usage or logprobs) or bool(calls_follow and rest.get("role"))
        if needs_chunk:
            return [_copy_with(read, rest, usage=read.stop is None), *(texts or [])]
        if read.fragments and not calls_follow:
            self._role = self._role or str(rest.get("role") or "")
        return texts or []

    def end(self, read: ReadChoice | None, reason: str) -> bytes:
        if read is None:
            return self._chunk({"finish_reason": reason}, {})
        choice = {**read.choice, "index": self._index, "finish_reason": reason}
        return write_choice(read.payload, choice, {})

    def ends_again(self, read: ReadChoice) -> bool:
        return bool(read.payload.get("usage"))

    # Chunks of ours

    def note(self, note: str) -> bytes:
        return self.delta({"content": note})

    def keep_alive(self) -> bytes:
        """A chunk with an empty delta. It has no role, because clients that join deltas would get the role twice."""
        return self._chunk({"finish_reason": None}, {})

    def call(self, call: CompletedCall) -> bytes:
        outcome = call.outcome
        arguments = PLACEHOLDER if call.pieces else outcome.arguments
        if self._legacy:
            written = self.delta({"function_call": {"name": outcome.name, "arguments": arguments}})
        else:
            entry = {"index": call.number, **written_call(outcome, arguments, call.extra)}
            written = self.delta({"tool_calls": [entry]})
        return fill_placeholder(written, call.pieces)

    def live(self, part: LivePart) -> bytes:
        if not part.begins:
            return self.rest_of_call(part.live.number, part.arguments)
        function = {"name": part.live.name, "arguments": part.arguments}
        entry = {"index": part.live.number, "id": part.live.id, "type": "function", "function": function}
        return self.delta({"tool_calls": [{**entry, **part.assembled.extra}]})

    def rest_of_call(self, number: int, arguments: str) -> bytes:
        return self.delta({"tool_calls": [{"index": number, "function": {"arguments": arguments}}]})

    def delta(self, delta: Json) -> bytes:
        """A chunk with this delta, and with the role if one was held."""
        if self._role:
            delta = {"role": self._role, **delta}
            self._role = ""
        return self._chunk({"finish_reason": None}, delta)

    def _chunk(self, choice: Json, delta: Json) -> bytes:
        return write({**self.envelope, "choices": [{"index": self._index, **choice, "delta": delta}]})


def write_choice(chunk: Json, choice: Json, delta: Json) -> bytes:
    """A chunk with this one choice and this delta."""
    written = {key: value for key, value in choice.items() if key != "message"}
    return write({**chunk, "choices": [{**written, "delta": delta}]})


def _copy_with(read: ReadChoice, delta: Json, *, usage: bool = False, **choice: None) -> bytes:
    """A copy of the parsed chunk with another delta, without the finish reason. `usage`: keep the usage."""
    chunk = read.payload
    if read.stop is not None or (chunk.get("usage") and not usage):
        chunk = {**chunk, "usage": None}
    ended = {"finish_reason": None} if read.stop is not None else {}
    return write_choice(chunk, {**read.choice, **ended, **choice}, delta)


def written_call(outcome: Outcome, arguments: str, extra: Json) -> Json:
    function = {"name": outcome.name, "arguments": arguments}
    return {"id": outcome.id, "type": "function", "function": function, **extra}
