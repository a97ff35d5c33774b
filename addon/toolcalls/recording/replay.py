"""Replays a recording through this version, and finds what differs from what was recorded or expected."""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from typing import Any

from ..engine import Response
from ..reasons import STATUS_WORDS
from ..request.mend import mend_request
from ..request.refusals import Refusals
from ..request.request import decode, read_request
from ..websocket import ResponsesSocket
from . import store
from .redact import redact_bytes
from .store import Frame, Recording, frames_in


@dataclass(slots=True)
class Replayed:
    recording: Recording
    after: bytes
    calls: list[dict[str, Any]]
    failure: Exception | None
    request_after: bytes | None = None
    held: list[tuple[float, float]] = field(default_factory=list)
    """When calls were held, from and to, in milliseconds from the first chunk, if times were recorded."""

    @property
    def drift(self) -> list[str]:
        """What differs from the recording, as lines for a human; empty if nothing does."""
        recording, lines = self.recording, []
        if self.failure is not None:
            lines.append(f"the engine failed open: {self.failure!r}")
        # As the recorder would write it: a credential that was in pieces in `before` may be whole here.
        after, name = redact_bytes(self.after), f"after{recording.suffix}"
        if recording.own and recording.after is None:
            lines.append(f"there is no {name}: write it with --update")
        elif recording.after not in (None, self.after, after):
            recorded = recording.after or b""
            same = recording.frames and _sides(recorded) == _sides(after)
            lines += [] if same else difference(recorded, after, name)
        if recording.own:
            # As values: what is changed is written anew, and earlier versions kept the client's spelling of the rest.
            recorded, today = (one or recording.request for one in (recording.request_after, self.request_after))
            masked = redact_bytes(today)
            if decode(recorded) not in (decode(today), decode(masked)):
                lines += difference(recorded, masked, store.REQUEST_AFTER)
        if recording.calls is not None:
            masked_calls = json.loads(redact_bytes(store.pretty(self.calls)))
            ways = [named(recording.calls, calls) for calls in (self.calls, masked_calls)]
            if recording.calls not in ways:
                lines += difference(store.pretty(recording.calls), store.pretty(ways[0]), "calls.json")
        return lines


def named(expected: Sequence[dict[str, Any]], calls: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The calls with no more keys than their expectations name; further calls as they are."""
    pairs = zip(expected, calls, strict=False)
    same = [{key: value for key, value in call.items() if key in wanted} for wanted, call in pairs]
    return [*same, *calls[len(expected) :]]


def _sides(data: bytes) -> list[tuple[bool, str]]:
    return [(frame.from_client, frame.text) for frame in frames_in(data)]


def replay(recording: Recording, pieces: Sequence[bytes] | None = None) -> Replayed:
    """Run the recorded upstream bytes through the engine, in their original chunks or in the given pieces."""
    policy = recording.policy
    refusals = Refusals()
    for identity, reason in recording.refusals.items():
        refusals.add(identity, reason)
    if recording.suffix == ".jsonl":
        return _replay_socket(recording, ResponsesSocket(policy, refusals))
    request = decode(recording.request)
    question = read_request(request, recording.protocol)
    changed = mend_request(
        recording.protocol, recording.request, request, policy, refusals, lambda _: recording.given_back
    )
    request_after = changed.body if changed else None
    is_error = recording.status >= 400
    answer = Response(recording.protocol, question, policy, is_error=is_error, seed=recording.seed)
    out: list[bytes] = []
    holds = [False]
    for piece in recording.pieces() if pieces is None else pieces:
        out += answer.feed(piece)
        holds.append(answer.holds_call)
    if not recording.broken:
        out += answer.close()
    calls = store.calls_json(answer.outcomes)
    return Replayed(recording, b"".join(out), calls, answer.failure, request_after, _held(holds, recording.times))


def _held(holds: list[bool], times: list[float]) -> list[tuple[float, float]]:
    """From when to when a call was held; `holds`: whether one was before the first and after each of the chunks."""
    changes = [ms for before, after, ms in zip(holds, holds[1:], times, strict=False) if before != after]
    ends = [*changes[1::2], *times[-1:]]
    return list(zip(changes[::2], ends, strict=False))


def _replay_socket(recording: Recording, socket: ResponsesSocket) -> Replayed:
    """Replay the messages of both sides, in their order."""
    out: list[Frame] = []
    for frame in recording.frames:
        if frame.from_client:
            out.append(Frame(True, socket.client_message(frame.text), frame.when))
        else:
            out += [Frame(False, text, frame.when) for text in socket.server_message(frame.text)]
    after = b"".join(frame.line() for frame in out)
    return Replayed(recording, after, store.calls_json(socket.outcomes), socket.failure)


def update(replayed: Replayed) -> list[str]:
    """Write what the client and the upstream get today; return the names of the files. calls.json stays as it is."""
    recording = replayed.recording
    # A recording of a proxy is masked and stays masked. One written by hand is not.
    masked: Callable[[bytes], bytes] = redact_bytes if "versions" in recording.flow else bytes
    written = []
    for name, old, today in (
        (f"after{recording.suffix}", recording.after, replayed.after),
        (store.REQUEST_AFTER, recording.request_after, replayed.request_after),
    ):
        new = masked(today) if today is not None else None
        if old == new:
            continue
        written.append(name)
        path = recording.directory / name
        if new is None:
            path.unlink()
        else:
            store.private_file(path, new)
            path.chmod((recording.directory / "flow.json").stat().st_mode)
    return written


def summary(calls: Sequence[dict[str, Any]]) -> str:
    counts = Counter(STATUS_WORDS[call["status"]] for call in calls)
    return ", ".join(f"{number} {status}" for status, number in sorted(counts.items())) or "no calls"


# What differs, for a human

LONGEST = 200
"""Longer lines are shown in pieces of so many characters: an event is a line, and only what differs in it matters."""
_PIECE = re.compile(rf"[^\r\n]{{1,{LONGEST}}}")
MOST_LINES = 60
"""A large difference is cut, because nobody reads it."""
_MOST_COMPARED = 2_000
"""How many lines are compared, from the first that differs: comparing more takes long."""


def difference(recorded: bytes, today: bytes, name: str) -> list[str]:
    """The lines that differ."""
    texts = (body.decode("utf-8", "replace") for body in (recorded, today))
    before, after = ([line for line in _PIECE.findall(text) if line.strip()] for text in texts)
    same = next((at for at, pair in enumerate(zip_longest(before, after)) if pair[0] != pair[1]), 0)
    part = slice(max(0, same - 3), same + _MOST_COMPARED)
    names = f"{name} as recorded", f"{name} by this version"
    return [*islice(difflib.unified_diff(before[part], after[part], *names, lineterm=""), MOST_LINES)]
