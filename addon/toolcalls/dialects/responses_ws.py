"""Responses over a WebSocket: the same events as on HTTP, one JSON text a frame, no SSE framing.

Sans-IO, one object a connection. Each frame is framed as an event and goes through the same `Answer` as a
stream, so the same books are kept and it fails open in the same way. The tools are those of the last request
that declared some: follow-up frames of Codex carry `previous_response_id` and new items, but no tools.
"""

from __future__ import annotations

import json
from typing import Any

from ..calls import Outcome
from ..engine import Answer
from ..policy import Policy
from ..request import read_question, seed_of
from ..wire import sse

_CREATE = "response.create"


class ResponsesSocket:
    """`failure` is the exception that made us fail open in the last response that had one."""

    __slots__ = ("_answer", "_policy", "_request", "_seed", "_started", "failure", "outcomes")

    def __init__(self, policy: Policy | None = None) -> None:
        self._policy = policy or Policy()
        self._request: dict[str, Any] | None = None
        self._seed = ""
        self._answer: Answer | None = None
        self._started = False
        self.outcomes: list[Outcome] = []
        """What became of the calls of all responses on this connection so far."""
        self.failure: Exception | None = None

    def client_message(self, text: str) -> None:
        """A frame of the client, which always goes on as it is: the next response is its answer."""
        message = _object(text)
        if message is None or message.get("type") != _CREATE:
            return
        inner = message.get("response")
        request = inner if isinstance(inner, dict) else message
        kept = self._request or {}
        self._request = {"model": request.get("model", kept.get("model")), "stream": True}
        self._request["tools"] = request.get("tools") or kept.get("tools")
        additional = [item for item in _items(request) if item.get("type") == "additional_tools"]
        self._request["input"] = additional or kept.get("input")
        self._seed = seed_of(text.encode("utf-8", "replace"))
        self._answer = None

    def server_message(self, text: str) -> list[str]:
        """The frames to deliver instead of this one; none while a call is held."""
        message = _object(text)
        kind = message.get("type") if message is not None else None
        if not isinstance(kind, str) or not (kind.startswith("response.") or kind == "error"):
            return [text]
        if self._answer is None or (kind == "response.created" and self._started):
            self._begin()
        assert self._answer is not None
        self._started = True
        before = len(self._answer.outcomes)
        framed = _framed(text, kind)
        out = self._answer.feed(framed)
        self.outcomes += self._answer.outcomes[before:]
        self.failure = self._answer.failure or self.failure
        if out == [framed]:
            return [text]
        return [data for raw in sse.split(b"".join(out)) if (data := sse.read_event(raw).data) is not None]

    def _begin(self) -> None:
        self._answer = Answer("responses", read_question(self._request), self._policy, seed=self._seed)
        self._started = False


def _framed(text: str, kind: str) -> bytes:
    # Line ends stand between the tokens of a JSON text, never inside a string.
    data = text.replace("\r", " ").replace("\n", " ")
    return sse.write(data, kind)


def _object(text: str) -> dict[str, Any] | None:
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def _items(request: dict[str, Any]) -> list[dict[str, Any]]:
    items = request.get("input")
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
