"""The client's side of one Chat choice: what its answer lets go, written as deltas."""

from __future__ import annotations

from collections.abc import Callable

from ...turn.answer import CompletedCall
from ...turn.live import LivePart
from ...wire.escaper import PLACEHOLDER, fill_placeholder
from .calls import Json, written_call

Write = Callable[[Json], bytes]


class DeltaWriter:
    """Writes chunks like those of the upstream: with its id, model and role."""

    __slots__ = ("_write", "envelope", "index", "legacy", "role")

    def __init__(self, index: int, write: Write) -> None:
        self.index = index
        self._write = write
        self.envelope: Json = {}
        self.role = ""
        """A role that came with something that is held: the first call that goes out carries it."""
        self.legacy = False
        """Calls are written in the old `function_call` form."""

    def remember(self, chunk: Json) -> None:
        """Keep what the chunks of this answer have in common."""
        if not self.envelope:
            self.envelope = {key: value for key, value in chunk.items() if key not in ("choices", "usage")}

    def keep_role(self, delta: Json) -> None:
        self.role = self.role or str(delta.get("role") or "")

    def chunk(self, chunk: Json, choice: Json, delta: Json) -> bytes:
        """A chunk of the upstream with another delta."""
        written = {key: value for key, value in choice.items() if key != "message"}
        return self._write({**chunk, "choices": [{**written, "delta": delta}]})

    def rest(self, delta: Json) -> bytes:
        """What was held of a delta besides its text."""
        return self.chunk(self.envelope, {"index": self.index}, delta)

    def note(self, note: str) -> bytes:
        """A line of text of ours."""
        return self._delta({"content": note})

    def end(self, reason: str, chunk: Json | None = None) -> bytes:
        """The chunk with the finish reason: the one that came with another reason in it, or one of ours."""
        choice = chunk["choices"][0] if chunk else {"index": self.index}
        return self.chunk(chunk or self.envelope, {**choice, "finish_reason": reason}, {})

    def keep_alive(self) -> bytes:
        """A chunk with an empty delta. No role: clients that put deltas together would have it twice."""
        return self.chunk(self.envelope, {"index": self.index, "finish_reason": None}, {})

    def call(self, call: CompletedCall) -> bytes | None:
        """A complete call as one delta; None where nothing of it is left to be sent."""
        outcome = call.outcome
        if call.live is not None:
            rest = call.live.rest(outcome)
            return self._delta(_arguments(call.live.number, rest)) if rest else None
        if outcome.dropped:
            return None
        arguments = PLACEHOLDER if call.pieces else outcome.arguments
        if self.legacy:
            written = self._delta({"function_call": {"name": outcome.name, "arguments": arguments}})
        else:
            entry = {"index": call.number, **written_call(outcome, arguments, call.extra)}
            written = self._delta({"tool_calls": [entry]})
        return fill_placeholder(written, call.pieces)

    def live(self, part: LivePart) -> bytes:
        """A part of a call that the client gets while it comes."""
        if not part.begins:
            return self._delta(_arguments(part.call.number, part.arguments))
        function = {"name": part.slot.name, "arguments": part.arguments}
        entry = {"index": part.call.number, "id": part.call.id, "type": "function", "function": function}
        return self._delta({"tool_calls": [{**entry, **part.slot.extra}]})

    def _delta(self, delta: Json) -> bytes:
        if self.role:
            delta = {"role": self.role, **delta}
            self.role = ""
        return self.chunk(self.envelope, {"index": self.index, "finish_reason": None}, delta)


def _arguments(number: int, arguments: str) -> Json:
    return {"tool_calls": [{"index": number, "function": {"arguments": arguments}}]}
