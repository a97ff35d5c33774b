"""Writes what an answer releases as chunks of a Chat stream, without upstream chunks to copy from."""

from __future__ import annotations

from typing import Any, Final

from ...turn.finish_reason import FinishWords
from ...turn.parts import Fragment, OtherDelta, ReasoningDelta, TextDelta
from ..chat.reader import ReadChoice
from ..chat.writer import DONE, DeltaWriter, write
from .envelope import Json

_WORDS: Final = FinishWords("tool_calls", "stop", frozenset({"length"}))
"""With a call the finish reason is `tool_calls`, even if the upstream sent `length`."""


class ZaiWriter(DeltaWriter):
    """Chat's writer, with one id, time and model for all chunks, and the role in the first chunk."""

    def __init__(self, identity: str, model: str) -> None:
        super().__init__()
        # Not the current time, because replaying a recording has to give the same bytes every time.
        self.envelope = {"id": identity, "object": "chat.completion.chunk", "created": 0, "model": model}
        self.words = _WORDS
        self._fixed = False
        """A chunk was written: the next ones need the same id, time and model."""
        self._has_role = False
        """The role was sent to the client."""

    def take_envelope(self, data: Json) -> None:
        """Take the id, time and model from the upstream, if they arrive before the first chunk is written."""
        if self._fixed:
            return
        identity, created, model = data.get("id"), data.get("created"), data.get("model")
        if isinstance(identity, str) and identity:
            self.envelope["id"] = identity
        if isinstance(created, int):
            self.envelope["created"] = created
        if isinstance(model, str) and not self.envelope["model"]:
            self.envelope["model"] = model

    def read(self, part: TextDelta | ReasoningDelta | OtherDelta | Fragment) -> ReadChoice:
        """The part in a chunk of its own. A fragment is sent only with its call, and other parts are not sent."""
        delta: Json = {}
        if isinstance(part, TextDelta | ReasoningDelta):
            delta = {"content" if isinstance(part, TextDelta) else "reasoning_content": part.text}
            self._fixed = True
        chunk = self._written(delta, None)
        raw, more = write(chunk) if delta else b"", isinstance(part, ReasoningDelta)
        return ReadChoice(raw, chunk, [part], more, choice=chunk["choices"][0], delta=delta)

    def begun(self, out: list[bytes]) -> list[bytes]:
        """These chunks, preceded by the chunk with the role if they are the first ones."""
        if self._has_role or not out:
            return out
        self._fixed = self._has_role = True
        return [self._chunk({}, {"role": "assistant"}), *out]

    def finish(self, reason: str, usage: Json | None, *, apart: bool) -> list[bytes]:
        """The end of the stream. `apart`: the client asked for usage in a chunk of its own, not in the last chunk."""
        last = self._written({}, reason)
        out = [{**self.envelope, "choices": [], "usage": usage}] if usage and apart else []
        if usage and not apart:
            last["usage"] = usage
        return self.begun([*map(write, [last, *out]), DONE])

    def _written(self, delta: Json, reason: str | None) -> Json:
        return {**self.envelope, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    def _chunk(self, choice: Json, delta: Json) -> bytes:
        return write(self._written(delta, choice.get("finish_reason")))


def failure(message: str, kind: str, code: Any = None) -> list[bytes]:
    """The end of a failed answer: an error and no finish reason, so that no client takes the answer for complete."""
    return [write({"error": {"message": message, "type": kind, "param": None, "code": code}}), DONE]
