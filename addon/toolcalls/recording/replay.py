"""Replays a recording through today's engine, and finds what differs from what was recorded or expected."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..engine import Response, recovered
from ..outcome_labels import STATUS_WORDS
from ..policy import Policy, make_policy, read_options
from ..request.mend import mend_request
from ..request.refusals import Refusals
from ..request.request import decode, read_request
from ..websocket import ResponsesSocket
from . import difference, frames, store
from .frames import Frame
from .redact import redact_bytes
from .store import Recording


@dataclass(slots=True)
class Replayed:
    recording: Recording
    after: bytes
    calls: list[dict[str, Any]]
    failure: Exception | None
    request_after: bytes | None = None

    @property
    def drift(self) -> list[str]:
        """What differs from the recording, as lines for a human; empty if nothing does."""
        lines = []
        recording = self.recording
        if self.failure is not None:
            lines.append(f"the engine failed open: {self.failure!r}")
        if recording.after is None and recording.own:
            lines.append(f"there is no after{recording.suffix}: write it with --update")
        elif recording.after is not None and not self._same_after(recording.after):
            lines += difference.of_bodies(recording.after, self.masked_after, f"after{recording.suffix}")
        if not self._same_request():
            pair = (body or recording.request for body in (recording.request_after, self.request_after))
            lines += difference.of_bodies(next(pair), redact_bytes(next(pair)), store.REQUEST_AFTER)
        if recording.calls is not None and not self._same_calls(recording.calls):
            lines += difference.of_calls(recording.calls, self.calls)
        return lines

    @property
    def masked_after(self) -> bytes:
        """`after` as the recorder would write it: a credential that was in pieces in `before` may be whole here."""
        return redact_bytes(self.after)

    def _same_after(self, recorded: bytes) -> bool:
        today = self.masked_after
        if self.recording.suffix == ".jsonl":
            return _agree(_sides(recorded), _sides(today), self.recording.complete)
        if not self.recording.complete:
            return recorded.startswith(today) or today.startswith(recorded)
        return recorded in (today, self.after)

    def _same_request(self) -> bool:
        recorded, today = self.recording.request_after, self.request_after
        if recorded is None or today is None:
            return recorded is today or not self.recording.own
        return recorded in (today, redact_bytes(today))

    def _same_calls(self, expected: Sequence[dict[str, Any]]) -> bool:
        calls = self.calls if self.recording.complete else self.calls[: len(expected)]
        masked = json.loads(redact_bytes(store.pretty(calls)))
        return as_expected(expected, calls) or as_expected(expected, masked)


def as_expected(expected: Sequence[dict[str, Any]], calls: Sequence[dict[str, Any]]) -> bool:
    """Whether there are as many calls as expected, and each has the values that its expectation names."""
    return len(expected) == len(calls) and all(
        all(call.get(key) == value for key, value in wanted.items())
        for wanted, call in zip(expected, calls, strict=True)
    )


def _sides(data: bytes) -> list[tuple[bool, str | bytes]]:
    return [(frame.from_client, frame.content) for frame in frames.read(data)]


def _agree(recorded: list[Any], today: list[Any], complete: bool) -> bool:
    shared = min(len(recorded), len(today))
    return recorded == today if complete else recorded[:shared] == today[:shared]


def replay(recording: Recording, pieces: Sequence[bytes] | None = None) -> Replayed:
    """Run the recorded upstream bytes through the engine, in their original chunks or in the given pieces."""
    texts = {str(name): str(text) for name, text in recording.flow.get("policy", {}).items()}
    policy = make_policy(read_options(texts))
    refusals = Refusals()
    for identity, reason in recording.refusals.items():
        refusals.add(identity, reason)
    if recording.suffix == ".jsonl":
        return _replay_socket(recording, policy, refusals)
    request = decode(recording.request)
    question = read_request(request, recording.protocol)
    given = recording.given_back
    changed = mend_request(recording.protocol, recording.request, request, policy, refusals, lambda _, __: given)
    request_after = changed.body if changed else None
    if int(recording.flow.get("status") or 200) >= 400:
        error = recovered(recording.protocol, question, policy, recording.before, recording.seed)
        body, outcomes = (error.body, list(error.outcomes)) if error else (recording.before, [])
        return Replayed(recording, body, store.calls_json(outcomes), None, request_after)
    answer = Response(recording.protocol, question, policy, seed=recording.seed)
    out = [sent for piece in (recording.pieces() if pieces is None else pieces) for sent in answer.feed(piece)]
    if recording.complete and not recording.flow.get("broken"):
        out += answer.close()
    calls = store.calls_json(answer.outcomes)
    return Replayed(recording, b"".join(out), calls, answer.failure, request_after)


def holds(recording: Recording) -> list[tuple[float, float]]:
    """When calls were held, from and to, in milliseconds from the first chunk; empty if no times were recorded."""
    chunks = recording.flow.get("chunks")
    if not isinstance(chunks, list) or len(chunks) < 2 or recording.suffix == ".jsonl":
        return []
    texts = {str(name): str(text) for name, text in recording.flow.get("policy", {}).items()}
    question = read_request(decode(recording.request), recording.protocol)
    answer = Response(recording.protocol, question, make_policy(read_options(texts)), seed=recording.seed)
    found: list[tuple[float, float]] = []
    since: float | None = None
    when = 0.0
    for chunk, piece in zip(chunks, recording.pieces(), strict=False):
        when = float(chunk.get("ms") or 0)
        answer.feed(piece)
        if answer.holding:
            since = when if since is None else since
        elif since is not None:
            found.append((since, when))
            since = None
    return found if since is None else [*found, (since, when)]


def _replay_socket(recording: Recording, policy: Policy, refusals: Refusals) -> Replayed:
    """Replay the messages of both sides, in their order."""
    socket = ResponsesSocket(policy, refusals)
    out: list[Frame] = []
    for frame in store.read_frames(recording):
        if not isinstance(frame.content, str):
            out.append(frame)
        elif frame.from_client:
            out.append(Frame(True, socket.client_message(frame.content), frame.when))
        else:
            out += [Frame(False, text, frame.when) for text in socket.server_message(frame.content)]
    return Replayed(recording, frames.lines(out, 0.0), store.calls_json(socket.outcomes), socket.failure)


def update(replayed: Replayed) -> list[str]:
    """Write what the client and the upstream get today; return the names of the files. calls.json stays as it is."""
    recording = replayed.recording
    # A recording of a proxy is masked and stays masked. A scenario written by hand is not.
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
        if new is None:
            (recording.directory / name).unlink()
        else:
            store.replace_file(recording.directory / name, new)
    return written


def summary(calls: Sequence[dict[str, Any]]) -> str:
    counts: dict[str, int] = {}
    for call in calls:
        word = STATUS_WORDS[call["status"]]
        counts[word] = counts.get(word, 0) + 1
    return ", ".join(f"{number} {status}" for status, number in sorted(counts.items())) or "no calls"
