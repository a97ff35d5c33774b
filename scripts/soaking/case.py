"""A case of the soak: a committed recording, played under the default options with an id of its own.

Nothing of one flow can then be mistaken for another's. The expected calls are written by hand (`calls.json`).
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.upstream import Play, delivered
from toolcalls.cli.demo import RECORDINGS
from toolcalls.engine import Response, mend_whole, protocol_of
from toolcalls.recording import store
from toolcalls.recording.store import Recording
from toolcalls.request.request import decode, read_request

from .client import Manner

CHAT_PATH = "/v1/chat/completions"
EVENT_STREAM = "text/event-stream"
_ID = re.compile(rb'"id"\s*:\s*"([^"\\]{4,})"')


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
    statuses: tuple[str, ...] = ()
    """The status of each call in `before`."""
    delivered: int = 0
    """The number of calls that reach the client."""
    request_after: bytes | None = None
    """What must reach the upstream; None if that depends on earlier requests."""
    content_type: str = EVENT_STREAM
    status: int = 200
    fault: str = ""
    """The name of the fault, if the case itself is one, such as an error event."""
    cuts: tuple[int, ...] = ()
    """Where the upstream's chunks begin in the recording."""

    @property
    def streamed(self) -> bool:
        """Whether mitmdump streams the answer: the request asks for that, and the answer is events or lines."""
        asked = read_request(decode(self.request), self.protocol, self.path).stream
        return asked and self.content_type.startswith((EVENT_STREAM, "application/x-ndjson"))


@dataclass(slots=True)
class Turn:
    """A case, how the upstream plays it, and how the client takes it."""

    case: Case
    play: Play
    manner: Manner = field(default_factory=Manner)
    fault: str = ""
    sent: bytes = b""
    """The bytes that the upstream sent instead of the case's answer, if any."""
    complaint: str = ""
    """What is wrong with the request that reached the upstream."""

    @property
    def certain(self) -> bool:
        """Whether it is known what mitmdump saw: a broken connection discards what has not been read yet."""
        return not (self.play.breaks or self.play.resets or self.manner.leaves_after is not None)


class Recordings:
    """The recordings that play under the default options: over HTTP, and over WebSockets."""

    def __init__(self) -> None:
        loaded = [store.load(path) for path in store.find(RECORDINGS)]
        alone = [one for one in loaded if not one.options and not one.given_back]
        self.sockets = [one for one in alone if one.suffix == ".jsonl"]
        # An error is replaced by an answer only if it has a Content-Length, and the upstream of a soak sends none.
        self.http = [
            one
            for one in alone
            if one.suffix != ".jsonl" and (int(one.flow.get("status", 200)) < 400 or one.after == one.before)
        ]
        self._ids = {one.name: _identity(one) for one in self.http}

    def cases(self, chance: random.Random, tokens: Iterator[str]) -> Iterator[Case]:
        """An endless sequence of cases; each recording is repeated only after all the others."""
        while True:
            yield from (self.case(one, next(tokens)) for one in chance.sample(self.http, len(self.http)))

    def case(self, recording: Recording, token: str) -> Case:
        """The recording as a case, with the token in an id if that changes nothing else."""
        before, after = recording.before, recording.after or b""
        known = self._ids[recording.name]
        if known:
            unique = known + b"-" + token.encode()
            before, after = before.replace(known, unique), after.replace(known, unique)
        path = str(recording.flow.get("path", CHAT_PATH))
        return Case(
            name=recording.name,
            token=token,
            protocol=protocol_of(path) or "",
            path=path,
            request=recording.request or b"{}",
            before=before,
            after=after,
            statuses=tuple(str(call["status"]) for call in recording.calls or []),
            delivered=len(delivered(recording)),
            request_after=None if recording.refusals else recording.request_after or recording.request or b"{}",
            content_type=str(recording.flow.get("content_type") or EVENT_STREAM),
            status=int(recording.flow.get("status", 200)),
            fault="error event" if "error" in str(recording.flow.get("defect", "")) else "",
            cuts=() if known else tuple(recording.offsets),
        )


def _identity(recording: Recording) -> bytes:
    """An id of the answer that can be made unique without changing anything else; b"" if there is none."""
    protocol = protocol_of(str(recording.flow.get("path", CHAT_PATH))) or ""
    after = recording.after or b""
    for found in dict.fromkeys(_ID.findall(recording.before)):
        answer = Response(protocol, read_request(decode(recording.request)), seed=recording.seed)
        if found in after and mend_whole(answer, recording.before.replace(found, found + b"-token")) == after.replace(
            found, found + b"-token"
        ):
            return bytes(found)
    return b""
