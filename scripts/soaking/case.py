"""A case of the soak: a request, the upstream's answer to it, and what the client must get.

Each case is made for one request and carries a token of its own in its ids, and where it is made up in its
arguments and its text too, so that nothing of one flow can pass for another's. What the calls must be is written
by hand (`calls.json`, `Broken.mended`); the bytes around them are what the engine gives for the body in one piece.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from toolcalls.engine import Response, mend_whole, protocol_of
from toolcalls.request.request import decode, read_request, seed_of

PATHS = {
    "chat": "/v1/chat/completions",
    "messages": "/v1/messages",
    "responses": "/v1/responses",
    "ollama": "/api/chat",
    "gemini": "/v1beta/models/m:streamGenerateContent?alt=sse",
}
"""Where an answer is asked for as a stream."""
WHOLE_PATHS = {**PATHS, "gemini": "/v1beta/models/m:generateContent"}
"""Where it is asked for in one piece."""
EVENT_STREAM = "text/event-stream"
LINES = "application/x-ndjson"
STREAMS = {"ollama": LINES}
"""The content type of a stream, where it is not an event stream."""


@dataclass(slots=True, frozen=True)
class Case:
    """One request, the upstream's answer to it, and what the client must get."""

    name: str
    token: str
    protocol: str
    """The protocol of the path, which is what /metrics calls it."""
    path: str
    request: bytes
    before: bytes
    after: bytes
    statuses: tuple[str, ...]
    """What becomes of each call in `before`."""
    delivered: int
    """Calls that reach the client."""
    request_after: bytes | None = None
    """What must reach the upstream; None where that depends on earlier requests."""
    content_type: str = EVENT_STREAM
    status: int = 200
    fault: str = ""
    """The case is itself something that goes wrong, such as an error event."""
    cuts: tuple[int, ...] = field(default=())
    """Where the upstream's chunks begin in the recording."""

    @property
    def streamed(self) -> bool:
        return self.content_type.startswith((EVENT_STREAM, LINES))


class Wrong(Exception):
    """A case whose calls are not those that were written by hand: no soak is needed to see that."""


def engine(case_path: str, request: bytes, body: bytes) -> tuple[bytes, list[str]]:
    """The bytes for the client and the status of each call, as one piece gives them."""
    answer = Response(protocol_of(case_path) or "", read_request(decode(request)), seed=seed_of(request))
    mended = mend_whole(answer, body)
    if answer.failure is not None:
        raise Wrong(f"the engine failed open: {answer.failure!r}")
    return mended, [outcome.status for outcome in answer.outcomes]
