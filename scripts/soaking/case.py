"""A case of the soak: a request, the upstream's answer to it, and what the client must get.

Each case is made for one request and has a token of its own in its ids (a made-up case also in its arguments and its
text), so that nothing of one flow can be mistaken for another's. The expected calls are written by hand
(`calls.json`, `Broken.mended`); the bytes around them are what the engine returns for the body in one piece.
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
"""The paths for streamed answers."""
WHOLE_PATHS = {**PATHS, "gemini": "/v1beta/models/m:generateContent"}
"""The paths for answers in one piece."""
EVENT_STREAM = "text/event-stream"
LINES = "application/x-ndjson"
STREAMS = {"ollama": LINES}
"""The content type of a stream, if it is not an event stream."""


@dataclass(slots=True, frozen=True)
class Case:
    """One request, the upstream's answer to it, and what the client must get."""

    name: str
    token: str
    protocol: str
    """The protocol of the path, which is also the label in /metrics."""
    path: str
    request: bytes
    before: bytes
    after: bytes
    statuses: tuple[str, ...]
    """The status of each call in `before`."""
    delivered: int
    """The number of calls that reach the client."""
    request_after: bytes | None = None
    """What must reach the upstream; None if that depends on earlier requests."""
    content_type: str = EVENT_STREAM
    status: int = 200
    fault: str = ""
    """The name of the fault, if the case itself is one, such as an error event."""
    cuts: tuple[int, ...] = field(default=())
    """Where the upstream's chunks begin in the recording."""

    @property
    def streamed(self) -> bool:
        return self.content_type.startswith((EVENT_STREAM, LINES))


class Wrong(Exception):
    """A case whose calls are not the expected ones, even without any traffic."""


def engine(case_path: str, request: bytes, body: bytes) -> tuple[bytes, list[str]]:
    """The bytes for the client and the status of each call, if the body is fed in one piece."""
    answer = Response(protocol_of(case_path) or "", read_request(decode(request)), seed=seed_of(request))
    mended = mend_whole(answer, body)
    if answer.failure is not None:
        raise Wrong(f"the engine failed open: {answer.failure!r}")
    return mended, [outcome.status for outcome in answer.outcomes]
