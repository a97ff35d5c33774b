"""Counts what toolfix has done since it started, and serves the counts at `/metrics` of the proxy itself.

Every label has a bounded set of values: steps and reasons contain names and paths that a model wrote, so they are
reduced to their classes. Who may read is what `toolfix_metrics` says, by default nobody: behind a TCP balancer on
this machine every client seems to be local, and in reverse mode we cannot tell which name a page in a browser asked
for. Only whoever starts the proxy knows who can reach its port.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from hmac import compare_digest
from typing import Final

from mitmproxy import http
from mitmproxy.proxy import mode_specs

from .. import __version__
from ..engine import PROTOCOLS
from ..outcome import Outcome
from ..reasons import reason_class, step_class
from . import hosts

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = ("0.0001", "0.00025", "0.0005", "0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "+Inf")

METRICS: Final = {
    "info": ("gauge", "The version and the mode of toolfix."),
    "answers_total": ("counter", "Answers that were looked at."),
    "calls_total": ("counter", "Tool calls, by what became of them."),
    "steps_total": ("counter", "Tool calls in which this was mended."),
    "refused_total": ("counter", "Tool calls that were refused, by kind."),
    "request_steps_total": ("counter", "What was mended in requests."),
    "mended_events_total": ("counter", "Events whose data was no JSON and was mended."),
    "failed_open_total": ("counter", "Answers that toolfix failed on and let pass unchanged."),
    "limited_total": ("counter", "Answers over a limit: the rest of them passed unchanged."),
    "long_held_total": ("counter", "Answers in which a call was held for more than a minute."),
    "broken_total": ("counter", "Answers whose connection broke."),
    "held_bytes": ("gauge", "Bytes of tool calls that are held back right now."),
    "mending_seconds": ("histogram", "Time that mending one call or JSON answer took."),
    "recordings_total": ("counter", "Flows that were recorded, and those that were lost."),
}
"""The kind and the help text of each metric."""
_IN_ANSWERS: Final = ("mended_events", "failed_open", "limited", "long_held", "broken")


class Metrics:
    """The counts of one proxy. An answer is counted when it is over."""

    def __init__(self) -> None:
        self._samples: defaultdict[str, dict[str, float]] = defaultdict(lambda: defaultdict(int))
        """The values of each metric, by their names and labels."""

    def count(self, metric: str, by: float = 1, *, part: str = "", **labels: str) -> None:
        """Add to a value. `part`: the part of a histogram."""
        # None of the values has a quote, a backslash or a line end.
        inside = ",".join(f'{label}="{value}"' for label, value in labels.items())
        self._samples[metric][f"toolfix_{metric}{part}{{{inside}}}"] += by

    def called(self, protocol: str, outcomes: Iterable[Outcome], seconds: Iterable[float] = ()) -> None:
        """Count complete calls. `seconds`: how long mending took, one number for each call."""
        for outcome in outcomes:
            self.count("calls_total", protocol=protocol, status=outcome.status)
            for step in {step_class(step) for step in outcome.steps}:
                self.count("steps_total", protocol=protocol, step=step)
            if outcome.status == "refused":
                self.count("refused_total", protocol=protocol, reason=reason_class(outcome.reason))
        for second in seconds:
            for limit in BUCKETS:
                self.count("mending_seconds", second <= float(limit), part="_bucket", protocol=protocol, le=limit)
            self.count("mending_seconds", second, part="_sum", protocol=protocol)
            self.count("mending_seconds", part="_count", protocol=protocol)

    def answered(self, protocol: str, **happened: int) -> None:
        """Count an answer, or a WebSocket with all its answers, that is over, and what happened in it."""
        self.count("answers_total", protocol=protocol)
        for name in _IN_ANSWERS:
            self.count(f"{name}_total", happened.get(name, 0), protocol=protocol)

    def render(self, *, mode: str, held_bytes: Mapping[str, int], recordings: Mapping[str, int]) -> str:
        """The text of /metrics. The caller knows what is held right now and what was recorded."""
        now = Metrics()
        now.count("info", version=__version__, mode=mode)
        for protocol in PROTOCOLS[1:]:
            now.count("held_bytes", held_bytes.get(protocol, 0), protocol=protocol)
        for result, count in recordings.items():
            now.count("recordings_total", count, result=result)
        lines = []
        for name, (kind, text) in METRICS.items():
            lines += [f"# HELP toolfix_{name} {text}", f"# TYPE toolfix_{name} {kind}"]
            known = now._samples.get(name) or self._samples.get(name, {})
            lines += [f"{sample} {value}" for sample, value in known.items()]
        return "\n".join(lines) + "\n"


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
