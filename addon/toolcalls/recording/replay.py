"""Replaying a recording through today's engine, and what differs from what was recorded or expected."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..engine import Answer
from ..history import Refusals, mend_request
from ..policy import make_policy, read_options
from ..request import decode, read_question
from . import store
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
        """What is not as it was: lines for a reader, empty when nothing drifted."""
        lines = []
        if self.failure is not None:
            lines.append(f"the engine failed open: {self.failure!r}")
        if self.recording.after is None:
            lines.append(f"there is no after{self.recording.suffix}: write it with --update")
        elif self.recording.after != self.after:
            lines += _diff(self.recording.after, self.after, f"after{self.recording.suffix}")
        if self.recording.request_after != self.request_after:
            recorded, today = (
                body or self.recording.request for body in (self.recording.request_after, self.request_after)
            )
            lines += _diff(recorded, today, store.REQUEST_AFTER)
        if self.recording.calls is not None and not as_expected(self.recording.calls, self.calls):
            lines += _diff(store.pretty(self.recording.calls), store.pretty(self.calls), "calls.json")
        return lines


def as_expected(expected: Sequence[dict[str, Any]], calls: Sequence[dict[str, Any]]) -> bool:
    """Every key that the expectation names has that value, in the same number of calls in the same order."""
    return len(expected) == len(calls) and all(
        all(call.get(key) == value for key, value in wanted.items())
        for wanted, call in zip(expected, calls, strict=True)
    )


def replay(recording: Recording, pieces: Sequence[bytes] | None = None) -> Replayed:
    """Run the recorded upstream bytes through the engine, in their original chunks or in those given."""
    texts = {str(name): str(text) for name, text in recording.flow.get("policy", {}).items()}
    policy = make_policy(read_options(texts))
    request = decode(recording.request)
    question = read_question(request)
    refusals = Refusals()
    for identity, reason in recording.refusals.items():
        refusals.add(identity, reason)
    changed = mend_request(recording.protocol, recording.request, request, policy, refusals)
    answer = Answer(recording.protocol, question, policy, seed=recording.seed)
    out = [sent for piece in (recording.pieces() if pieces is None else pieces) for sent in answer.feed(piece)]
    if not recording.flow.get("broken"):
        out += answer.close()
    calls = store.calls_json(answer.outcomes)
    return Replayed(recording, b"".join(out), calls, answer.failure, changed.body if changed else None)


def update(replayed: Replayed) -> list[str]:
    """Write what the client and the upstream get today; gives the files. The hand-written calls.json stays."""
    recording = replayed.recording
    written = []
    for name, old, new in (
        (f"after{recording.suffix}", recording.after, replayed.after),
        (store.REQUEST_AFTER, recording.request_after, replayed.request_after),
    ):
        if old == new:
            continue
        written.append(name)
        if new is None:
            (recording.directory / name).unlink()
        else:
            (recording.directory / name).write_bytes(new)
    return written


def _diff(old: bytes, new: bytes, name: str) -> list[str]:
    before = old.decode("utf-8", "replace").splitlines()
    after = new.decode("utf-8", "replace").splitlines()
    lines = difflib.unified_diff(before, after, f"recorded {name}", f"today's {name}", lineterm="", n=1)
    return [line if len(line) <= 400 else f"{line[:400]}… ({len(line):,} characters)" for line in lines]


def summary(calls: Sequence[dict[str, Any]]) -> str:
    counts: dict[str, int] = {}
    for call in calls:
        counts[call["status"]] = counts.get(call["status"], 0) + 1
    return ", ".join(f"{number} {status}" for status, number in sorted(counts.items())) or "no calls"
