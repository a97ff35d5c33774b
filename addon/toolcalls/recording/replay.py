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

from ..engine import Response, recovered
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
        if recording.after is not None:
            # As the recorder would write it: a credential that was in pieces in `before` may be whole here.
            masked = redact_bytes(self.after)
            same = recording.after in (masked, self.after)
            if not same and not (recording.frames and _sides(recording.after) == _sides(masked)):
                lines += of_bodies(recording.after, masked, f"after{recording.suffix}")
        elif recording.own:
            lines.append(f"there is no after{recording.suffix}: write it with --update")
        recorded, today = recording.request_after, self.request_after
        if recorded is None or today is None:
            same = recorded is today or not recording.own
        else:
            # As values: what is changed is written anew, and earlier versions kept the client's spelling of the rest.
            same = decode(recorded) in (decode(today), decode(redact_bytes(today)))
        if not same:
            today = redact_bytes(today or recording.request)
            lines += of_bodies(recorded or recording.request, today, store.REQUEST_AFTER)
        if recording.calls is not None:
            masked_calls = json.loads(redact_bytes(store.pretty(self.calls)))
            if not any(as_expected(recording.calls, calls) for calls in (self.calls, masked_calls)):
                lines += of_calls(recording.calls, self.calls)
        return lines


def as_expected(expected: Sequence[dict[str, Any]], calls: Sequence[dict[str, Any]]) -> bool:
    """Whether there are as many calls as expected, and each has the values that its expectation names."""
    return len(expected) == len(calls) and all(
        all(call.get(key) == value for key, value in wanted.items())
        for wanted, call in zip(expected, calls, strict=True)
    )


def _sides(data: bytes) -> list[tuple[bool, str | bytes]]:
    return [(frame.from_client, frame.content) for frame in frames_in(data)]


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
    if recording.status >= 400:
        error = recovered(recording.protocol, question, policy, recording.before, recording.seed)
        body, outcomes = (error.body, list(error.outcomes)) if error else (recording.before, [])
        return Replayed(recording, body, store.calls_json(outcomes), None, request_after)
    answer = Response(recording.protocol, question, policy, seed=recording.seed)
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
        if not isinstance(frame.content, str):
            out.append(frame)
        elif frame.from_client:
            out.append(Frame(True, socket.client_message(frame.content), frame.when))
        else:
            out += [Frame(False, text, frame.when) for text in socket.server_message(frame.content)]
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


def of_bodies(recorded: bytes, today: bytes, name: str) -> list[str]:
    """The lines that differ."""
    return _difference(recorded.decode("utf-8", "replace"), today.decode("utf-8", "replace"), name)


def of_calls(expected: Sequence[dict[str, Any]], calls: Sequence[dict[str, Any]]) -> list[str]:
    """The lines that differ, of the keys that an expectation names."""
    pairs = zip(expected, calls, strict=False)
    today = [{key: value for key, value in call.items() if key in wanted} for wanted, call in pairs]
    today += calls[len(expected) :]
    return _difference(store.pretty([*expected]).decode(), store.pretty(today).decode(), "calls.json")


def _difference(recorded: str, today: str, name: str) -> list[str]:
    before, after = ([line for line in _PIECE.findall(text) if line.strip()] for text in (recorded, today))
    same = next((at for at, pair in enumerate(zip_longest(before, after)) if pair[0] != pair[1]), 0)
    part = slice(max(0, same - 3), same + _MOST_COMPARED)
    names = f"{name} as recorded", f"{name} by this version"
    return [*islice(difflib.unified_diff(before[part], after[part], *names, lineterm=""), MOST_LINES)]
