"""Responses over a WebSocket: the same events as over HTTP, one JSON text per frame, without SSE framing.

One object per connection; it does no input or output. Each frame is one event and goes through the same `Response`
as a stream, so its bytes are accounted for and it fails open in the same way. The tools are those of the last
request that declared some: follow-up frames of Codex carry `previous_response_id` and new items, but no tools.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from .engine import Response
from .outcome import Outcome
from .policy import Policy
from .request.history import CREATE, inner, objects_in, used_ids
from .request.mend import mend_request
from .request.read_by_model import ReadByModel
from .request.refusals import Refusals
from .request.request import decode, read_request, seed_of
from .wire.framing import type_of, write_message

_MOST_TEXTS = 64
_MOST_TEXTS_LENGTH = 16 * 1024 * 1024
"""How many of a connection's newest texts are remembered, and how many characters; the newest text always is."""
_MOST_IDS_LENGTH = 1024 * 1024
"""How many characters of ids are remembered; the oldest ids are forgotten first."""


@dataclass(slots=True)
class ResponsesSocket:
    """One WebSocket connection."""

    _policy: Policy = field(default_factory=Policy)
    _refusals: Refusals = field(default_factory=Refusals)
    outcomes: list[Outcome] = field(default_factory=list)
    """What happened to the calls of all responses on this connection so far."""
    request_steps: Counter[str] = field(default_factory=Counter)
    """What was mended in the frames of the client since the caller last reported it."""
    seconds: list[float] = field(default_factory=list)
    """How long mending took, one number per call."""
    failure: Exception | None = None
    """The last exception that made us fail open."""
    _request: dict[str, Any] = field(default_factory=dict)
    """What is known of the request that the next response answers."""
    response: Response = field(default_factory=lambda: Response("responses", messages=True))
    """The response to the last request that was answered."""
    _begins: bool = True
    """The next event is of another one."""
    _asked: int = 0
    """How many requests of the client have not been answered by a `response.created` yet."""
    _seed: str = ""
    _read_by_model: ReadByModel = field(default_factory=ReadByModel)
    _used: dict[str, None] = field(default_factory=dict)
    """The ids of this connection, the newest last: follow-up frames do not repeat the ids of earlier turns."""

    def client_message(self, text: str) -> str:
        """Take a frame of the client and return the frame to send upstream. The next response answers it."""
        message = decode(text)
        if message is None and type_of(text) == CREATE:
            # The request is too large to parse, so its tools are unknown; those of earlier requests do not apply.
            self._request, self._begins = {}, True
            self._asked += 1
        if message is None or message.get("type") != CREATE:
            return text
        request = inner(message)
        additional = [item for item in objects_in(request.get("input")) if item.get("type") == "additional_tools"]
        # A follow-up request need not say again what its tools are.
        kept = {key: request.get(key) or self._request.get(key) for key in ("model", "tools")}
        self._request = {**request, **kept, "input": additional or self._request.get("input"), "stream": True}
        # A follow-up frame contains only what is new, but the model still sees what earlier frames contained.
        self._remember_texts(*(ReadByModel.of_request(request).texts or ()))
        self._seed = seed_of(text.encode("utf-8", "replace"))
        self._remember_ids(used_ids(request))
        self._begins = True
        self._asked += 1
        try:
            body = text.encode("utf-8", "surrogatepass")
            changed = mend_request("responses", body, message, self._policy, self._refusals)
            if changed is None:
                return text
            self.request_steps.update(changed.steps)
            return changed.body.decode("utf-8", "surrogatepass")
        except Exception as failure:
            self.failure = failure
            return text

    def server_message(self, text: str) -> list[str]:
        """The frames to send the client instead of this one; none while a call is held."""
        kind = type_of(text)
        beside = '"sequence_number"' in text and not self._begins  # A number among those of the answer.
        if kind is None or not (kind.startswith("response.") or kind == "error" or beside):
            return [text]
        created = kind == "response.created"
        if self._begins or (created and self._asked):
            self._begin()
        # Another `response.created` for the same request means that the answer begins again.
        self._asked = max(self._asked - created, 0)
        response = self.response
        before, mended, raw = len(response.outcomes), len(response.seconds), write_message(text)
        out = response.feed(raw)
        decided = response.outcomes[before:]
        if decided:
            self._remember_ids(outcome.id for outcome in decided)
        self.outcomes += decided
        self.seconds += response.seconds[mended:]
        self.failure = response.failure or self.failure
        return [text if piece == raw else piece.decode("utf-8", "replace") for piece in out]

    def stop_holding(self) -> list[str]:
        """The messages that are held, as they arrived; the rest of this answer passes."""
        return [piece.decode("utf-8", "replace") for piece in self.response.stop_holding()]

    def keep_alive(self) -> str:
        """A message of the protocol without new content, sent to the client while a call is held."""
        return self.response.keep_alive().decode("utf-8", "replace")

    def _begin(self) -> None:
        self._remember_texts()
        used = frozenset(self._used)
        request = replace(read_request(self._request), used_ids=used, read_by_model=self._read_by_model)
        told = self._refusals.remember
        self.response = Response("responses", request, self._policy, messages=True, seed=self._seed, on_outcome=told)
        self._begins = False

    def _remember_texts(self, *texts: str) -> None:
        """Remember what the model was given to read, including what the last answer added."""
        read_by_model = self._read_by_model if self._begins else self.response.read_by_model
        known = [*(read_by_model.texts or ()), *texts][-_MOST_TEXTS:]
        self._read_by_model = ReadByModel(_newest(known, _MOST_TEXTS_LENGTH))

    def _remember_ids(self, ids: Iterable[str]) -> None:
        self._used = dict.fromkeys(_newest([*self._used, *ids], _MOST_IDS_LENGTH))


def _newest(texts: list[str], most: int) -> list[str]:
    """The newest of these, of so many characters in all; the newest always."""
    for count, text in enumerate(reversed(texts)):
        most -= len(text)
        if most < 0 and count:
            return texts[-count:]
    return texts
