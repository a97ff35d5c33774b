"""The OpenAI chunks that a converted answer is made of."""

from __future__ import annotations

from typing import Any

from ...turn import payload
from ...wire import sse

Json = dict[str, Any]

DONE = b"data: [DONE]\n\n"


class Chunks:
    """Writes the chunks of one answer: one id, one time and one model for all of them, the role first."""

    __slots__ = ("_head", "_identity", "_model", "begun")

    def __init__(self, identity: str, model: str) -> None:
        self._identity = identity
        self._model = model
        self._head: Json = {}
        self.begun = False

    def learn(self, data: Json) -> None:
        """Take what the upstream says about the answer, if it says so before the first chunk."""
        if self.begun:
            return
        identity, created, model = data.get("id"), data.get("created"), data.get("model")
        self._identity = identity if isinstance(identity, str) and identity else self._identity
        if isinstance(created, int):
            self._head["created"] = created
        self._model = self._model or (model if isinstance(model, str) else "")

    def say(self, delta: Json) -> list[bytes]:
        return [*self._begin(), self._choice(delta, None)]

    def keep_alive(self) -> bytes:
        """A chunk with an empty delta."""
        choice = {"index": 0, "delta": {}, "finish_reason": None}
        return sse.write(payload.write({**self._named(), "choices": [choice]}))

    def finish(self, reason: str, usage: Json | None, *, apart: bool) -> list[bytes]:
        """The end. Usage is a chunk of its own where the client asked for one, else it rides on the last chunk."""
        out = self._begin()
        if not apart:
            return [*out, self._choice({}, reason, {"usage": usage} if usage else {}), DONE]
        out.append(self._choice({}, reason))
        if usage:
            out.append(self._write([], {"usage": usage}))
        return [*out, DONE]

    @staticmethod
    def fail(message: str, kind: str, code: Any = None) -> list[bytes]:
        """An error ends the answer: no finish reason, so that nobody takes it for complete."""
        error = {"message": message, "type": kind, "param": None, "code": code}
        return [sse.write(payload.write({"error": error})), DONE]

    def _begin(self) -> list[bytes]:
        if self.begun:
            return []
        self.begun = True
        self._head = self._named()
        return [self._choice({"role": "assistant"}, None)]

    def _named(self) -> Json:
        """What all chunks begin with."""
        # The time is not ours to say: a recording has to give the same bytes tomorrow.
        created = self._head.get("created", 0)
        return {"id": self._identity, "object": "chat.completion.chunk", "created": created, "model": self._model}

    def _choice(self, delta: Json, reason: str | None, more: Json | None = None) -> bytes:
        return self._write([{"index": 0, "delta": delta, "finish_reason": reason}], more or {})

    def _write(self, choices: list[Json], more: Json) -> bytes:
        return sse.write(payload.write({**self._head, "choices": choices, **more}))
