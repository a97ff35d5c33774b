"""Counts what toolfix has done since it started, and renders the counts in Prometheus' text format.

Every label has a bounded set of values: steps and reasons contain names and paths that a model wrote, so they are
reduced to their classes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from .. import __version__
from ..outcome import Outcome
from ..outcome_labels import OTHER, reason_class, step_class

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25)
MOST_STEPS = 120


@dataclass(slots=True)
class _Histogram:
    counts: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    total: float = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.total += seconds


class Metrics:
    """The counts of one proxy. An answer is counted when it is over."""

    def __init__(self) -> None:
        self._answers: Counter[str] = Counter()
        self._calls: Counter[tuple[str, str]] = Counter()
        self._in_json: Counter[str] = Counter()
        self._steps: Counter[tuple[str, str]] = Counter()
        self._request_steps: Counter[tuple[str, str]] = Counter()
        self._reasons: Counter[tuple[str, str]] = Counter()
        self._events: dict[str, Counter[str]] = {name: Counter() for name in _EVENTS}
        self._times: dict[str, _Histogram] = {}

    def called(self, protocol: str, outcomes: Iterable[Outcome], seconds: Iterable[float] = ()) -> None:
        """Count complete calls. `seconds`: how long mending took, one number for each call."""
        for outcome in outcomes:
            if not outcome.is_call:
                self._in_json[protocol] += 1
                continue
            self._calls[protocol, outcome.status] += 1
            for step in {step_class(step) for step in outcome.steps}:
                known = (protocol, step) in self._steps or len(self._steps) < MOST_STEPS
                self._steps[protocol, step if known else OTHER] += 1
            if outcome.status == "refused":
                self._reasons[protocol, reason_class(outcome.reason)] += 1
        times = self._times.setdefault(protocol, _Histogram())
        for second in seconds:
            times.add(second)

    def mended_request(self, protocol: str, steps: Mapping[str, int]) -> None:
        """Count the steps of a request that was mended."""
        for step, times in steps.items():
            self._request_steps[protocol, step] += times

    def answered(
        self,
        protocol: str,
        *,
        failed: bool = False,
        limited: bool = False,
        long_held: bool = False,
        broken: bool = False,
    ) -> None:
        """Count an answer, or a WebSocket with all its answers, that is over."""
        self._answers[protocol] += 1
        happened = {"failed_open": failed, "limited": limited, "long_held": long_held, "broken": broken}
        for name, yes in happened.items():
            self._events[name][protocol] += yes

    def render(self, *, mode: str, held_bytes: Mapping[str, int], recordings: Mapping[str, int]) -> str:
        """The text of /metrics. The caller knows what is held right now and what was recorded."""
        page = _Page()
        page.family("toolfix_info", "gauge", "The version and the mode of toolfix.")
        page.sample("toolfix_info", {"version": __version__, "mode": mode}, 1)
        page.family("toolfix_answers_total", "counter", "Answers that were looked at.")
        for protocol, count in sorted(self._answers.items()):
            page.sample("toolfix_answers_total", {"protocol": protocol}, count)
        page.labelled("toolfix_calls_total", "status", "Tool calls, by what became of them.", self._calls)
        page.family("toolfix_json_answers_total", "counter", "Answers asked for as JSON that were mended.")
        for protocol in sorted(self._answers):
            page.sample("toolfix_json_answers_total", {"protocol": protocol}, self._in_json[protocol])
        page.labelled("toolfix_steps_total", "step", "Tool calls in which this was mended.", self._steps)
        page.labelled("toolfix_refused_total", "reason", "Tool calls that were refused, by kind.", self._reasons)
        page.labelled("toolfix_request_steps_total", "step", "What was mended in requests.", self._request_steps)
        for name, text in _EVENTS.items():
            page.family(f"toolfix_{name}_total", "counter", text)
            for protocol in sorted(self._answers):
                page.sample(f"toolfix_{name}_total", {"protocol": protocol}, self._events[name][protocol])
        page.family("toolfix_held_bytes", "gauge", "Bytes of tool calls that are held back right now.")
        for protocol in sorted({*self._answers, *held_bytes}):
            page.sample("toolfix_held_bytes", {"protocol": protocol}, held_bytes.get(protocol, 0))
        page.family("toolfix_mending_seconds", "histogram", "Time that mending one call or JSON answer took.")
        for protocol, times in sorted(self._times.items()):
            page.histogram("toolfix_mending_seconds", {"protocol": protocol}, times)
        page.family("toolfix_recordings_total", "counter", "Flows that were recorded, and those that were lost.")
        for result, count in recordings.items():
            page.sample("toolfix_recordings_total", {"result": result}, count)
        return page.text


_EVENTS = {
    "failed_open": "Answers that toolfix failed on and let pass unchanged.",
    "limited": "Answers over a limit: the rest of them passed unchanged.",
    "long_held": "Answers in which a call was held for more than a minute.",
    "broken": "Answers whose connection broke.",
}


class _Page:
    """A page in Prometheus' text format."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    @property
    def text(self) -> str:
        return "\n".join(self._lines) + "\n"

    def family(self, name: str, kind: str, text: str) -> None:
        self._lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]

    def sample(self, name: str, labels: Mapping[str, str], value: float) -> None:
        inside = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        self._lines.append(f"{name}{{{inside}}} {value}")

    def labelled(self, name: str, label: str, text: str, counts: Mapping[tuple[str, str], int]) -> None:
        self.family(name, "counter", text)
        for (protocol, value), count in sorted(counts.items()):
            self.sample(name, {"protocol": protocol, label: value}, count)

    def histogram(self, name: str, labels: Mapping[str, str], times: _Histogram) -> None:
        reached = 0
        for limit, count in zip((*map(str, BUCKETS), "+Inf"), times.counts, strict=True):
            reached += count
            self.sample(f"{name}_bucket", {**labels, "le": limit}, reached)
        self.sample(f"{name}_sum", labels, round(times.total, 9))
        self.sample(f"{name}_count", labels, reached)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
