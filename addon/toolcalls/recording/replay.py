"""Replays a recording through today's engine, and finds what differs from what was recorded or expected."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from ..engine import Response, recovered
from ..policy import Policy
from ..reasons import STATUS_WORDS
from ..request.mend import mend_request
from ..request.refusals import Refusals
from ..request.request import decode, read_request
from ..websocket import ResponsesSocket
from . import store
from .redact import redact_bytes
from .store import Recording
from .transcript import Frame, frames_in


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
        lines = []
        recording = self.recording
        if self.failure is not None:
            lines.append(f"the engine failed open: {self.failure!r}")
        if recording.after is None and recording.own:
            lines.append(f"there is no after{recording.suffix}: write it with --update")
        elif recording.after is not None and not self._same_after(recording.after):
            lines += of_bodies(recording.after, redact_bytes(self.after), f"after{recording.suffix}")
        if not self._same_request():
            today = redact_bytes(self.request_after or recording.request)
            lines += of_bodies(recording.request_after or recording.request, today, store.REQUEST_AFTER)
        if recording.calls is not None and not self._same_calls(recording.calls):
            lines += of_calls(recording.calls, self.calls)
        return lines

    def _same_after(self, recorded: bytes) -> bool:
        # As the recorder would write it: a credential that was in pieces in `before` may be whole here.
        today = redact_bytes(self.after)
        if self.recording.suffix == ".jsonl":
            sides, todays = _sides(recorded), _sides(today)
            shared = max(len(sides), len(todays)) if self.recording.complete else min(len(sides), len(todays))
            return sides[:shared] == todays[:shared]
        if not self.recording.complete:
            return recorded.startswith(today) or today.startswith(recorded)
        return recorded in (today, self.after)

    def _same_request(self) -> bool:
        recorded, today = self.recording.request_after, self.request_after
        if recorded is None or today is None:
            return recorded is today or not self.recording.own
        # As values: what is changed is written anew, and earlier versions kept the client's spelling of the rest.
        return decode(recorded) in (decode(today), decode(redact_bytes(today)))

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
    return [(frame.from_client, frame.content) for frame in frames_in(data)]


def replay(recording: Recording, pieces: Sequence[bytes] | None = None) -> Replayed:
    """Run the recorded upstream bytes through the engine, in their original chunks or in the given pieces."""
    policy = recording.policy
    refusals = Refusals()
    for identity, reason in recording.refusals.items():
        refusals.add(identity, reason)
    if recording.suffix == ".jsonl":
        return _replay_socket(recording, policy, refusals)
    request = decode(recording.request)
    question = read_request(request, recording.protocol)
    given = recording.given_back
    changed = mend_request(recording.protocol, recording.request, request, policy, refusals, lambda _: given)
    request_after = changed.body if changed else None
    if int(recording.flow.get("status") or 200) >= 400:
        error = recovered(recording.protocol, question, policy, recording.before, recording.seed)
        body, outcomes = (error.body, list(error.outcomes)) if error else (recording.before, [])
        return Replayed(recording, body, store.calls_json(outcomes), None, request_after)
    answer = Response(recording.protocol, question, policy, seed=recording.seed)
    out: list[bytes] = []
    holds = [False]
    for piece in recording.pieces() if pieces is None else pieces:
        out += answer.feed(piece)
        holds.append(answer.holds_call)
    if recording.complete and not recording.flow.get("broken"):
        out += answer.close()
    calls = store.calls_json(answer.outcomes)
    return Replayed(recording, b"".join(out), calls, answer.failure, request_after, _held(holds, recording.times))


def _held(holds: list[bool], times: list[float]) -> list[tuple[float, float]]:
    """From when to when a call was held; `holds`: whether one was before the first and after each of the chunks."""
    changes = [ms for before, after, ms in zip(holds, holds[1:], times, strict=False) if before != after]
    ends = [*changes[1::2], *times[-1:]]
    return list(zip(changes[::2], ends, strict=False))


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
    return Replayed(
        recording, b"".join(frame.line() for frame in out), store.calls_json(socket.outcomes), socket.failure
    )


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
        if new is None:
            (recording.directory / name).unlink()
        else:
            store.replace_file(recording.directory / name, new)
    return written


def summary(calls: Sequence[dict[str, Any]]) -> str:
    counts = Counter(STATUS_WORDS[call["status"]] for call in calls)
    return ", ".join(f"{number} {status}" for status, number in sorted(counts.items())) or "no calls"


# What differs, for a human

AROUND = 40
"""The number of characters shown before and after a difference."""
LONGEST = 300
MOST_LINES = 60


def of_bodies(recorded: bytes, today: bytes, name: str) -> list[str]:
    """The first lines that differ: a large difference is cut, because nobody reads it and comparing takes long."""
    before, after = _lines(recorded), _lines(today)
    same = next((at for at, pair in enumerate(zip_longest(before, after)) if pair[0] != pair[1]), 0)
    before, after = before[same : same + MOST_LINES], after[same : same + MOST_LINES]
    out = [f"--- recorded {name}", f"+++ today's {name}"]
    for kind, start, end, new_start, new_end in difflib.SequenceMatcher(None, before, after, False).get_opcodes():
        if kind == "equal":
            continue
        out.append(f"@@ line {same + start + 1}")
        for old, new in zip_longest(before[start:end], after[new_start:new_end]):
            out += _pair(old, new)
    return out[: 2 * MOST_LINES]


def of_calls(expected: Sequence[dict[str, Any]], calls: Sequence[dict[str, Any]]) -> list[str]:
    out = ["--- expected calls.json", "+++ today's calls"]
    if len(expected) != len(calls):
        out.append(f"@@ {len(expected)} calls are expected, {len(calls)} came out")
    for number, (wanted, call) in enumerate(zip_longest(expected, calls), 1):
        if wanted is None or call is None:
            there = json.dumps(wanted or call or {}, ensure_ascii=False)
            out.append(f"{'-' if call is None else '+'} call {number}: {_cut(there)}")
            continue
        for key, value in wanted.items():
            if call.get(key) != value:
                out += [f"@@ call {number}: {key}", *_pair(_text(value), _text(call.get(key)))]
    return out[: 2 * MOST_LINES]


def _lines(body: bytes) -> list[str]:
    return [line for line in body.decode("utf-8", "replace").splitlines() if line.strip()]


def _pair(old: str | None, new: str | None) -> list[str]:
    """Both lines, cut to where they differ; one of them, if the other is not there."""
    if old is None or new is None:
        return [f"+ {_cut(new or '')}"] if old is None else [f"- {_cut(old)}"]
    shared = min(len(old), len(new))
    start = next((at for at in range(shared) if old[at] != new[at]), shared)
    end = next((at for at in range(shared - start) if old[-1 - at] != new[-1 - at]), shared - start)
    return [f"- {_around(old, start, len(old) - end)}", f"+ {_around(new, start, len(new) - end)}"]


def _around(text: str, start: int, end: int) -> str:
    first, last = max(0, start - AROUND), min(len(text), end + AROUND)
    return f"{'…' if first else ''}{_cut(text[first:last])}{'…' if last < len(text) else ''}"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text):,} characters)"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
