"""Cases made from the committed recordings."""

from __future__ import annotations

import re

from toolcalls.cli.demo import recordings_directory
from toolcalls.engine import protocol_of
from toolcalls.outcome import STRUCTURED
from toolcalls.recording import store
from toolcalls.recording.store import Recording

from .case import EVENT_STREAM, PATHS, Case, engine

_ID = re.compile(rb'"id"\s*:\s*"([^"\\]{4,})"')


class Scenarios:
    """The recordings that play under the default options."""

    def __init__(self) -> None:
        loaded = [store.load(path) for path in store.find(recordings_directory())]
        alone = [one for one in loaded if not one.options and one.suffix != ".jsonl" and not one.given_back]
        # An error is replaced by an answer only if it has a Content-Length, and the upstream of a soak sends none.
        self.recordings = [one for one in alone if int(one.flow.get("status", 200)) < 400 or one.after == one.before]
        self._ids = {one.name: _identity(one) for one in self.recordings}

    def case(self, recording: Recording, token: str) -> Case:
        """The recording as a case, with the token in an id if that changes nothing else."""
        before, after = recording.before, recording.after or b""
        known = self._ids[recording.name]
        if known:
            unique = known + b"-" + token.encode()
            before, after = before.replace(known, unique), after.replace(known, unique)
        calls = recording.calls or []
        path = str(recording.flow.get("path", PATHS["chat"]))
        told = recording.request_after or recording.request or b"{}"
        defect = str(recording.flow.get("defect", ""))
        return Case(
            name=recording.name,
            token=token,
            protocol=protocol_of(path) or "",
            path=path,
            request=recording.request or b"{}",
            before=before,
            after=after,
            statuses=tuple(str(call["status"]) for call in calls if call.get("name") != STRUCTURED),
            delivered=len(recording.delivered),
            request_after=None if "refusal" in recording.name else told,
            content_type=str(recording.flow.get("content_type") or EVENT_STREAM),
            status=int(recording.flow.get("status", 200)),
            fault="error event" if "error" in defect else "",
            cuts=tuple(recording.offsets) if before is recording.before else (),
        )


def _identity(recording: Recording) -> bytes:
    """An id of the answer that can be made unique without changing anything else; b"" if there is none."""
    path = str(recording.flow.get("path", PATHS["chat"]))
    after = recording.after or b""
    for found in dict.fromkeys(_ID.findall(recording.before)):
        changed = recording.before.replace(found, found + b"-token")
        if found in after and engine(path, recording.request, changed)[0] == after.replace(found, found + b"-token"):
            return bytes(found)
    return b""
