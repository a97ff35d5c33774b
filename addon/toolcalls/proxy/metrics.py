"""Counts what toolfix has done since it started, and serves the counts at `/metrics` of the proxy itself.

Every label has a bounded set of values: steps and reasons contain names and paths that a model wrote, so they are
reduced to their classes. Who may read is what `toolfix_metrics` says, by default nobody: behind a TCP balancer on
this machine every client seems to be local, and in reverse mode we cannot tell which name a page in a browser asked
for. Only whoever starts the proxy knows who can reach its port.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from hmac import compare_digest
from itertools import accumulate

from mitmproxy import http
from mitmproxy.proxy import mode_specs

from .. import __version__
from ..outcome import Outcome
from ..reasons import OTHER, reason_class, step_class
from . import hosts

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25)
MOST_STEPS = 120

COUNTERS = {
    "answers": ("", "Answers that were looked at."),
    "calls": ("status", "Tool calls, by what became of them."),
    "steps": ("step", "Tool calls in which this was mended."),
    "refused": ("reason", "Tool calls that were refused, by kind."),
    "request_steps": ("step", "What was mended in requests."),
    "mended_events": ("", "Events whose data was no JSON and was mended."),
    "failed_open": ("", "Answers that toolfix failed on and let pass unchanged."),
    "limited": ("", "Answers over a limit: the rest of them passed unchanged."),
    "long_held": ("", "Answers in which a call was held for more than a minute."),
    "broken": ("", "Answers whose connection broke."),
}
"""Each counter, with its label besides the protocol, and its help text."""


class Metrics:
    """The counts of one proxy. An answer is counted when it is over."""

    def __init__(self) -> None:
        self._counts: dict[str, Counter[tuple[str, str]]] = {name: Counter() for name in COUNTERS}
        self._times: defaultdict[str, list[int]] = defaultdict(lambda: [0] * (len(BUCKETS) + 1))
        """How many calls of each protocol took how long, by bucket."""
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def called(self, protocol: str, outcomes: Iterable[Outcome], seconds: Iterable[float] = ()) -> None:
        """Count complete calls. `seconds`: how long mending took, one number for each call."""
        steps = self._counts["steps"]
        for outcome in outcomes:
            self._counts["calls"][protocol, outcome.status] += 1
            for step in {step_class(step) for step in outcome.steps}:
                known = (protocol, step) in steps or len(steps) < MOST_STEPS
                steps[protocol, step if known else OTHER] += 1
            if outcome.status == "refused":
                self._counts["refused"][protocol, reason_class(outcome.reason)] += 1
        for second in seconds:
            self._times[protocol][bisect_left(BUCKETS, second)] += 1
            self._seconds[protocol] += second

    def mended_request(self, protocol: str, steps: Mapping[str, int]) -> None:
        """Count the steps of a request that was mended."""
        for step, times in steps.items():
            self._counts["request_steps"][protocol, step] += times

    def answered(self, protocol: str, **happened: int) -> None:
        """Count an answer, or a WebSocket with all its answers, that is over, and what happened by its counter."""
        happened["answers"] = 1
        for name, (label, _) in COUNTERS.items():
            if not label:
                self._counts[name][protocol, ""] += happened.get(name, 0)

    def render(self, *, mode: str, held_bytes: Mapping[str, int], recordings: Mapping[str, int]) -> str:
        """The text of /metrics. The caller knows what is held right now and what was recorded."""
        info = _family("info", "gauge", "The version and the mode of toolfix.")
        lines = [*info, _sample("info", 1, version=__version__, mode=mode)]
        for name, (label, text) in COUNTERS.items():
            lines += _family(f"{name}_total", "counter", text)
            for (protocol, value), count in sorted(self._counts[name].items()):
                labels = {"protocol": protocol, **({label: value} if label else {})}
                lines.append(_sample(f"{name}_total", count, **labels))
        lines += _family("held_bytes", "gauge", "Bytes of tool calls that are held back right now.")
        for protocol in sorted({*(protocol for protocol, _ in self._counts["answers"]), *held_bytes}):
            lines.append(_sample("held_bytes", held_bytes.get(protocol, 0), protocol=protocol))
        lines += _family("mending_seconds", "histogram", "Time that mending one call or JSON answer took.")
        limits = (*map(str, BUCKETS), "+Inf")
        for protocol, times in sorted(self._times.items()):
            for limit, reached in zip(limits, accumulate(times), strict=True):
                lines.append(_sample("mending_seconds_bucket", reached, protocol=protocol, le=limit))
            lines.append(_sample("mending_seconds_sum", round(self._seconds[protocol], 9), protocol=protocol))
            lines.append(_sample("mending_seconds_count", sum(times), protocol=protocol))
        lines += _family("recordings_total", "counter", "Flows that were recorded, and those that were lost.")
        lines += [_sample("recordings_total", count, result=result) for result, count in recordings.items()]
        return "\n".join(lines) + "\n"


def _family(name: str, kind: str, text: str) -> list[str]:
    return [f"# HELP toolfix_{name} {text}", f"# TYPE toolfix_{name} {kind}"]


def _sample(name: str, value: float, **labels: str) -> str:
    escaped = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
    inside = ",".join(f'{label}="{text.translate(escaped)}"' for label, text in labels.items())
    return f"toolfix_{name}{{{inside}}} {value}"


_REFUSED = """toolfix shows its metrics only to readers that toolfix_metrics names.
If only you can reach this port: --set toolfix_metrics=loopback (or TOOLFIX_METRICS=loopback).
Behind a balancer, or with others on this machine: set it to a token of 16 characters or more, and send that as
"Authorization: Bearer TOKEN".
"""


def is_asked_for(flow: http.HTTPFlow) -> bool:
    """Whether this is a request for /metrics of the proxy itself.

    It must name the proxy's own address, so that a web page cannot reach it through a host name of its own. In
    reverse mode every path belongs to the upstream, which may have a /metrics too: there it is /toolfix/metrics.
    """
    if flow.request.method != "GET" or flow.request.path not in ("/metrics", "/toolfix/metrics"):
        return False
    if isinstance(flow.client_conn.proxy_mode, mode_specs.ReverseMode):
        return flow.request.path == "/toolfix/metrics"
    host, own = flow.request.host, flow.client_conn.sockname
    return bool(own) and flow.request.port == own[1] and (host == own[0] or hosts.is_loopback(host))


def response(flow: http.HTTPFlow, readers: str, text: Callable[[], str]) -> http.Response:
    """The page, or a refusal. `readers` is the value of `toolfix_metrics`."""
    client, given = flow.client_conn.peername, flow.request.headers.get("authorization", "")
    if readers == "off":
        may_read = False
    elif readers == "loopback":
        may_read = bool(client) and hosts.is_loopback(client[0])
    else:
        may_read = compare_digest(given.encode("utf-8", "replace"), f"Bearer {readers}".encode())
    if not may_read:
        return http.Response.make(403, _REFUSED, {"content-type": "text/plain; charset=utf-8"})
    return http.Response.make(200, text(), {"content-type": CONTENT_TYPE})
