"""What an answer lets go → chunks of a Chat stream, with nothing of the upstream that they could be like."""

from __future__ import annotations

from typing import Any, Final

from ...turn.finish_reason import FinishWords
from ...turn.parts import Fragment, OtherDelta, ReasoningDelta, TextDelta
from ..chat.reader import ReadChoice
from ..chat.writer import DONE, DeltaWriter, write
from .envelope import Json

_WORDS: Final = FinishWords("tool_calls", "stop", frozenset({"length"}))
"""With a call it is `tool_calls`, whatever limit the upstream names."""


class ZaiWriter(DeltaWriter):
    """Chat's writer: one id, one time and one model for all chunks, the role first."""

    def __init__(self, identity: str, model: str) -> None:
        super().__init__()
        # The time is not ours to say: a recording has to give the same bytes tomorrow.
        self.envelope = {"id": identity, "object": "chat.completion.chunk", "created": 0, "model": model}
        self.words = _WORDS
        self._fixed = False
        """A chunk was made: the next ones have to be like it."""
        self._has_role = False
        """The client has the role."""

    def learn(self, data: Json) -> None:
        """Take what the upstream says about the answer, if it says so before the first chunk."""
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
        """The part in a chunk that says it. A fragment goes out with its call, and other things not at all."""
        delta: Json = {}
        if isinstance(part, TextDelta | ReasoningDelta):
            delta = {"content" if isinstance(part, TextDelta) else "reasoning_content": part.text}
            self._fixed = True
        chunk = self._written(delta, None)
        raw, more = write(chunk) if delta else b"", isinstance(part, ReasoningDelta)
        return ReadChoice(raw, chunk, [part], more, choice=chunk["choices"][0], delta=delta)

    def begun(self, out: list[bytes]) -> list[bytes]:
        """These chunks, and before the first of all the one with the role."""
        if self._has_role or not out:
            return out
        self._fixed = self._has_role = True
        return [self._chunk({}, {"role": "assistant"}), *out]

    def finish(self, reason: str, usage: Json | None, *, apart: bool) -> list[bytes]:
        """The end. Usage is a chunk of its own where the client asked for one, else it rides on the last chunk."""
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
    """An error ends the answer: no finish reason, so that nobody takes it for complete."""
    return [write({"error": {"message": message, "type": kind, "param": None, "code": code}}), DONE]
